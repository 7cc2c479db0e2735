//! The structures, innermost last.

use super::Holds::{
    Any, AnyList, Arguments, Boolean, Count, FreeMap, Implementation, JsonSchema, List, Map, Name, NameList,
    Number, One, Positive, Text, TextList, Timestamp, Version, Word, WordMap, Words,
};
use super::{FormatField, FormatShape, Holds};
use stave_vocabulary::Provider;

const fn required(name: &'static str, holds: Holds, summary: &'static str) -> FormatField {
    FormatField { name, holds, required: true, summary }
}

const fn optional(name: &'static str, holds: Holds, summary: &'static str) -> FormatField {
    FormatField { name, holds, required: false, summary }
}

const SENSITIVITIES: &[&str] = &["public", "private", "restricted"];
const PHASES: &[&str] = &["planning", "research", "implementation", "review", "synthesis"];
const PORT_TYPES: &[&str] =
    &["string", "number", "boolean", "object", "array", "document", "table", "embedding"];

/// The whole document.
pub static FLOW: FormatShape = FormatShape {
    name: "flow",
    summary: "An agent flow: nodes with typed ports, and edges between them.",
    fields: &[
        required("version", Version, "The version of the format."),
        required("metadata", One(&METADATA), "Who and what the flow is."),
        required("context", One(&CONTEXT), "The fields of the request."),
        required("nodes", Map(&NODE), "The steps, by id."),
        required("edges", List(&EDGE), "How values travel between ports."),
        optional("deployment", One(&DEPLOYMENT), "Where the flow is served."),
        optional("runtime", One(&FLOW_RUNTIME), "What a run of the whole flow may take."),
        optional("tests", List(&TEST), "The flow's own tests."),
    ],
};

static FLOW_RUNTIME: FormatShape = FormatShape {
    name: "flow_runtime",
    summary: "What a run of the whole flow may take.",
    fields: &[
        optional("timeout_ms", Count(1), "When a run is stopped, whatever it is doing."),
        optional("budget", One(&BUDGET), "What a run may use up."),
    ],
};

static BUDGET: FormatShape = FormatShape {
    name: "budget",
    summary: "What a run may use up; it is looked at before every call.",
    fields: &[
        optional("tokens", Count(1), "Tokens of all model calls, in and out."),
        optional("cost_usd", Positive, "What all model calls may cost, in US dollars."),
        optional("calls", Count(1), "Calls to models and hosts."),
        optional("wall_ms", Count(1), "Milliseconds since the run began."),
    ],
};

static TEST: FormatShape = FormatShape {
    name: "test",
    summary: "One run of the flow, and what is expected of it.",
    fields: &[
        required("name", Text, "Unique in the flow."),
        required("request", Any, "The request, or a list of the turns of one session."),
        optional("recording", Text, "A file with recorded model replies, relative to the flow's."),
        optional("models", AnyList, "Model replies, in the form that recordings have."),
        optional("http", List(&HTTP_REPLY), "Replies of hosts; a request takes the first that fits."),
        optional("decisions", FreeMap, "What people decide, by node: `approve` or `deny`."),
        required("expect", One(&EXPECTATION), "What is expected of the run."),
    ],
};

static HTTP_REPLY: FormatShape = FormatShape {
    name: "http_reply",
    summary: "What a host answers in a test.",
    fields: &[
        optional("method", Text, "The method of the request; `GET` when it is left out."),
        required("url", Text, "The address, or a path that fits every host."),
        optional("status", Count(0), "The status; 200 when it is left out."),
        optional("json", Any, "The body as JSON."),
        optional("text", Text, "The body as text, in place of `json`."),
        optional("headers", FreeMap, "Headers of the reply."),
        optional("times", Count(0), "How many requests it answers; all when it is left out."),
        optional("delay_ms", Count(0), "How long the reply takes in milliseconds."),
    ],
};

static EXPECTATION: FormatShape = FormatShape {
    name: "expectation",
    summary: "What a test expects; what it does not name is not compared.",
    fields: &[
        optional("status", Word(&["ok", "error"]), "How the run ends; `ok` when it is left out."),
        optional("output", Any, "The whole output."),
        optional("contains", Any, "What the output must hold, beside which it may hold more."),
        optional("error", Text, "The code of the failure."),
        optional("path", NameList, "The nodes that ran, in the order of the file."),
        optional("skipped", NameList, "The nodes that were skipped."),
        optional("model_calls", Count(0), "How many calls models got."),
        optional("http_calls", Count(0), "How many calls hosts got."),
        optional("budget", One(&BUDGET), "What the run may use up at most."),
    ],
};

static METADATA: FormatShape = FormatShape {
    name: "metadata",
    summary: "Who and what the flow is.",
    fields: &[
        required("name", Text, "The flow's name."),
        optional("description", Text, "What it is for."),
        optional("author", Text, "Who wrote it."),
        optional("created_at", Timestamp, "When it was made, as RFC 3339 has it."),
        optional("modified_at", Timestamp, "When it was last changed, as RFC 3339 has it."),
        optional("tags", TextList, "Words to find it by."),
    ],
};

