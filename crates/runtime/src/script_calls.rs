//! What a step asks of the sandbox: its limits, an expression for each item of a list, and errors placed in the source.

use std::time::Duration;

use stave_canon::Value;
use stave_diag::codes::run as codes;
use stave_engine::{Failure, FailureKind};
use stave_exec::dataflow::Origin;
use stave_script::ScriptError;

use crate::run::Call;

impl Call<'_> {
    /// The sandbox's limits with the node's time.
    #[must_use]
    pub fn script_limits(&self) -> stave_script::JobLimits {
        let mut limits = stave_script::JobLimits::DEFAULT;
        if self.node.timeout_ms > 0 {
            let node = Duration::from_millis(self.node.timeout_ms.into());
            limits.wall = node;
            limits.compute = limits.compute.min(node);
        }
        limits
    }

    /// Evaluates an expression for each item of a list; the first failure ends it.
    pub async fn evaluate_each(&self, expression: &str, items: &[Value]) -> Result<Vec<Value>, Failure> {
        let scopes = items.iter().enumerate().map(|(index, item)| {
            let index = Value::from(index);
            [("item".to_owned(), item.clone()), ("index".to_owned(), index)].into_iter().collect()
        });
        let results =
            self.services.python.evaluate(expression, scopes.collect(), &self.script_limits()).await;
        let results = results.map_err(|error| self.script_failure(&error, "expression"))?;
        let mut values = Vec::with_capacity(results.len());
        for (index, result) in results.into_iter().enumerate() {
            values.push(result.map_err(|error| {
                let mut failure = self.script_failure(&error, "expression");
                failure.message = format!("item {index}: {}", failure.message);
                failure
            })?);
        }
        Ok(values)
    }

    /// A script's error as a failure, placed in the source through the origin of the text `key`.
    #[must_use]
    pub fn script_failure(&self, error: &ScriptError, key: &str) -> Failure {
        let code = if key == "code" { codes::CODE_FAILED } else { codes::EXPRESSION_FAILED };
        let origin = self.node.text_origins.get(key).copied();
        script_failure(error, code, origin)
    }
}

/// A script's error as a failure. `origin` is where its text begins.
pub(crate) fn script_failure(error: &ScriptError, code: stave_diag::Code, origin: Option<Origin>) -> Failure {
    use stave_script::Limit;
    let (code, kind) = match error {
        ScriptError::LimitExceeded { limit: Limit::Time, .. } => (codes::STEP_TIMEOUT, FailureKind::Timeout),
        ScriptError::State(_) => (codes::STATE_FAILED, FailureKind::Upstream),
        ScriptError::Worker(_) | ScriptError::Closed => (codes::CODE_FAILED, FailureKind::Configuration),
        _ => (code, FailureKind::Code),
    };
    let mut failure = Failure::new(code, kind, error.to_string());
    failure.retryable = match error {
        // The same code fails the same way on a syntax or type error; other exceptions may pass.
        ScriptError::Raised { kind, .. } => {
            !matches!(kind.as_str(), "SyntaxError" | "TypeError" | "NameError" | "AttributeError")
        }
        ScriptError::LimitExceeded { limit, .. } => *limit == Limit::Time,
        other => other.is_transient(),
    };
    failure.origin = match (origin, error.range()) {
        (Some(origin), Some(range)) => Some(Origin {
            line: origin.line + range.start.line.saturating_sub(1),
            column: origin.column + range.start.column.saturating_sub(1),
        }),
        (origin, _) => origin,
    };
    failure
}
