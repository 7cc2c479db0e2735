//! What a model answers: found, mended where that is safe, and checked against what was required.
//!
//! Invariant: an accepted answer satisfies the schema, and says whether and how it was mended. Nothing is
//! left out of an answer unless the caller allows it.

mod extract;
mod repair;
mod schema;

pub use extract::{Found, extract};
pub use repair::{NotRepairable, Repair, Repaired, repair};
pub use schema::json_schema;

use std::sync::atomic::{AtomicU64, Ordering};

use stave_canon::Value;
use stave_schema::SchemaValidator;
use thiserror::Error;

/// Checks answers against one schema, and counts what came of them.
#[derive(Debug)]
pub struct OutputValidator {
    schema: Value,
    validator: SchemaValidator,
    counters: Counters,
}

/// An accepted answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Accepted {
    pub value: Value,
    pub found: Found,
    /// Empty when the answer was fine as it was.
    pub repairs: Vec<Repair>,
}

/// An answer that cannot be used, and why, in words that help the model.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", reasons.join("; "))]
pub struct Rejected {
    pub reasons: Vec<String>,
}

/// Output requirements that are no schema.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the output requirements are no schema: {0}")]
pub struct BadRequirements(pub String);

/// What came of the answers so far. Every answer counts once, as accepted or rejected; a mended one is an
/// accepted one that was not fine as it was.
#[derive(Debug, Default)]
struct Counters {
    accepted: AtomicU64,
    repaired: AtomicU64,
    rejected: AtomicU64,
}

/// The figures of a validator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutputFigures {
    pub total: u64,
    pub accepted: u64,
    pub repaired: u64,
    pub rejected: u64,
}

impl OutputValidator {
    /// A validator of output requirements, in the short form or as JSON Schema.
    pub fn new(requirements: &Value) -> Result<Self, BadRequirements> {
        let schema = json_schema(requirements);
        let validator = SchemaValidator::new(&schema).map_err(|error| BadRequirements(error.to_string()))?;
        Ok(OutputValidator { schema, validator, counters: Counters::default() })
    }

    /// The JSON Schema that answers are checked against.
    #[must_use]
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Reads and checks an answer.
    pub fn validate(&self, answer: &str) -> Result<Accepted, Rejected> {
        let result = read(answer).and_then(|accepted| {
            let reasons = self.validator.violations(&accepted.value);
            if reasons.is_empty() { Ok(accepted) } else { Err(Rejected { reasons }) }
        });
        let add = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
        match &result {
            Ok(accepted) => {
                add(&self.counters.accepted);
                if !accepted.repairs.is_empty() {
                    add(&self.counters.repaired);
                }
            }
            Err(_) => {
                add(&self.counters.rejected);
            }
        }
        result
    }

    #[must_use]
    pub fn figures(&self) -> OutputFigures {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (accepted, rejected) = (get(&self.counters.accepted), get(&self.counters.rejected));
        OutputFigures {
            total: accepted + rejected,
            accepted,
            repaired: get(&self.counters.repaired),
            rejected,
        }
    }
}

/// The JSON of an answer, mended where nothing is lost by it.
pub fn read(answer: &str) -> Result<Accepted, Rejected> {
    let reject = |reason: String| Rejected { reasons: vec![reason] };
    let (found, text) = extract(answer)
        .ok_or_else(|| reject("it cannot be told which part of the reply is the JSON".to_owned()))?;
    let fault = match stave_canon::parse(text) {
        Ok(value) => return Ok(Accepted { value, found, repairs: Vec::new() }),
        Err(fault) => fault,
    };
    match repair(text) {
        Ok(repaired) if repaired.is_lossless() => {
            Ok(Accepted { value: repaired.value, found, repairs: repaired.repairs })
        }
        Ok(_) => Err(reject("the reply was cut off in the middle of a value".to_owned())),
        Err(_) => Err(reject(format!("the reply is not JSON: {fault}"))),
    }
}

/// What to tell the model so that it answers again, once.
#[must_use]
pub fn repair_turn(rejected: &Rejected) -> String {
    format!(
        "Your reply cannot be used: {rejected}. Reply again with JSON that fits the schema, and with nothing else."
    )
}

impl OutputFigures {
    #[must_use]
    pub fn to_value(&self) -> Value {
        let rate = |part: u64| if self.total == 0 { 0.0 } else { part as f64 / self.total as f64 };
        Value::from_iter([
            ("total", Value::from(self.total)),
            ("accepted", self.accepted.into()),
            ("repaired", self.repaired.into()),
            ("rejected", self.rejected.into()),
            ("acceptance_rate", rate(self.accepted).into()),
            ("repair_rate", rate(self.repaired).into()),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_checked_deeply_and_counted_honestly() {
        let requirements =
            stave_canon::parse(r#"{"parts": [{"name": "string"}], "done": "boolean"}"#).unwrap();
        let validator = OutputValidator::new(&requirements).unwrap();
        let good = r#"{"parts": [{"name": "a"}], "done": true}"#;
        assert!(validator.validate(good).unwrap().repairs.is_empty());
        assert_eq!(validator.validate(&format!("{},", &good[..good.len() - 1])).unwrap().repairs.len(), 1);
        let wrong = validator.validate(r#"{"parts": [{"name": 3}], "done": 1}"#).unwrap_err();
        assert_eq!(wrong.reasons.len(), 2, "{wrong}");
        assert!(validator.validate(r#"{"parts": [{"name": "a"}], "done": tr"#).is_err());
        assert!(validator.validate("null").is_err());
        let figures = validator.figures();
        assert_eq!((figures.total, figures.accepted, figures.repaired, figures.rejected), (5, 2, 1, 3));
        assert!(repair_turn(&wrong).contains("/parts/0/name"));
    }

    #[test]
    fn violations_name_the_place_and_the_rule_and_leave_the_value_out() {
        for schema in [
            r#"{"maxLength": 3}"#,
            r#"{"enum": ["a"]}"#,
            r#"{"const": "a"}"#,
            r#"{"type": "string", "pattern": "^a$"}"#,
            r#"{"type": "integer"}"#,
            r#"{"not": {"type": "string"}}"#,
            r#"{"anyOf": [{"type": "integer"}, {"const": 3}]}"#,
            r#"{"oneOf": [{"type": "integer"}, {"const": 3}]}"#,
        ] {
            let validator = OutputValidator::new(&stave_canon::parse(schema).unwrap()).unwrap().validator;
            let found = validator.violations(&"SEKRIT".into());
            assert!(!found.is_empty() && !found.join(" ").contains("SEKRIT"), "{found:?}");
        }
        for schema in [
            r#"{"type": "object", "properties": {}, "additionalProperties": false}"#,
            r#"{"type": "object", "properties": {}, "propertyNames": {"maxLength": 3}}"#,
        ] {
            let validator = OutputValidator::new(&stave_canon::parse(schema).unwrap()).unwrap().validator;
            let found = validator.violations(&stave_canon::parse(r#"{"SEKRIT": 1}"#).unwrap());
            assert!(!found.is_empty() && !found.join(" ").contains("SEKRIT"), "{found:?}");
        }
    }

    #[test]
    fn requirements_that_are_no_schema_are_refused() {
        assert!(
            OutputValidator::new(&stave_canon::parse(r#"{"type": "object", "properties": 3}"#).unwrap())
                .is_err()
        );
    }
}