static CONTEXT: FormatShape = FormatShape {
    name: "context",
    summary: "The fields of the request that the flow reads.",
    fields: &[
        required("requires", NameList, "Fields that every request has."),
        optional("optional", NameList, "Fields that a request may have."),
        optional("sensitivity", WordMap(SENSITIVITIES), "How confidential fields are, by name."),
    ],
};

static NODE: FormatShape = FormatShape {
    name: "node",
    summary: "One step of the flow.",
    fields: &[
        optional("id", Name, "Repeats the node's key."),
        required("type", Word(&["transform"]), "The kind of step."),
        required("inputs", List(&PORT), "Where values enter."),
        required("outputs", List(&PORT), "Where values leave."),
        optional("error", One(&ERROR_PORT), "Where a failure leaves."),
        optional("prompt", One(&PROMPT), "What a model is asked."),
        optional("transform", One(&TRANSFORM), "What the node does; may be left out beside a prompt."),
        optional("runtime", One(&RUNTIME), "Time, attempts and caching."),
        optional("state", One(&STATE), "What the node remembers."),
        optional("position", One(&POSITION), "Where an editor draws it."),
    ],
};

static PORT: FormatShape = FormatShape {
    name: "port",
    summary: "A place where a value enters or leaves a node.",
    fields: &[
        required("name", Name, "Unique in its direction."),
        required("type", Word(PORT_TYPES), "What values are like."),
        optional("schema", JsonSchema, "What values must satisfy."),
        optional("optional", Boolean, "Whether the value may be absent."),
        optional("description", Text, "What it is for."),
        optional("sensitivity", Word(SENSITIVITIES), "How confidential the value is."),
        optional("accepts", Word(SENSITIVITIES), "The most confidential value that may come here."),
    ],
};

static ERROR_PORT: FormatShape = FormatShape {
    name: "error_port",
    summary: "The port through which a failure leaves.",
    fields: &[
        required("name", Name, "Shares the names of the outputs."),
        optional("type", Word(PORT_TYPES), "`object` when it is left out."),
        optional("schema", JsonSchema, "What the report of a failure must satisfy."),
        optional("optional", Boolean, "Whether the value may be absent."),
        optional("description", Text, "What it is for."),
        optional("sensitivity", Word(SENSITIVITIES), "How confidential the report is."),
    ],
};

static TRANSFORM: FormatShape = FormatShape {
    name: "transform",
    summary: "What a node does.",
    fields: &[
        required("mode", Word(&["declarative", "code"]), "An operation of the catalogue, or Python."),
        required("spec", Implementation(&OPERATION), "The operation, or the Python text."),
    ],
};

static OPERATION: FormatShape = FormatShape {
    name: "operation",
    summary: "An operation of the catalogue with its arguments.",
    fields: &[
        required("op", Text, "The operation's name."),
        required("args", Arguments, "Its arguments, in which `${…}` stands for a value."),
    ],
};

static PROMPT: FormatShape = FormatShape {
    name: "prompt",
    summary: "What a model is asked.",
    fields: &[
        optional("system", Text, "Jinja: what the model always knows."),
        required("template", Text, "Jinja: what it is asked."),
        optional("model", One(&MODEL), "Who answers; the project's default when it is left out."),
        optional("output_schema", JsonSchema, "What the answer must satisfy; it is then read as JSON."),
        optional("temperature", Number, "From 0 to 2; the provider's own when it is left out."),
        optional("max_tokens", Count(1), "How long the answer may become."),
        optional(
            "role",
            Text,
            "Version 1.1: who is asked, which picks a template; the node's id, without a template, when it is left out.",
        ),
        optional(
            "template_id",
            Text,
            "Version 1.1: the template that shapes the prompt, in place of the role's.",
        ),
        optional(
            "context_refs",
            TextList,
            "Version 1.1: what else the model is shown: `file:`, `diff:` and `memory:` references, or text.",
        ),
        optional(
            "phase",
            Word(PHASES),
            "Version 1.1: the phase of the work, which scales the prompt's budget.",
        ),
        optional(
            "priority",
            Count(1),
            "Version 1.1: from 1 to 10, which scales the prompt's budget; 5 leaves it alone.",
        ),
        optional("constraints", TextList, "Version 1.1: sentences that the answer has to respect."),
        optional("token_budget", Count(1), "Version 1.1: how many tokens the prompt may have."),
        optional(
            "schema_id",
            Text,
            "Version 1.1: the output schema of the project's template files that the answer must satisfy.",
        ),
        optional(
            "output_requirements",
            FreeMap,
            "Version 1.1: what the answer must be: `{field: type}`, or `format`, `required_fields`, `schema`, \
             `max_tokens`, `example` and `error_format`.",
        ),
        optional("tools", List(&TOOL), "Functions that the model may call."),
        optional(
            "on_denied",
            Word(&["fail", "error_port", "fallback"]),
            "Version 1.1: who takes the denial when governance denies the prompt.",
        ),
        optional("fallback", One(&FALLBACK), "What happens when there is no usable answer."),
    ],
};

