//! What a model answers: found, mended where that is safe, and checked against what was required.
//!
//! Invariant: an accepted answer satisfies the schema, and says whether and how it was mended. Nothing is
//! left out of an answer unless the caller allows it.

mod extract;
mod markup;
mod repair;

pub use extract::{Found, extract};
pub use repair::{NotRepairable, Repair, Repaired, repair};
pub use stave_schema::{BadRequirements, OutputFormat, OutputRequirements, json_schema};

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use stave_canon::Value;
use stave_schema::{SchemaFault, SchemaValidator};
use thiserror::Error;

/// How many problems a message lists; programs are given all of them.
const LISTED_PROBLEMS: usize = 5;

/// The most problems of one answer that are told apart.
const MOST_PROBLEMS: usize = 1000;

/// Checks answers against one set of requirements, and counts what came of them. Model steps of flows and
/// `stave prompt` both use it.
#[derive(Debug)]
pub struct OutputValidator {
    requirements: OutputRequirements,
    /// For answers in JSON: the schema, and its compiled form.
    json: Option<(Value, SchemaValidator)>,
    counters: Counters,
}

/// An accepted answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Accepted {
    /// The JSON of the answer; its text in the other formats.
    pub value: Value,
    pub found: Found,
    /// Empty when the answer was fine as it was.
    pub repairs: Vec<Repair>,
}

/// One reason why an answer cannot be used, in words that help the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyProblem {
    /// The place in the answer as a JSON pointer; empty for the whole answer.
    pub pointer: String,
    pub message: String,
}

/// An answer that cannot be used, with everything that is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct Rejected {
    pub problems: Vec<ReplyProblem>,
    /// Whether the model said, in the form it was given for that, that it cannot do the task.
    pub is_error_reply: bool,
}

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

impl ReplyProblem {
    fn whole(message: String) -> Self {
        ReplyProblem { pointer: String::new(), message }
    }
}

impl fmt::Display for ReplyProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.pointer.is_empty() { "" } else { ": " };
        write!(out, "{}{separator}{}", self.pointer, self.message)
    }
}

impl Rejected {
    fn because(message: impl Into<String>) -> Self {
        Rejected { problems: vec![ReplyProblem::whole(message.into())], is_error_reply: false }
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().take(LISTED_PROBLEMS).enumerate() {
            write!(out, "{}{problem}", if index == 0 { "" } else { "; " })?;
        }
        match self.problems.len().saturating_sub(LISTED_PROBLEMS) {
            0 => Ok(()),
            more => write!(out, "; and {more} more"),
        }
    }
}

impl OutputValidator {
    /// A validator of the requirements of a prompt.
    pub fn new(requirements: OutputRequirements) -> Result<Self, BadRequirements> {
        let compiled = |schema: Value| match SchemaValidator::new(&schema) {
            Ok(validator) => Ok((schema, validator)),
            Err(fault) => Err(BadRequirements::because(fault.to_string())),
        };
        let json = requirements.effective_schema().map(compiled).transpose()?;
        Ok(OutputValidator { requirements, json, counters: Counters::default() })
    }

    /// A validator of answers in JSON that fit a JSON Schema, taken as it is.
    pub fn of_schema(schema: &Value) -> Result<Self, SchemaFault> {
        let validator = SchemaValidator::new(schema)?;
        let requirements = OutputRequirements::of_schema(schema.clone());
        Ok(OutputValidator {
            requirements,
            json: Some((schema.clone(), validator)),
            counters: Counters::default(),
        })
    }

    #[must_use]
    pub fn requirements(&self) -> &OutputRequirements {
        &self.requirements
    }

    /// The JSON Schema that answers in JSON are checked against.
    #[must_use]
    pub fn schema(&self) -> Option<&Value> {
        self.json.as_ref().map(|(schema, _)| schema)
    }

    /// Reads and checks an answer whose tokens nobody counted.
    pub fn validate(&self, answer: &str) -> Result<Accepted, Rejected> {
        self.validate_counted(answer, None)
    }

