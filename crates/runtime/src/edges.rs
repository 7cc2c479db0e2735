//! The expressions of an edge: condition, transform, cast.

use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;
use stave_engine::{Signal, value_bytes};

use crate::conditions::Names;
use crate::plan::{EngineEdge, PlannedNode};
use crate::run::Run;
use crate::script_calls::script_failure;
use crate::volume::Volume;
use crate::{Failure, failure::FailureKind, port};

impl Run<'_> {
    /// What an edge carries once its condition, its transform and its cast are evaluated on the value that its source
    /// gave. The condition sees the value as the source made it; a condition that fails is a failure of the edge, never
    /// a silent `false`. An edge without expressions carries the value as it is.
    pub(crate) async fn evaluate_edge(
        &self,
        index: usize,
        source: &PlannedNode,
        value: Value,
        outputs: Option<&Object>,
    ) -> Result<Signal, Failure> {
        let Some(edge) = self.plan.graph.edges.get(index) else { return Ok(Signal::Active(value)) };
        let port = edge.from_port.as_deref().unwrap_or_default();
        let scope = Scope { port, value: &value, context: &self.request.context };
        let decided = self.plan.condition(index).and_then(|condition| condition.holds(&scope));
        if let (Some(false), Some(condition)) = (decided, &edge.condition) {
            return Ok(Signal::Inactive(format!("the condition `{condition}` is false")));
        }
        let error;
        let outputs = match outputs {
            Some(outputs) => outputs,
            // The sole output of a step that failed is its error.
            None => {
                error = [(port.to_owned(), value.clone())].into_iter().collect();
                &error
            }
        };
        let mut value = value;
        if let Some(condition) = edge.condition.as_ref().filter(|_| decided.is_none()) {
            match self.evaluate(edge, condition, port, &value, outputs).await? {
                Value::Bool(true) => {}
                Value::Bool(false) => {
                    return Ok(Signal::Inactive(format!("the condition `{condition}` is false")));
                }
                // The checker warns about a condition that is not boolean; Python's truth decides.
                other if is_true(&other) => {}
                _ => return Ok(Signal::Inactive(format!("the condition `{condition}` is not true"))),
            }
        }
        if let Some(transform) = &edge.transform {
            value = self.evaluate(edge, transform, port, &value, outputs).await?;
            if let Some(index) = self.plan.index(&source.id) {
                let results = value_bytes(&value);
                self.keep(index, Volume { results, ..Volume::default() })?;
            }
        } else if let Some(cast) = edge.cast {
            value = port::cast(cast, value).map_err(|failure| failure.at(edge.origin))?;
        }
        Ok(Signal::Active(value))
    }

    async fn evaluate(
        &self,
        edge: &EngineEdge,
        expression: &str,
        port: &str,
        value: &Value,
        outputs: &Object,
    ) -> Result<Value, Failure> {
        let mut scope = Object::new();
        scope.insert(port.to_owned(), value.clone());
        scope.insert("value".to_owned(), value.clone());
        scope.insert("outputs".to_owned(), outputs.clone().into());
        scope.insert("context".to_owned(), self.request.context.clone().into());
        let limits = stave_script::JobLimits::DEFAULT;
        let results = self.services.python.evaluate(expression, vec![scope], &limits).await;
        let place = |error| {
            let mut failure = script_failure(&error, codes::EDGE_FAILED, edge.origin);
            failure.message = format!("`{expression}`: {}", failure.message);
            failure.origin = edge.origin;
            failure
        };
        let first = results.map_err(place)?.into_iter().next();
        let result = first.ok_or_else(|| {
            Failure::new(codes::CODE_FAILED, FailureKind::Configuration, "the sandbox gave no result")
        })?;
        result.map_err(place)
    }
}

/// The names of a condition, as they are bound in the sandbox.
struct Scope<'s> {
    port: &'s str,
    value: &'s Value,
    context: &'s Object,
}

impl Names for Scope<'_> {
    fn value(&self, name: &str) -> Option<&Value> {
        // The later names win, as they do there; all outputs at once are no single value.
        match name {
            "value" => Some(self.value),
            "outputs" => None,
            name if name == self.port => Some(self.value),
            _ => None,
        }
    }

    fn context(&self, field: &str) -> Option<&Value> {
        self.context.get(field).filter(|_| self.port != "context")
    }
}

/// Python's truth of a value.
pub(crate) fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != 0.0,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(object) => !object.is_empty(),
    }
}
