//! The arguments of an `llm.chat` step, read once.

use std::collections::BTreeSet;
use std::sync::Arc;

use stave_block::Sensitivity;
use stave_canon::{Number, Object, Value};
use stave_diag::codes::run as codes;
use stave_llm::{FunctionTool, Provider};
use stave_prompt::compile::{TEMPLATE_ID, Templates};
use stave_prompt::output::OutputValidator;
use stave_prompt::{PhaseType, PromptIr, PromptIrBuilder, from_dict};
use stave_vocabulary::OnDenied;

use crate::interpolate::{PathScope, add_secret_names};
use crate::labels;
use crate::run::Call;
use crate::services::DigestModel;
use crate::{Failure, failure::FailureKind, port};

#[derive(Debug)]
pub(super) struct Arguments {
    pub(super) source: PromptSource,
    pub(super) model: Model,
    pub(super) output_schema: Option<OutputSchema>,
    pub(super) temperature: Option<Number>,
    pub(super) max_tokens: Option<u64>,
    /// Who is asked; the node's id when absent.
    pub(super) role: Option<String>,
    /// The template that shapes the prompt, in place of the role's.
    pub(super) template_id: Option<String>,
    /// The templates and output schemas that the document carries.
    pub(super) templates: Templates,
    /// What the author refers to.
    pub(super) context_refs: Vec<WrittenReference>,
    /// The label of what the references were filled with.
    pub(super) context_label: Sensitivity,
    pub(super) phase: PhaseType,
    pub(super) priority: Option<u64>,
    /// The node's own, after those of the policy.
    pub(super) constraints: Vec<String>,
    /// How many tokens the prompt may have, before phase and priority scale it.
    pub(super) token_budget: Option<u64>,
    pub(super) schema_id: Option<String>,
    /// What the answer has to be, where `output_schema` does not say it.
    pub(super) output_requirements: Option<Object>,
    pub(super) tools: Vec<ChatTool>,
    pub(super) fallback: Option<Fallback>,
    pub(super) on_denied: OnDenied,
    /// The step that follows, with its arguments.
    pub(super) transform: Option<(String, Object)>,
}

/// What a prompt is made from.
#[derive(Debug)]
pub(super) enum PromptSource {
    /// The texts of a node, to be rendered with its inputs.
    Templates { system: Option<String>, template: String },
    /// A Prompt IR that was written as a whole.
    Document(Arc<PromptIr>),
}

#[derive(Debug, Clone)]
pub(super) struct Model {
    pub(super) provider: Provider,
    pub(super) name: String,
    pub(super) endpoint: Option<String>,
    /// The secrets that are a part of the endpoint, which then is not shown.
    pub(super) endpoint_secrets: BTreeSet<String>,
    /// The label of what the endpoint was filled with.
    pub(super) address_label: Sensitivity,
}

/// The schema that the document states, and the validator of replies.
#[derive(Debug)]
pub(super) struct OutputSchema {
    pub(super) schema: Value,
    pub(super) validator: Arc<OutputValidator>,
}

#[derive(Debug)]
pub(super) struct ChatTool {
    pub(super) function: FunctionTool,
    /// The node that answers its calls.
    pub(super) maps_to: Option<usize>,
}

#[derive(Debug)]
pub(super) struct Fallback {
    pub(super) on: Vec<Trigger>,
    pub(super) model: Option<Model>,
    pub(super) static_response: Option<String>,
}

/// What lets a fallback begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trigger {
    Timeout,
    Error,
    ValidationFail,
}

/// A reference that the author wrote.
#[derive(Debug)]
pub(super) struct WrittenReference {
    /// Its text with every placeholder filled.
    pub(super) text: String,
    /// Whether values of the run are a part of the text.
    pub(super) is_filled: bool,
}

/// The arguments that a whole Prompt IR stands for.
const OF_DOCUMENT: [&str; 13] = [
    "system",
    "template",
    "output_schema",
    "temperature",
    "role",
    "template_id",
    "context_refs",
    "phase",
    "priority",
    "constraints",
    "token_budget",
    "schema_id",
    "output_requirements",
];

impl Arguments {
    /// Whether the author wrote a reference.
    pub(super) fn refers_to(&self, reference: &str) -> bool {
        self.context_refs.iter().any(|written| written.text == reference)
    }

