//! `llm.chat`: the prompt of a node.

use crate::{
    Argument, ArgumentKind, Blank, Descriptor, Effects, Form, Group, Receiver, Repeat, ResultProvenance,
    ResultShape,
};

pub static LLM_CHAT: Descriptor = Descriptor {
    name: "llm.chat",
    form: Form::Prompt,
    summary: "asks a model with a prompt made from the inputs",
    details: "\
Written as `prompt` on a node, with `template`, `system`, `model`, `output_schema`, `tools` and `fallback`. Each request to \
the model is bounded and repeated by itself; a tool that the model calls follows the rules of the node or server that \
answers it. An exec document may give `ir`, a whole Prompt IR, in place of the texts and the fields of the prompt, and carries \
the `templates` that its prompts use. A node whose tools change something outside is never answered from the cache.",
    arguments: &[
        Argument::required("template", ArgumentKind::Text, "the text of the prompt, as a Jinja template"),
        Argument::optional("system", ArgumentKind::Text, "the text that comes first and says how to answer"),
        Argument::optional("model", ArgumentKind::Map, "the model, by `provider`, `name` and `endpoint`")
            .default("the project's default model"),
        Argument::optional("output_schema", ArgumentKind::Map, "the JSON Schema that the answer has to fit"),
        Argument::optional("temperature", ArgumentKind::Number, "how freely the model chooses its words"),
        Argument::optional("max_tokens", ArgumentKind::Count, "how long an answer may be"),
        Argument::optional("role", ArgumentKind::Text, "who is asked, which picks a template")
            .default("the node's id, without a template"),
        Argument::optional("template_id", ArgumentKind::Text, "the template in place of the role's"),
        Argument::optional(
            "context_refs",
            ArgumentKind::List,
            "what else the model is shown: `file:`, `diff:` and `memory:` references, or text",
        ),
        Argument::optional(
            "phase",
            ArgumentKind::Text,
            "the phase of the work: planning, research, implementation, review or synthesis",
        )
        .default("implementation"),
        Argument::optional("priority", ArgumentKind::Count, "how much the prompt matters, from 1 to 10")
            .default("5"),
        Argument::optional("constraints", ArgumentKind::List, "sentences that the answer has to respect"),
        Argument::optional(
            "token_budget",
            ArgumentKind::Count,
            "how many tokens the prompt may have, before phase and priority scale it",
        )
        .default("what the policy and the model allow"),
        Argument::optional(
            "schema_id",
            ArgumentKind::Text,
            "the output schema of the project that the answer has to fit",
        ),
        Argument::optional(
            "output_requirements",
            ArgumentKind::Map,
            "what the answer has to be: a schema in short form, or format, fields, example and length",
        ),
        Argument::optional("tools", ArgumentKind::List, "what the model may call"),
        Argument::optional(
            "on_denied",
            ArgumentKind::Text,
            "who takes the denial when governance denies the prompt: fail, error_port or fallback",
        )
        .default("fail"),
        Argument::optional("fallback", ArgumentKind::Map, "what answers when the model fails"),
    ],
    result: ResultShape::Any,
    effects: Effects::OfCalled,
    network: true,
    repeat: Repeat::ByPart,
    receiver: Receiver::Model,
    provenance: ResultProvenance::Tool,
    blank: Some(Blank {
        group: Group::Model,
        title: "Ask a model",
        id: "answer",
        node: r#"inputs: [{name: question, type: string}]
outputs: [{name: answer, type: string}]
prompt:
  system: |
    You are a helpful assistant.
  template: |
    {{ question }}
"#,
    }),
    ..Descriptor::INSIDE
};
