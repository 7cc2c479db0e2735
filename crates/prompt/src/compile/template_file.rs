//! Templates as a project writes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use stave_canon::{Object, Value};
use stave_shape::Shape;

use super::SectionKind;
use super::template::{Template, Templates};
use crate::output::OutputRequirements;

/// What every prompt of a role says.
#[derive(Debug, Shape)]
#[shape(name = "Templates")]
pub(super) struct TemplatesFile {
    /// The templates by role; the template of the role `default` is used for every role without one.
    #[shape(default, null_is_absent)]
    templates: BTreeMap<String, TemplateForm>,
    /// Output schemas that a prompt may name in `schema_id`.
    #[shape(default, null_is_absent)]
    schemas: BTreeMap<String, Object>,
}

/// What every prompt of one role says.
#[derive(Debug, Shape)]
#[shape(name = "Template")]
struct TemplateForm {
    /// What the role is for.
    #[shape(default)]
    goal: String,
    /// Rules that every prompt of the role has to keep to.
    #[shape(default)]
    constraints: Vec<String>,
    /// What the answers of the role have to be.
    #[shape(not_null)]
    output_schema: Option<OutputRequirements>,
    /// A sentence for one provider only, by the provider's name.
    #[shape(default, null_is_absent)]
    model_preferences: BTreeMap<String, String>,
    #[shape(default, null_is_absent)]
    priorities: SectionPriorities,
}

/// How important sections are, from 0 to 10, in place of the usual order. Only these sections may be cut.
#[derive(Debug, Default, Shape)]
#[shape(not_null)]
struct SectionPriorities {
    /// What references resolved to.
    #[shape(max = 10)]
    context: Option<u8>,
    /// What was said before.
    #[shape(max = 10)]
    history: Option<u8>,
    /// What tools answered.
    #[shape(max = 10)]
    tool_result: Option<u8>,
}

/// The JSON Schema of a file with templates.
#[must_use]
pub fn schema() -> Value {
    stave_shape::document::<TemplatesFile>("urn:stave:template:1.0", "Templates of prompts")
}

impl From<TemplatesFile> for Templates {
    fn from(file: TemplatesFile) -> Self {
        let templates = file.templates.into_iter();
        let schemas = file.schemas.into_iter().map(|(id, schema)| (id, Value::Object(schema)));
        Templates {
            roles: templates.map(|(role, form)| (role.clone(), Arc::new(form.template(role)))).collect(),
            schemas: schemas.collect(),
        }
    }
}

impl TemplateForm {
    fn of(template: &Template) -> TemplateForm {
        TemplateForm {
            goal: template.goal.clone(),
            constraints: template.constraints.to_vec(),
            output_schema: template.requirements.as_deref().cloned(),
            model_preferences: template.model_instructions.clone(),
            priorities: SectionPriorities::of(&template.priorities),
        }
    }

    fn template(self, role: String) -> Template {
        Template {
            role,
            goal: self.goal,
            constraints: self.constraints.into(),
            requirements: self.output_schema.map(Arc::new),
            model_instructions: self.model_preferences,
            priorities: self.priorities.listed(),
        }
    }
}

impl From<&Templates> for TemplatesFile {
    fn from(templates: &Templates) -> Self {
        let roles = templates.roles.iter();
        let schemas = templates.schemas.iter();
        TemplatesFile {
            templates: roles.map(|(role, template)| (role.clone(), TemplateForm::of(template))).collect(),
            schemas: schemas
                .filter_map(|(id, schema)| Some((id.clone(), schema.as_object()?.clone())))
                .collect(),
        }
    }
}

impl SectionPriorities {
    fn of(levels: &[(SectionKind, u8)]) -> SectionPriorities {
        let level = |kind| levels.iter().find(|(listed, _)| *listed == kind).map(|(_, level)| *level);
        SectionPriorities {
            context: level(SectionKind::Context),
            history: level(SectionKind::History),
            tool_result: level(SectionKind::ToolResult),
        }
    }

    fn listed(&self) -> Vec<(SectionKind, u8)> {
        let levels = [
            (SectionKind::Context, self.context),
            (SectionKind::History, self.history),
            (SectionKind::ToolResult, self.tool_result),
        ];
        levels.into_iter().filter_map(|(kind, level)| Some((kind, level?))).collect()
    }
}
