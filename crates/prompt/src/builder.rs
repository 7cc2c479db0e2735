//! Making a Prompt IR in code.

use std::sync::Arc;

use stave_canon::{Clock, Ids, Number, Object, Value};
use thiserror::Error;

use crate::{CreatedAt, IR_VERSION, PhaseType, Priority, PromptIr, Temperature, TokenBudget};

/// The budget of a prompt whose builder was not told one.
pub const DEFAULT_TOKEN_BUDGET: u64 = 3000;

/// A value that a builder was given and that the specification does not allow.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PromptBuildError {
    #[error("priority {0} is not between 1 and 10")]
    Priority(i64),
    #[error("temperature {0} is not a finite number of at least 0")]
    Temperature(f64),
}

/// Collects the parts of a Prompt IR. Values out of range are reported by [`PromptIrBuilder::build`], so
/// that a chain of calls needs one check.
#[derive(Debug, Clone)]
pub struct PromptIrBuilder {
    ir: PromptIr,
    error: Option<PromptBuildError>,
}

impl PromptIrBuilder {
    #[must_use]
    pub fn new(role: impl Into<String>, intent: impl Into<String>) -> Self {
        let ir = PromptIr {
            ir_id: String::new(),
            role: role.into(),
            intent: intent.into(),
            phase: PhaseType::Implementation,
            context_refs: Arc::default(),
            constraints: Arc::default(),
            output_requirements: Arc::default(),
            token_budget: TokenBudget::from(DEFAULT_TOKEN_BUDGET),
            priority: Priority::DEFAULT,
            model_hint: None,
            temperature_hint: Temperature::default(),
            schema_id: "default".to_owned(),
            ir_version: IR_VERSION.to_owned(),
            metadata: Object::new(),
            created_at: CreatedAt::EPOCH,
            later_fields: Object::new(),
        };
        PromptIrBuilder { ir, error: None }
    }

    #[must_use]
    pub fn phase(mut self, phase: PhaseType) -> Self {
        self.ir.phase = phase;
        self
    }

    #[must_use]
    pub fn add_context_ref(mut self, reference: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.ir.context_refs).push(reference.into());
        self
    }

    #[must_use]
    pub fn add_constraint(mut self, constraint: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.ir.constraints).push(constraint.into());
        self
    }

    #[must_use]
    pub fn set_output_requirements(mut self, requirements: Object) -> Self {
        self.ir.output_requirements = Arc::new(requirements);
        self
    }

    #[must_use]
    pub fn set_token_budget(mut self, tokens: u64) -> Self {
        self.ir.token_budget = TokenBudget::from(tokens);
        self
    }

    #[must_use]
    pub fn set_priority(mut self, priority: i64) -> Self {
        match Priority::new(priority) {
            Some(priority) => self.ir.priority = priority,
            None => self.error = self.error.or(Some(PromptBuildError::Priority(priority))),
        }
        self
    }

    #[must_use]
    pub fn set_model_hint(mut self, hint: impl Into<String>) -> Self {
        self.ir.model_hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn set_temperature_hint(mut self, temperature: f64) -> Self {
        match Temperature::new(Number::Float(temperature)) {
            Some(temperature) => self.ir.temperature_hint = temperature,
            None => self.error = self.error.or(Some(PromptBuildError::Temperature(temperature))),
        }
        self
    }

    #[must_use]
    pub fn set_schema_id(mut self, schema_id: impl Into<String>) -> Self {
        self.ir.schema_id = schema_id.into();
        self
    }

    #[must_use]
    pub fn add_metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.ir.metadata.insert(key.into(), value.into());
        self
    }

    /// The finished prompt with a fresh id, created now. The error is the first value out of range.
    pub fn build(self, ids: &dyn Ids, clock: &dyn Clock) -> Result<PromptIr, PromptBuildError> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(PromptIr {
                ir_id: ids.short(),
                created_at: CreatedAt::from_timestamp(clock.now()),
                ..self.ir
            }),
        }
    }
}