    /// Who is asked.
    pub(super) fn role_of<'a>(&'a self, call: &'a Call<'_>) -> &'a str {
        self.role.as_deref().unwrap_or(&call.node.id)
    }

    /// The prompt with what the node states about its answer.
    pub(super) fn state_output(&self, mut builder: PromptIrBuilder) -> PromptIrBuilder {
        if let Some(Value::Object(schema)) = self.output_schema.as_ref().map(|schema| &schema.schema) {
            builder = builder.set_output_requirements(schema.clone());
        } else if let Some(stated) = &self.output_requirements {
            builder = builder.set_output_requirements(stated.clone());
        }
        if let Some(schema_id) = &self.schema_id {
            builder = builder.set_schema_id(schema_id);
        }
        if let Some(template_id) = &self.template_id {
            builder = builder.add_metadata(TEMPLATE_ID, template_id.as_str());
        }
        builder
    }

    pub(super) fn read(call: &Call<'_>) -> Result<Arguments, Failure> {
        let with = call.with;
        let scope = call.scope().with_secrets(&call.services.secrets);
        let model = with.get("model").ok_or_else(|| {
            bad("the prompt names no model; name one, or set `[models.default]` in stave.toml")
        })?;
        let output_schema = with.get("output_schema").map(|schema| {
            Ok::<_, Failure>(OutputSchema {
                schema: schema.clone(),
                validator: Arc::new(
                    OutputValidator::of_schema(schema).map_err(|fault| port::bad_schema(&fault))?,
                ),
            })
        });
        let transform = with.get("transform").map(|transform| {
            let kind = transform.get("type").and_then(Value::as_str);
            let arguments = transform.get("with").and_then(Value::as_object);
            match (kind, arguments) {
                (Some(kind), Some(arguments)) => Ok((kind.to_owned(), arguments.clone())),
                _ => Err(bad("`transform` needs `type` and `with`")),
            }
        });
        let source = PromptSource::read(call)?;
        Ok(Arguments {
            model: Model::read(call, model, &scope)?,
            output_schema: output_schema.transpose()?,
            temperature: match &source {
                PromptSource::Document(ir) => Value::from(&ir.temperature_hint).as_number().cloned(),
                PromptSource::Templates { .. } => with.get("temperature").and_then(Value::as_number).cloned(),
            },
            max_tokens: count(with, "max_tokens")?,
            role: text(with, "role")?,
            template_id: text(with, "template_id")?,
            templates: templates(with)?,
            context_refs: match &source {
                PromptSource::Document(ir) => WrittenReference::of(ir),
                PromptSource::Templates { .. } => context_refs(call, with)?,
            },
            context_label: labels::of_texts(call, with.get("context_refs"))?,
            phase: phase(with)?,
            priority: count(with, "priority")?,
            constraints: constraints(with)?,
            token_budget: count(with, "token_budget")?,
            schema_id: text(with, "schema_id")?,
            output_requirements: match with.get("output_requirements") {
                None => None,
                Some(Value::Object(stated)) => Some(stated.clone()),
                Some(_) => return Err(bad("`output_requirements` is not an object")),
            },
            tools: tools(call)?,
            fallback: with
                .get("fallback")
                .map(|fallback| Fallback::read(call, fallback, &scope))
                .transpose()?,
            on_denied: on_denied(with)?,
            transform: transform.transpose()?,
            source,
        })
    }
}

impl PromptSource {
    fn read(call: &Call<'_>) -> Result<PromptSource, Failure> {
        let with = call.with;
        let Some(document) = with.get("ir") else {
            let template = text(with, "template")?.ok_or_else(|| bad("`template` is missing"))?;
            return Ok(PromptSource::Templates { system: text(with, "system")?, template });
        };
        if let Some(other) = OF_DOCUMENT.iter().find(|key| with.contains_key(**key)) {
            return Err(bad(&format!("`ir` is a whole prompt and cannot be combined with `{other}`")));
        }
        let ir = from_dict(document, call.services.ids.as_ref(), call.services.clock.as_ref());
        ir.map(|ir| PromptSource::Document(Arc::new(ir))).map_err(|error| bad(&error.to_string()))
    }
}

impl WrittenReference {
    /// The references of a prompt that was written as a whole.
    fn of(ir: &PromptIr) -> Vec<WrittenReference> {
        let texts = ir.context_refs.iter();
        texts.map(|text| WrittenReference { text: text.clone(), is_filled: false }).collect()
    }
}

impl Model {
    /// The model that the project names for digests. Nothing of a flow is in its address.
    pub(super) fn digest(named: &DigestModel) -> Model {
        Model {
            provider: named.provider,
            name: named.name.clone(),
            endpoint: named.endpoint.clone(),
            endpoint_secrets: BTreeSet::new(),
            address_label: Sensitivity::Public,
        }
    }

    /// An endpoint is an address, so a secret may be a part of it.
    fn read(call: &Call<'_>, value: &Value, scope: &PathScope<'_>) -> Result<Model, Failure> {
        let model = value.as_object().ok_or_else(|| bad("`model` is not an object"))?;
        let provider = text(model, "provider")?.ok_or_else(|| bad("`model.provider` is missing"))?;
        let provider = provider.parse::<Provider>().map_err(|error| bad(&error.to_string()))?;
        let mut secrets = BTreeSet::new();
        model.get("endpoint").iter().for_each(|endpoint| add_secret_names(endpoint, &mut secrets));
        Ok(Model {
            endpoint_secrets: secrets,
            address_label: labels::of_texts(call, model.get("endpoint"))?,
            provider,
            name: text(model, "name")?.ok_or_else(|| bad("`model.name` is missing"))?,
            endpoint: match model.get("endpoint") {
                None => None,
                Some(Value::String(endpoint)) if endpoint.contains("${") => scope.fill_address(endpoint)?,
                Some(Value::String(endpoint)) => Some(endpoint.clone()),
                Some(_) => return Err(bad("`endpoint` is not a text")),
            },
        })
    }
}

