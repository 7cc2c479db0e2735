//! Templates: what every prompt of a role says, as data.
//!
//! A project writes them in YAML; this crate sees the values. A role without a template of its own gets
//! the one of [`GENERAL_ROLE`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use stave_canon::{Object, Pointer, Value, pretty_insertion_ascii};
use thiserror::Error;

use super::{
    Adapter, CompileError, CompiledPrompt, Part, Parts, Provenance, SectionKind, TokenCounter, compile,
};
use crate::PromptIr;
use crate::resolve::Resolution;

/// The role whose template stands in for every role without one.
pub const GENERAL_ROLE: &str = "default";

/// The templates that come with the crate.
const DEFAULT: &str = include_str!("../../templates/default.json");

/// What every prompt of one role says.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    pub role: String,
    pub goal: String,
    pub constraints: Arc<Vec<String>>,
    pub format: OutputFormat,
    /// The schema of the answer, short or as JSON Schema.
    pub schema: Option<Value>,
    pub required_fields: Vec<String>,
    /// The most tokens of the answer.
    pub max_tokens: Option<u64>,
    pub example: Option<Value>,
    /// What the model answers when it cannot do the task.
    pub error_format: Value,
    /// A sentence for one provider only.
    pub model_instructions: BTreeMap<String, String>,
    /// How important sections are, in place of the usual order.
    pub priorities: Vec<(SectionKind, u8)>,
    /// The schema as prompts show it.
    printed_schema: Option<Arc<str>>,
}

/// In which form a role answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OutputFormat {
    #[default]
    Json,
    Markdown,
    Xml,
    Text,
}

/// The templates of a project.
#[derive(Debug, Clone, PartialEq)]
pub struct Templates {
    roles: BTreeMap<String, Arc<Template>>,
    /// Output schemas by `schema_id`, each as prompts show it too.
    schemas: BTreeMap<String, (Value, Arc<str>)>,
}

/// Compiles prompts with the templates of their roles.
#[derive(Debug, Clone, Default)]
pub struct Compiler {
    pub templates: Templates,
}

/// A prompt names an output schema that no template file defines.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no output schema `{schema_id}`; there are {}", known.join(", "))]
pub struct UnknownSchema {
    pub schema_id: String,
    pub known: Vec<String>,
}

/// One thing wrong with templates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateFault {
    pub pointer: Pointer,
    pub message: String,
}

/// Templates that cannot be used, with everything that is wrong with them.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct InvalidTemplates {
    pub faults: Vec<TemplateFault>,
}

impl OutputFormat {
    pub const ALL: [OutputFormat; 4] =
        [OutputFormat::Json, OutputFormat::Markdown, OutputFormat::Xml, OutputFormat::Text];

    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            OutputFormat::Json => "json",
            OutputFormat::Markdown => "markdown",
            OutputFormat::Xml => "xml",
            OutputFormat::Text => "text",
        }
    }
}

impl Default for Templates {
    /// The templates that come with the crate.
    fn default() -> Self {
        static BUILT_IN: LazyLock<Templates> = LazyLock::new(|| {
            let value = stave_canon::parse(DEFAULT).unwrap_or_default();
            // A test reads the file; a mistake in it is ours and leaves no template, never a wrong one.
            Templates::from_value(&value).unwrap_or_else(|_| Templates::empty())
        });
        BUILT_IN.clone()
    }
}

impl Templates {
    /// No template at all: prompts consist of what they say themselves.
    #[must_use]
    pub fn empty() -> Self {
        Templates { roles: BTreeMap::new(), schemas: BTreeMap::new() }
    }

    /// Reads `{templates: {role: …}, schemas: {id: …}}`.
    pub fn from_value(value: &Value) -> Result<Templates, InvalidTemplates> {
        let mut reader = Reader { faults: Vec::new() };
        let templates = reader.templates(value);
        if reader.faults.is_empty() { Ok(templates) } else { Err(InvalidTemplates { faults: reader.faults }) }
    }

    /// These templates, with those of `other` in place of the ones of the same role or id.
    #[must_use]
    pub fn with(mut self, other: Templates) -> Self {
        self.roles.extend(other.roles);
        self.schemas.extend(other.schemas);
        self
    }

    /// The template of a role, or the general one.
    #[must_use]
    pub fn of(&self, role: &str) -> Option<&Arc<Template>> {
        self.roles.get(role).or_else(|| self.roles.get(GENERAL_ROLE))
    }

    pub fn roles(&self) -> impl Iterator<Item = &str> {
        self.roles.keys().map(String::as_str)
    }

    /// The schema of a prompt's answer: its own requirements, the one it names, or its role's.
    pub fn schema_of(&self, ir: &PromptIr) -> Result<Option<Value>, UnknownSchema> {
        if !ir.output_requirements.is_empty() {
            return Ok(Some(Object::clone(&ir.output_requirements).into()));
        }
        if ir.schema_id == "default" {
            return Ok(self.of(&ir.role).and_then(|template| template.schema.clone()));
        }
        match self.schemas.get(&ir.schema_id) {
            Some((schema, _)) => Ok(Some(schema.clone())),
            None => Err(self.unknown_schema(ir)),
        }
    }

