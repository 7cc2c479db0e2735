//! Prompts: the arguments of an `llm.chat` step.

use std::sync::Arc;

use stave_canon::{Object, Value};
use stave_exec::dataflow::Origin;
use stave_flow::model::{Fallback, Model, Prompt, ReadableList, Text, ToolDeclaration, Trigger};
use stave_flow::yaml::Tree;

use super::Lowering;

impl Lowering<'_> {
    pub(super) fn prompt(&self, prompt: &Prompt, text_origins: &mut Vec<(String, Origin)>) -> Object {
        let mut with = Object::new();
        for (key, text) in [("system", &prompt.system), ("template", &prompt.template)] {
            if let Some(text) = text {
                self.text_origin(key, text, text_origins);
                with.insert(key.to_owned(), text.as_str().into());
            }
        }
        let default = self
            .settings
            .default_model
            .as_ref()
            .map(|model| model_value(&model.provider, &model.name, model.endpoint.as_deref()));
        insert(&mut with, "model", prompt.model.as_ref().map(model).or(default));
        insert(&mut with, "output_schema", prompt.output_schema.as_ref().map(Tree::to_value));
        insert(&mut with, "temperature", prompt.temperature.clone().map(|number| number.value.into()));
        insert(&mut with, "max_tokens", prompt.max_tokens.map(|tokens| tokens.value.into()));
        insert(&mut with, "role", text(prompt.role.as_ref()));
        insert(&mut with, "template_id", text(prompt.template_id.as_ref()));
        insert(&mut with, "context_refs", texts(&prompt.context_refs));
        insert(&mut with, "phase", prompt.phase.map(|phase| phase.value.word().into()));
        insert(&mut with, "priority", prompt.priority.map(|priority| priority.value.into()));
        insert(&mut with, "constraints", texts(&prompt.constraints));
        insert(&mut with, "token_budget", prompt.token_budget.map(|tokens| tokens.value.into()));
        insert(&mut with, "schema_id", text(prompt.schema_id.as_ref()));
        insert(&mut with, "output_requirements", prompt.output_requirements.as_ref().map(Tree::to_value));
        insert(&mut with, "templates", self.templates(prompt));
        if !prompt.tools.is_empty() {
            with.insert("tools".into(), prompt.tools.iter().map(tool).collect::<Vec<_>>().into());
        }
        insert(&mut with, "on_denied", prompt.on_denied.map(|word| word.value.word().into()));
        insert(&mut with, "fallback", prompt.fallback.as_ref().map(fallback));
        with
    }

    /// The template and the output schema that the prompt names, so that a runtime needs nothing but the document. A
    /// prompt without a role has no template: what the id of a node happens to be changes no prompt.
    fn templates(&self, prompt: &Prompt) -> Option<Value> {
        let all = &self.settings.templates;
        let template = match (&prompt.template_id, &prompt.role) {
            (Some(template_id), _) => all.named(template_id.as_str()),
            (None, role) => role.as_ref().and_then(|role| all.of(role.as_str())),
        };
        let used = all.selected(template.map(Arc::as_ref), prompt.schema_id.as_ref().map(Text::as_str));
        (!used.is_empty()).then(|| used.to_value())
    }
}

fn text(text: Option<&Text>) -> Option<Value> {
    text.map(|text| text.as_str().into())
}

/// A list of texts, unless it is empty.
fn texts(texts: &ReadableList<Text>) -> Option<Value> {
    let values: Vec<Value> = texts.iter().map(|text| text.as_str().into()).collect();
    (!values.is_empty()).then(|| values.into())
}

fn model(model: &Model) -> Value {
    let text = |text: &Option<Text>| text.as_ref().map_or("", Text::as_str).to_owned();
    model_value(&text(&model.provider), &text(&model.name), model.endpoint.as_ref().map(Text::as_str))
}

pub(crate) fn model_value(provider: &str, name: &str, endpoint: Option<&str>) -> Value {
    let mut model = Object::new();
    model.insert("provider".into(), provider.into());
    model.insert("name".into(), name.into());
    insert(&mut model, "endpoint", endpoint.map(Value::from));
    Value::Object(model)
}

fn tool(tool: &ToolDeclaration) -> Value {
    let mut value = Object::new();
    insert(&mut value, "name", text(tool.name.as_ref()));
    insert(&mut value, "description", text(tool.description.as_ref()));
    insert(&mut value, "parameters", tool.parameters.as_ref().map(Tree::to_value));
    insert(&mut value, "maps_to", text(tool.maps_to.as_ref()));
    Value::Object(value)
}

fn fallback(fallback: &Fallback) -> Value {
    let mut value = Object::new();
    let triggers =
        fallback.on.as_ref().map(|on| on.value.iter().map(|trigger| trigger_word(*trigger)).collect());
    let triggers: Vec<&str> = triggers.unwrap_or_default();
    value.insert("on".into(), triggers.into());
    insert(&mut value, "model", fallback.model.as_ref().map(model));
    let text = fallback.static_response.as_ref().map(|text| Value::from(text.as_str()));
    insert(&mut value, "static_response", text);
    Value::Object(value)
}

fn trigger_word(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Timeout => "timeout",
        Trigger::Error => "error",
        Trigger::ValidationFail => "validation_fail",
    }
}

fn insert(object: &mut Object, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        object.insert(key.to_owned(), value);
    }
}