    /// Reads and checks an answer of so many tokens.
    pub fn validate_counted(&self, answer: &str, tokens: Option<u64>) -> Result<Accepted, Rejected> {
        let mut result = match &self.json {
            Some((_, validator)) => self.checked_json(answer, validator),
            None => self.checked_markup(answer),
        };
        if let (Some(most), Some(tokens)) = (self.requirements.max_tokens, tokens)
            && tokens > most
        {
            let problem = ReplyProblem::whole(format!("the reply has {tokens} tokens, more than {most}"));
            result = match result {
                Ok(_) => Err(Rejected { problems: vec![problem], is_error_reply: false }),
                Err(mut rejected) => {
                    rejected.problems.push(problem);
                    Err(rejected)
                }
            };
        }
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

    fn checked_json(&self, answer: &str, validator: &SchemaValidator) -> Result<Accepted, Rejected> {
        let accepted = read(answer)?;
        let (violations, more) = validator.placed_violations(&accepted.value, MOST_PROBLEMS);
        if violations.is_empty() {
            return Ok(accepted);
        }
        if self.is_error_reply(&accepted.value) {
            let message = "the model replied in the error format: it could not do the task";
            return Err(Rejected { is_error_reply: true, ..Rejected::because(message) });
        }
        let problem = |found: stave_schema::SchemaViolation| ReplyProblem {
            pointer: found.pointer,
            message: found.message,
        };
        let mut problems: Vec<ReplyProblem> = violations.into_iter().map(problem).collect();
        if more > 0 {
            problems.push(ReplyProblem::whole(format!("and {more} more")));
        }
        Err(Rejected { problems, is_error_reply: false })
    }

    /// Whether a value has exactly the members of the error format that the prompt states.
    fn is_error_reply(&self, value: &Value) -> bool {
        let format = self.requirements.effective_error_format();
        let members = format.as_ref().and_then(Value::as_object).filter(|members| !members.is_empty());
        members.zip(value.as_object()).is_some_and(|(members, reply)| {
            members.len() == reply.len() && members.keys().all(|key| reply.contains_key(key))
        })
    }

    fn checked_markup(&self, answer: &str) -> Result<Accepted, Rejected> {
        let text = answer.trim();
        if text.is_empty() {
            return Err(Rejected::because("the reply is empty"));
        }
        let fields = &self.requirements.required_fields;
        let problems = match self.requirements.format {
            OutputFormat::Markdown => markup::markdown(text, fields),
            OutputFormat::Xml => markup::xml(text, fields),
            OutputFormat::Json | OutputFormat::Text => Vec::new(),
        };
        if problems.is_empty() {
            Ok(Accepted { value: text.into(), found: Found::Whole, repairs: Vec::new() })
        } else {
            Err(Rejected { problems, is_error_reply: false })
        }
    }

    /// The message that asks the model to answer again, once.
    #[must_use]
    pub fn repair_turn(&self, rejected: &Rejected) -> String {
        let form = match self.requirements.format {
            OutputFormat::Json => "with JSON that fits the schema",
            OutputFormat::Markdown => "in Markdown with the required sections",
            OutputFormat::Xml => "in XML with the required elements",
            OutputFormat::Text => "in plain text",
        };
        format!("Your reply cannot be used: {rejected}. Reply again {form}, and with nothing else.")
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
    let reject = |reason: String| Rejected::because(reason);
    let (found, text) = extract(answer)
        .ok_or_else(|| reject("it is unclear which part of the reply is the JSON".to_owned()))?;
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
        let validator = OutputValidator::new(OutputRequirements::of_schema(requirements)).unwrap();
        let good = r#"{"parts": [{"name": "a"}], "done": true}"#;
        assert!(validator.validate(good).unwrap().repairs.is_empty());
        assert_eq!(validator.validate(&format!("{},", &good[..good.len() - 1])).unwrap().repairs.len(), 1);
        let wrong = validator.validate(r#"{"parts": [{"name": 3}], "done": 1}"#).unwrap_err();
        assert_eq!(wrong.problems.len(), 2, "{wrong}");
        assert!(validator.validate(r#"{"parts": [{"name": "a"}], "done": tr"#).is_err());
        assert!(validator.validate("null").is_err());
        let figures = validator.figures();
        assert_eq!((figures.total, figures.accepted, figures.repaired, figures.rejected), (5, 2, 1, 3));
        assert!(validator.repair_turn(&wrong).contains("/parts/0/name"));
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
            let validator = SchemaValidator::new(&stave_canon::parse(schema).unwrap()).unwrap();
            let found = validator.violations(&"SEKRIT".into());
            assert!(!found.is_empty() && !found.join(" ").contains("SEKRIT"), "{found:?}");
        }
        for schema in [
            r#"{"type": "object", "properties": {}, "additionalProperties": false}"#,
            r#"{"type": "object", "properties": {}, "propertyNames": {"maxLength": 3}}"#,
        ] {
            let validator = SchemaValidator::new(&stave_canon::parse(schema).unwrap()).unwrap();
            let found = validator.violations(&stave_canon::parse(r#"{"SEKRIT": 1}"#).unwrap());
            assert!(!found.is_empty() && !found.join(" ").contains("SEKRIT"), "{found:?}");
        }
    }

    #[test]
    fn requirements_that_are_no_schema_are_refused() {
        let schema = stave_canon::parse(r#"{"type": "object", "properties": 3}"#).unwrap();
        assert!(OutputValidator::of_schema(&schema).is_err());
        assert!(OutputValidator::new(OutputRequirements::of_schema(schema)).is_err());
    }

    #[test]
    fn every_format_has_its_checks_and_all_problems_are_told() {
        let validator = |text: &str| {
            let value = stave_canon::parse(text).unwrap();
            OutputValidator::new(OutputRequirements::of_prompt(value.as_object().unwrap()).unwrap()).unwrap()
        };
        let json =
            validator(r#"{"format": "json", "schema": {"a": "string", "b": ["integer"]}, "max_tokens": 3}"#);
        let rejected = json.validate_counted(r#"{"a": 1, "b": [1, "x", "y"]}"#, Some(9)).unwrap_err();
        let pointers: Vec<&str> = rejected.problems.iter().map(|one| one.pointer.as_str()).collect();
        assert_eq!(pointers, ["/a", "/b/1", "/b/2", ""]);
        assert!(json.validate(r#"{"error": "no sources"}"#).unwrap_err().is_error_reply);
        let markdown = validator(r#"{"format": "markdown", "required_fields": ["Risks"]}"#);
        assert!(
            markdown
                .validate(
                    "# Risks
None."
                )
                .is_ok()
        );
        assert!(markdown.validate("No risks.").is_err());
        let text = validator(r#"{"format": "text"}"#);
        assert!(text.validate("anything").is_ok());
        assert!(text.validate(" \n").is_err());
    }

    #[test]
    fn json_is_found_alone_or_in_its_only_fence() {
        let value: Value = [("a", 1_i64)].into_iter().collect();
        let parse = |text: &str| read(text).map(|accepted| accepted.value);
        for text in
            ["{\"a\": 1}", " {\"a\": 1}\n", "Here:\n```json\n{\"a\": 1}\n```\nDone.", "```\n{\"a\": 1}```"]
        {
            assert_eq!(parse(text).as_ref(), Ok(&value), "{text}");
        }
        assert_eq!(parse("Sure: {\"a\": 1} as asked").as_ref(), Ok(&value));
        assert_eq!(parse("{\"a\": 1,").as_ref(), Ok(&value));
        assert!(parse("{\"a\": 1").is_err(), "the number may have been cut off");
        assert!(parse("it is 21").is_err());
        assert!(parse("```\n1\n``` or ```\n2\n```").is_err());
    }
}