    /// The same as prompts show it.
    fn printed_schema_of(&self, ir: &PromptIr) -> Result<Option<Arc<str>>, UnknownSchema> {
        if !ir.output_requirements.is_empty() {
            return Ok(None);
        }
        if ir.schema_id == "default" {
            return Ok(self.of(&ir.role).and_then(|template| template.printed_schema.clone()));
        }
        match self.schemas.get(&ir.schema_id) {
            Some((_, printed)) => Ok(Some(Arc::clone(printed))),
            None => Err(self.unknown_schema(ir)),
        }
    }

    fn unknown_schema(&self, ir: &PromptIr) -> UnknownSchema {
        UnknownSchema {
            schema_id: ir.schema_id.clone(),
            known: std::iter::once("default".to_owned()).chain(self.schemas.keys().cloned()).collect(),
        }
    }
}

impl Compiler {
    /// Compiles a prompt for its provider, with the template of its role and what its references came to.
    pub fn compile_from_ir(
        &self,
        ir: &PromptIr,
        resolution: Resolution,
        counter: &TokenCounter<'_>,
    ) -> Result<CompiledPrompt, CompileError> {
        let adapter = Adapter::of(ir.provider());
        let template = self.templates.of(&ir.role);
        let mut parts = Parts {
            references: resolution.parts.clone(),
            output_schema: self.templates.printed_schema_of(ir)?,
            adapter,
            ..Parts::default()
        };
        if let Some(template) = template {
            parts.instructions = template.instructions(ir.provider());
            parts.constraints = Arc::clone(&template.constraints);
            parts.priorities.clone_from(&template.priorities);
        }
        let mut compiled = compile(ir, &parts, counter)?;
        compiled.template = template.cloned();
        compiled.resolution = resolution;
        Ok(compiled)
    }
}

impl Template {
    fn instructions(&self, provider: &str) -> Vec<Part> {
        let own = self.model_instructions.get(provider);
        let texts = [("goal", Some(&self.goal)), ("model instructions", own)];
        texts
            .into_iter()
            .filter_map(|(name, text)| Some((name, text.filter(|text| !text.is_empty())?)))
            .map(|(name, text)| Part::new(name, text.as_str(), Provenance::Developer))
            .collect()
    }

    pub(super) fn output_value(&self) -> Value {
        Value::from_iter([
            ("format_type", Value::from(self.format.word())),
            ("required_fields", self.required_fields.clone().into()),
            ("schema_definition", self.schema.clone().into()),
            ("max_tokens", self.max_tokens.into()),
            ("example", self.example.clone().into()),
            ("error_format", self.error_format.clone()),
        ])
    }
}

struct Reader {
    faults: Vec<TemplateFault>,
}

impl Reader {
    fn fault(&mut self, pointer: Pointer, message: impl Into<String>) {
        self.faults.push(TemplateFault { pointer, message: message.into() });
    }

    fn templates(&mut self, value: &Value) -> Templates {
        let root = Pointer::root();
        let mut out = Templates::empty();
        let Some(object) = value.as_object() else {
            self.fault(root, format!("expected an object with `templates`, found {}", value.kind()));
            return out;
        };
        self.known(&root, object, &["templates", "schemas"]);
        for (role, template) in self.members(&root, object, "templates") {
            let at = root.key("templates").key(&role);
            let template = self.template(&at, &role, template);
            out.roles.extend(template.map(|template| (role, Arc::new(template))));
        }
        for (id, schema) in self.members(&root, object, "schemas") {
            match schema {
                Value::Object(_) => {
                    out.schemas.insert(id, (schema.clone(), pretty_insertion_ascii(schema).into()));
                }
                other => self.fault(
                    root.key("schemas").key(&id),
                    format!("expected an object, found {}", other.kind()),
                ),
            }
        }
        out
    }

