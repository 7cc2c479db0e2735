//! Templates: what every prompt of a role says, as data.
//!
//! A project writes them in YAML; this crate sees the values. A role without a template of its own gets
//! the one of [`GENERAL_ROLE`].

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use stave_canon::{Pointer, Value};
use stave_shape::Shape;
use thiserror::Error;

use super::template_file::TemplatesFile;
use super::{
    Adapter, CompileError, CompiledPrompt, Parts, PromptPart, Provenance, SectionKind, TokenCounter, compile,
};
use crate::PromptIr;
use crate::fault_text::listed;
use crate::output::OutputRequirements;
use crate::resolve::Resolution;

/// The role whose template is used for every role without one.
pub const GENERAL_ROLE: &str = "default";

/// The `schema_id` of prompts that keep to what their role's template requires.
pub const DEFAULT_SCHEMA: &str = "default";

/// The key of `metadata` that names a template in place of the role's.
pub const TEMPLATE_ID: &str = "template_id";

/// The templates that come with the crate.
const DEFAULT: &str = include_str!("../../templates/default.json");

/// What every prompt of one role says.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    pub role: String,
    pub goal: String,
    pub constraints: Arc<Vec<String>>,
    /// What the answer has to be, where the template says it.
    pub requirements: Option<Arc<OutputRequirements>>,
    /// A sentence for one provider only.
    pub model_instructions: BTreeMap<String, String>,
    /// How important sections are, in place of the usual order.
    pub priorities: Vec<(SectionKind, u8)>,
}

/// The templates of a project.
#[derive(Debug, Clone, PartialEq)]
pub struct Templates {
    pub(super) roles: BTreeMap<String, Arc<Template>>,
    /// Output schemas by `schema_id`.
    pub(super) schemas: BTreeMap<String, Value>,
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

/// A prompt names a template that no template file defines.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no template `{template_id}`; there are {}", known.join(", "))]
pub struct UnknownTemplate {
    pub template_id: String,
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
        let file: TemplatesFile = stave_shape::read(value).map_err(|faults| {
            let fault = |fault: stave_shape::Fault| TemplateFault {
                message: fault.kind.explained(),
                pointer: fault.pointer,
            };
            InvalidTemplates { faults: faults.0.into_iter().map(fault).collect() }
        })?;
        Ok(file.into())
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

    /// The template of a prompt: the one that `template_id` in its metadata names, or that of its role.
    pub fn of_prompt(&self, ir: &PromptIr) -> Result<Option<&Arc<Template>>, UnknownTemplate> {
        let Some(template_id) = ir.metadata.get(TEMPLATE_ID).and_then(Value::as_str) else {
            return Ok(self.of(&ir.role));
        };
        let unknown = || UnknownTemplate {
            template_id: template_id.to_owned(),
            known: self.roles().map(str::to_owned).collect(),
        };
        self.named(template_id).map(Some).ok_or_else(unknown)
    }

    /// The template of exactly this role.
    #[must_use]
    pub fn named(&self, role: &str) -> Option<&Arc<Template>> {
        self.roles.get(role)
    }

    pub fn roles(&self) -> impl Iterator<Item = &str> {
        self.roles.keys().map(String::as_str)
    }

    /// The output schemas by id.
    pub fn schemas(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.schemas.iter().map(|(id, schema)| (id.as_str(), schema))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.roles.is_empty() && self.schemas.is_empty()
    }

    /// Of these templates, the one with this id and the schema with this id, which a document can carry along.
    #[must_use]
    pub fn selected(&self, template: Option<&Template>, schema_id: Option<&str>) -> Templates {
        let template = template.and_then(|template| self.roles.get_key_value(&template.role));
        let schema = schema_id.and_then(|schema_id| self.schemas.get_key_value(schema_id));
        Templates {
            roles: template
                .into_iter()
                .map(|(role, template)| (role.clone(), Arc::clone(template)))
                .collect(),
            schemas: schema.into_iter().map(|(id, schema)| (id.clone(), schema.clone())).collect(),
        }
    }

    /// The value that [`Templates::from_value`] reads.
    #[must_use]
    pub fn to_value(&self) -> Value {
        TemplatesFile::from(self).write()
    }

    /// What the answer of a prompt has to be: what it says itself, the schema that it names, or what its role says.
    pub fn requirements_of(&self, ir: &PromptIr) -> Result<Option<Arc<OutputRequirements>>, CompileError> {
        let of_role = self.of_prompt(ir)?.and_then(|template| template.requirements.as_ref());
        let own = if !ir.output_requirements.is_empty() {
            OutputRequirements::of_prompt(&ir.output_requirements)?
        } else if ir.schema_id == DEFAULT_SCHEMA {
            return Ok(of_role.cloned());
        } else {
            let schema = self.schemas.get(&ir.schema_id).ok_or_else(|| self.unknown_schema(ir))?;
            OutputRequirements::of_schema(schema.clone())
        };
        Ok(Some(Arc::new(own.or_of_role(of_role.map(Arc::as_ref)))))
    }

    fn unknown_schema(&self, ir: &PromptIr) -> UnknownSchema {
        UnknownSchema {
            schema_id: ir.schema_id.clone(),
            known: std::iter::once(DEFAULT_SCHEMA.to_owned()).chain(self.schemas.keys().cloned()).collect(),
        }
    }
}

impl Compiler {
    /// Compiles a prompt for its provider, with the template of its role and its resolved references.
    pub fn compile_from_ir(
        &self,
        ir: &PromptIr,
        resolution: Resolution,
        counter: &TokenCounter<'_>,
    ) -> Result<CompiledPrompt, CompileError> {
        self.compile_for(ir.provider(), ir, resolution, counter)
    }

    /// Compiles a prompt for the provider that is asked, whatever the prompt suggests.
    pub fn compile_for(
        &self,
        provider: &str,
        ir: &PromptIr,
        resolution: Resolution,
        counter: &TokenCounter<'_>,
    ) -> Result<CompiledPrompt, CompileError> {
        let parts = Parts {
            references: resolution.parts.clone(),
            requirements: self.templates.requirements_of(ir)?,
            adapter: Adapter::of(provider),
            template: self.templates.of_prompt(ir)?.cloned(),
            provider: provider.to_owned(),
            ..Parts::default()
        };
        let mut compiled = compile(ir, &parts, counter)?;
        compiled.resolution = resolution;
        Ok(compiled)
    }
}

impl Template {
    /// What the template says first, to models of a provider.
    pub(super) fn instructions(&self, provider: &str) -> Vec<PromptPart> {
        let own = self.model_instructions.get(provider);
        let texts = [("goal", Some(&self.goal)), ("model instructions", own)];
        texts
            .into_iter()
            .filter_map(|(name, text)| Some((name, text.filter(|text| !text.is_empty())?)))
            .map(|(name, text)| PromptPart::new(name, text.as_str(), Provenance::Developer))
            .collect()
    }
}

impl fmt::Display for InvalidTemplates {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults = self.faults.iter().map(|fault| (&fault.pointer, fault.message.as_str()));
        listed(out, "invalid templates", faults)
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
            let Some(requirements) = &template.requirements else { continue };
            for field in &requirements.required_fields {
                let schema = requirements.schema.as_ref();
                assert!(schema.is_some_and(|schema| schema.get(field).is_some()), "{role} {field}");
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