impl Fallback {
    fn read(call: &Call<'_>, value: &Value, scope: &PathScope<'_>) -> Result<Fallback, Failure> {
        let fallback = value.as_object().ok_or_else(|| bad("`fallback` is not an object"))?;
        let words = fallback.get("on").and_then(Value::as_array).unwrap_or_default();
        let on = words.iter().map(|word| match word.as_str() {
            Some("timeout") => Ok(Trigger::Timeout),
            Some("error") => Ok(Trigger::Error),
            Some("validation_fail") => Ok(Trigger::ValidationFail),
            _ => Err(bad(&format!("{word} is not a reason for a fallback"))),
        });
        Ok(Fallback {
            on: on.collect::<Result<_, _>>()?,
            model: fallback.get("model").map(|model| Model::read(call, model, scope)).transpose()?,
            static_response: text(fallback, "static_response")?,
        })
    }
}

fn tools(call: &Call<'_>) -> Result<Vec<ChatTool>, Failure> {
    let tools = call.with.get("tools").and_then(Value::as_array).unwrap_or_default();
    let read = tools.iter().map(|tool| {
        let object = tool.as_object().ok_or_else(|| bad("a tool is not an object"))?;
        let maps_to = text(object, "maps_to")?.map(|id| {
            call.run
                .plan
                .index(&id)
                .ok_or_else(|| bad(&format!("a tool maps to `{id}`, which does not exist")))
        });
        let empty = || Value::Object([("type".to_owned(), "object".into())].into_iter().collect());
        Ok(ChatTool {
            function: FunctionTool {
                name: text(object, "name")?.ok_or_else(|| bad("a tool has no name"))?,
                description: text(object, "description")?,
                parameters: object.get("parameters").cloned().unwrap_or_else(empty),
                strict: None,
                cache: None,
                extra: Object::new(),
            },
            maps_to: maps_to.transpose()?,
        })
    });
    read.collect()
}

/// The phase is what the document says and never follows from the node's name: a rename changes no budget.
fn phase(with: &Object) -> Result<PhaseType, Failure> {
    let Some(word) = text(with, "phase")? else { return Ok(PhaseType::Implementation) };
    PhaseType::from_word(&word).ok_or_else(|| {
        let words: Vec<&str> = PhaseType::ALL.iter().map(|phase| phase.word()).collect();
        bad(&format!("there is no phase `{word}`; use one of {}", words.join(", ")))
    })
}

/// The references. One whose optional value is absent is left out; secrets are never a part of one.
fn context_refs(call: &Call<'_>, with: &Object) -> Result<Vec<WrittenReference>, Failure> {
    let Some(references) = with.get("context_refs") else { return Ok(Vec::new()) };
    let items = references.as_array().ok_or_else(|| bad("`context_refs` is not a list of texts"))?;
    let mut filled = Vec::with_capacity(items.len());
    for item in items {
        let written = item.as_str().ok_or_else(|| bad("`context_refs` is not a list of texts"))?;
        if let Some(value) = call.scope().fill(item)? {
            filled.push(WrittenReference { text: port::text(&value)?, is_filled: written.contains("${") });
        }
    }
    Ok(filled)
}

fn on_denied(with: &Object) -> Result<OnDenied, Failure> {
    let Some(word) = text(with, "on_denied")? else { return Ok(OnDenied::default()) };
    OnDenied::from_word(&word).ok_or_else(|| {
        let words: Vec<&str> = OnDenied::ALL.iter().map(|one| one.word()).collect();
        bad(&format!("`on_denied` is `{word}`; use one of {}", words.join(", ")))
    })
}

fn templates(with: &Object) -> Result<Templates, Failure> {
    let Some(templates) = with.get("templates") else { return Ok(Templates::empty()) };
    Templates::from_value(templates).map_err(|error| bad(&error.to_string()))
}

fn constraints(with: &Object) -> Result<Vec<String>, Failure> {
    let Some(constraints) = with.get("constraints") else { return Ok(Vec::new()) };
    let texts = constraints.as_array().and_then(|items| {
        items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
    });
    texts.ok_or_else(|| bad("`constraints` is not a list of texts"))
}

fn count(object: &Object, key: &str) -> Result<Option<u64>, Failure> {
    let Some(value) = object.get(key) else { return Ok(None) };
    let count = value.as_i64().and_then(|count| u64::try_from(count).ok());
    count.map(Some).ok_or_else(|| bad(&format!("`{key}` is not a whole number")))
}

fn text(object: &Object, key: &str) -> Result<Option<String>, Failure> {
    match object.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(bad(&format!("`{key}` is {}, not a text", other.kind()))),
    }
}

fn bad(message: &str) -> Failure {
    Failure::new(codes::BAD_ARGUMENT, FailureKind::Configuration, message)
}