    fn template(&mut self, at: &Pointer, role: &str, value: &Value) -> Option<Template> {
        let Some(object) = value.as_object() else {
            self.fault(at.clone(), format!("expected an object, found {}", value.kind()));
            return None;
        };
        self.known(at, object, &["goal", "constraints", "output_schema", "model_preferences", "priorities"]);
        let empty = Object::new();
        let output = match object.get("output_schema") {
            None => &empty,
            Some(Value::Object(output)) => output,
            Some(other) => {
                self.fault(at.key("output_schema"), format!("expected an object, found {}", other.kind()));
                &empty
            }
        };
        let output_at = at.key("output_schema");
        self.known(
            &output_at,
            output,
            &["format", "required_fields", "schema", "max_tokens", "example", "error_format"],
        );
        let format = match output.get("format").map(|word| (word, word.as_str())) {
            None => OutputFormat::default(),
            Some((word, text)) => {
                let found = OutputFormat::ALL.into_iter().find(|format| Some(format.word()) == text);
                if found.is_none() {
                    self.fault(
                        output_at.key("format"),
                        format!("{word} is not one of json, markdown, xml, text"),
                    );
                }
                found.unwrap_or_default()
            }
        };
        let max_tokens = match output.get("max_tokens") {
            None | Some(Value::Null) => None,
            Some(value) => {
                let tokens = value.as_i64().and_then(|tokens| u64::try_from(tokens).ok());
                if tokens.is_none() {
                    self.fault(output_at.key("max_tokens"), "expected a whole number that is not negative");
                }
                tokens
            }
        };
        let preferences = self.members(at, object, "model_preferences");
        let model_instructions = preferences
            .into_iter()
            .filter_map(|(provider, value)| match value {
                Value::String(text) => Some((provider, text.clone())),
                other => {
                    let pointer = at.key("model_preferences").key(&provider);
                    self.fault(pointer, format!("expected text, found {}", other.kind()));
                    None
                }
            })
            .collect();
        let schema = output.get("schema").filter(|schema| !schema.is_null());
        Some(Template {
            role: role.to_owned(),
            goal: self.text(at, object, "goal"),
            constraints: self.texts(at, object, "constraints").into(),
            format,
            schema: schema.cloned(),
            printed_schema: schema.map(|schema| pretty_insertion_ascii(schema).into()),
            required_fields: self.texts(&output_at, output, "required_fields"),
            max_tokens,
            example: output.get("example").cloned(),
            error_format: output
                .get("error_format")
                .cloned()
                .unwrap_or_else(|| Value::from_iter([("error", "explanation")])),
            model_instructions,
            priorities: self.priorities(at, object),
        })
    }

    fn priorities(&mut self, at: &Pointer, object: &Object) -> Vec<(SectionKind, u8)> {
        let kinds = [SectionKind::Context, SectionKind::History, SectionKind::ToolResult];
        let mut out = Vec::new();
        for (word, value) in self.members(at, object, "priorities") {
            let kind = kinds.into_iter().find(|kind| kind.word() == word);
            let level =
                value.as_i64().and_then(|level| u8::try_from(level).ok()).filter(|level| *level <= 10);
            match (kind, level) {
                (Some(kind), Some(level)) => out.push((kind, level)),
                (None, _) => self.fault(
                    at.key("priorities").key(&word),
                    "only `context`, `history` and `tool_result` may be cut and have a priority",
                ),
                (_, None) => {
                    self.fault(at.key("priorities").key(&word), "expected a whole number from 0 to 10");
                }
            }
        }
        out
    }

    fn known(&mut self, at: &Pointer, object: &Object, known: &[&str]) {
        for (key, _) in object.iter().filter(|(key, _)| !known.contains(&key.as_str())) {
            self.fault(at.key(key), format!("`{key}` means nothing here; known are {}", known.join(", ")));
        }
    }

    fn members<'v>(&mut self, at: &Pointer, object: &'v Object, key: &str) -> Vec<(String, &'v Value)> {
        match object.get(key) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Object(members)) => members.iter().map(|(key, value)| (key.clone(), value)).collect(),
            Some(other) => {
                self.fault(at.key(key), format!("expected an object, found {}", other.kind()));
                Vec::new()
            }
        }
    }

    fn text(&mut self, at: &Pointer, object: &Object, key: &str) -> String {
        match object.get(key) {
            None => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => {
                self.fault(at.key(key), format!("expected text, found {}", other.kind()));
                String::new()
            }
        }
    }

    fn texts(&mut self, at: &Pointer, object: &Object, key: &str) -> Vec<String> {
        let items = match object.get(key) {
            None => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(other) => {
                self.fault(at.key(key), format!("expected a list of texts, found {}", other.kind()));
                return Vec::new();
            }
        };
        for (index, item) in items.iter().enumerate().filter(|(_, item)| item.as_str().is_none()) {
            self.fault(at.key(key).index(index), format!("expected text, found {}", item.kind()));
        }
        items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
    }
}

impl fmt::Display for InvalidTemplates {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("invalid templates: ")?;
        for (index, fault) in self.faults.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(out, "{separator}{}: {}", fault.pointer, fault.message)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_templates_are_whole() {
        let templates = Templates::from_value(&stave_canon::parse(DEFAULT).unwrap()).unwrap();
        assert!(templates.roles().count() >= 7);
        for role in templates.roles() {
            let template = templates.of(role).unwrap();
            assert!(!template.goal.is_empty() && !template.constraints.is_empty(), "{role}");
            for field in &template.required_fields {
                assert!(
                    template.schema.as_ref().is_some_and(|schema| schema.get(field).is_some()),
                    "{role} {field}"
                );
            }
        }
        assert_eq!(templates.of("nobody").map(|template| template.role.as_str()), Some(GENERAL_ROLE));
    }

    #[test]
    fn every_mistake_is_told_at_its_place() {
        let text = r#"{"templates": {"a": {"gaol": "x", "goal": 1, "constraints": [2],
            "output_schema": {"format": "yaml", "max_tokens": -1}, "priorities": {"task": 1, "context": 99}}},
            "schemas": {"s": 3}, "more": 1}"#;
        let error = Templates::from_value(&stave_canon::parse(text).unwrap()).unwrap_err();
        assert_eq!(error.faults.len(), 9, "{error}");
    }
}
