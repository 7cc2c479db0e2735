//! What the answer of a model step has to be: a schema of the node, or the requirements of its prompt.

use std::sync::Arc;

use stave_canon::Value;
use stave_diag::codes::run as codes;
use stave_llm::tokens;
use stave_prompt::compile::CompileError;
use stave_prompt::output::{self, Accepted, OutputFormat, OutputRequirements, OutputValidator, Rejected};
use stave_prompt::{PromptIr, PromptIrBuilder};

use super::arguments::{Arguments, PromptSource};
use crate::run::Call;
use crate::{Failure, failure::FailureKind};

/// The validator of a step's answers.
#[derive(Debug)]
pub(super) enum AnswerValidator {
    /// That of the node's `output_schema`.
    Schema(Arc<OutputValidator>),
    /// That of the requirements of the prompt, which its text states.
    Requirements(Arc<OutputValidator>),
}

impl AnswerValidator {
    /// What a prompt that passed the plugins requires.
    pub(super) fn of(arguments: &Arguments, ir: &PromptIr) -> Result<Option<AnswerValidator>, Failure> {
        if let Some(schema) = &arguments.output_schema {
            return Ok(Some(AnswerValidator::Schema(Arc::clone(&schema.validator))));
        }
        let stated = arguments.templates.requirements_of(ir).map_err(|error| unusable(&error))?;
        let Some(stated) = stated else { return Ok(None) };
        let validator = OutputValidator::new((*stated).clone()).map_err(|error| unusable(&error.into()))?;
        Ok(Some(AnswerValidator::Requirements(Arc::new(validator))))
    }

    /// The requirements that the text of the prompt states.
    pub(super) fn stated(&self) -> Option<Arc<OutputRequirements>> {
        match self {
            AnswerValidator::Schema(_) => None,
            AnswerValidator::Requirements(validator) => Some(Arc::new(validator.requirements().clone())),
        }
    }

    /// Reads and checks an answer of a model.
    pub(super) fn validate(&self, model: &str, answer: &str) -> Result<Accepted, Rejected> {
        let validator = self.validator();
        let limited = validator.requirements().max_tokens.map(|_| tokens::count_text(model, answer));
        // An estimate is an upper bound: it cannot show that an answer is too long.
        validator
            .validate_counted(answer, limited.filter(|counted| counted.exact).map(|counted| counted.tokens))
    }

    pub(super) fn repair_turn(&self, rejected: &Rejected) -> String {
        self.validator().repair_turn(rejected)
    }

    fn validator(&self) -> &OutputValidator {
        match self {
            AnswerValidator::Schema(validator) | AnswerValidator::Requirements(validator) => validator,
        }
    }
}

/// What the author wrote to be answered in the end, in the form that the node's answers have.
pub(super) fn static_response(call: &Call<'_>, arguments: &Arguments) -> Option<Result<Value, Failure>> {
    let text = arguments.fallback.as_ref()?.static_response.as_ref()?;
    if !answers_json(call, arguments) {
        return Some(Ok(Value::from(text.as_str())));
    }
    Some(output::read(text).map(|accepted| accepted.value).map_err(|rejected| {
        let message = format!("the static response is not JSON: {rejected}");
        Failure::new(codes::MODEL_REPLY_INVALID, FailureKind::Validation, message)
    }))
}

/// Whether the node's answers are JSON, as far as the document says it: a denied prompt has no requirements of its own.
fn answers_json(call: &Call<'_>, arguments: &Arguments) -> bool {
    if arguments.output_schema.is_some() {
        return true;
    }
    let stated = match &arguments.source {
        PromptSource::Document(ir) => arguments.templates.requirements_of(ir).ok(),
        PromptSource::Templates { .. } => {
            let builder = PromptIrBuilder::new(arguments.role_of(call), "");
            let ir = arguments.state_output(builder);
            let ir = ir.build(call.services.ids.as_ref(), call.services.clock.as_ref()).ok();
            ir.and_then(|ir| arguments.templates.requirements_of(&ir).ok())
        }
    };
    stated.flatten().is_some_and(|stated| stated.format == OutputFormat::Json)
}

/// Requirements or a template that a prompt cannot be asked with.
pub(super) fn unusable(error: &CompileError) -> Failure {
    Failure::new(codes::BAD_ARGUMENT, FailureKind::Configuration, error.to_string())
}