static MODEL: FormatShape = FormatShape {
    name: "model",
    summary: "Which model answers.",
    fields: &[
        required("provider", Word(&Provider::WORDS), "Who serves it."),
        required("name", Text, "The model's name."),
        optional("endpoint", Text, "The address of a compatible server."),
    ],
};

static TOOL: FormatShape = FormatShape {
    name: "tool",
    summary: "A function that the model may call.",
    fields: &[
        required("name", Text, "Unique in its prompt."),
        required("description", Text, "What the model reads about it."),
        required("parameters", JsonSchema, "What its arguments must satisfy."),
        optional("maps_to", Name, "The node that answers the calls."),
        optional("mcp", Text, "`server/tool` of an MCP server that answers the calls."),
    ],
};

static FALLBACK: FormatShape = FormatShape {
    name: "fallback",
    summary: "What happens when the model gives no usable answer.",
    fields: &[
        required("on", Words(&["timeout", "error", "validation_fail", "any"]), "What lets it begin."),
        optional("model", One(&MODEL), "Who is asked instead."),
        optional("static_response", Text, "What is answered in the end."),
    ],
};

static RUNTIME: FormatShape = FormatShape {
    name: "runtime",
    summary: "Time, attempts and caching of a node.",
    fields: &[
        optional("timeout_ms", Count(1), "Milliseconds of one attempt; 30000 when it is left out."),
        optional("retries", Count(0), "Attempts after the first."),
        optional("retry_backoff_ms", Count(0), "The pause that doubles with every attempt."),
        optional("requires_context", NameList, "Context fields that the node needs."),
        optional("concurrency", Count(1), "How many executions may run at once."),
        optional("cache", One(&CACHE), "Keeps the result for later runs."),
    ],
};

static CACHE: FormatShape = FormatShape {
    name: "cache",
    summary: "Keeps a node's result for later runs.",
    fields: &[
        required("ttl_seconds", Count(1), "How long a result lives."),
        optional("key", Text, "A template with `{path}` placeholders."),
    ],
};

static STATE: FormatShape = FormatShape {
    name: "state",
    summary: "What a node remembers.",
    fields: &[
        required("scope", Word(&["request", "session"]), "How long the record can live."),
        optional("key", Text, "A template with `{path}` placeholders; `{node.id}` when it is left out."),
        optional("ttl_seconds", Count(1), "How long it lives after the last write."),
        optional("backend", Word(&["memory", "redis", "hopsworks"]), "Where it is kept."),
        optional("sensitivity", Word(SENSITIVITIES), "How confidential the record is."),
    ],
};

static POSITION: FormatShape = FormatShape {
    name: "position",
    summary: "Where an editor draws the node.",
    fields: &[required("x", Number, "To the right."), required("y", Number, "Down.")],
};

static EDGE: FormatShape = FormatShape {
    name: "edge",
    summary: "Carries a value from one port to another.",
    fields: &[
        required("from", Text, "`node.port`, `node`, or `_input.field`."),
        required("to", Text, "`node.port`, `node`, `_output` or `_output.field`."),
        optional("condition", Text, "A Python expression that decides whether the value travels."),
        optional(
            "else",
            Boolean,
            "Version 1.1: the value travels when no edge with a condition from the same port is active.",
        ),
        optional("transform", Text, "A Python expression whose value travels instead."),
    ],
};

static DEPLOYMENT: FormatShape = FormatShape {
    name: "deployment",
    summary: "Where the flow is served.",
    fields: &[
        required("target", Word(&["kserve", "lambda", "local"]), "What serves it."),
        optional("kserve", One(&KSERVE), "Settings of the service."),
        optional("context", FreeMap, "Context fields that the deployment fills."),
    ],
};

static KSERVE: FormatShape = FormatShape {
    name: "kserve",
    summary: "Settings of a KServe service.",
    fields: &[
        optional("namespace", Text, "The namespace it lives in."),
        optional("service_name", Text, "A DNS label; made of the flow's name when it is left out."),
        optional("min_replicas", Count(0), "The fewest copies."),
        optional("max_replicas", Count(1), "The most copies."),
        optional("target_rps", Number, "Requests a second that one copy is to serve."),
        optional("resources", One(&RESOURCES), "What one copy gets."),
    ],
};

static RESOURCES: FormatShape = FormatShape {
    name: "resources",
    summary: "What one copy of the service gets.",
    fields: &[
        optional("cpu", Text, "Such as \"1\"."),
        optional("memory", Text, "Such as \"2Gi\"."),
        optional("gpu", Text, "Such as \"1\"."),
    ],
};

#[cfg(test)]
mod tests {
    use stave_vocabulary::PhaseType;

    use super::*;

    #[test]
    fn the_phases_are_those_that_every_line_knows() {
        let words: Vec<&str> = PhaseType::ALL.iter().map(|phase| phase.word()).collect();
        assert_eq!(PHASES, words);
    }
}
