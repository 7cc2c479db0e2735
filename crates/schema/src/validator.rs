//! Values against an admitted schema, within the bound of [`MOST_STEPS`].

use std::collections::HashMap;
use std::fmt;

use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use stave_canon::Value;

use crate::admit::{SchemaFault, admit};
use crate::cost::{Excess, MOST_STEPS, Meter};

/// How many violations an error lists.
const LISTED_VIOLATIONS: usize = 5;

/// The most characters of a violation that are shown: the library repeats what is allowed.
const SHOWN: usize = 2_000;

/// A validation below this cost is cheaper than moving it to another thread.
const SMALL_STEPS: u64 = 20_000;

/// Up to this cost all violations are collected. Each is an allocation, and alternatives are tried again for each level.
const LISTED_STEPS: u64 = 500_000;

/// The sizes of compiled regular expressions, in bytes, with what a byte of text costs in the worst case. A pattern that
/// is larger than the last is refused.
const PATTERN_WEIGHTS: [(usize, u64); 4] =
    [(4 * 1024, 1), (16 * 1024, 8), (64 * 1024, 64), (LARGEST_PATTERN, 256)];

const LARGEST_PATTERN: usize = 256 * 1024;

/// A schema that is admitted and compiled.
#[derive(Debug)]
pub struct SchemaValidator {
    schema: Value,
    validator: Validator,
    weights: HashMap<String, u64>,
    has_alternatives: bool,
}

/// A rule of a schema that a value breaks. The value itself is left out: messages go where the value may not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaViolation {
    /// The place in the value, as a JSON pointer.
    pub pointer: String,
    pub message: String,
}

impl SchemaValidator {
    /// Admits and compiles a schema of draft 7.
    pub fn new(schema: &Value) -> Result<SchemaValidator, SchemaFault> {
        SchemaValidator::of_draft(schema, Draft::Draft7)
    }

    /// Admits and compiles a schema of a draft.
    pub fn of_draft(schema: &Value, draft: Draft) -> Result<SchemaValidator, SchemaFault> {
        let admitted = admit(schema)?;
        let validator = compile(&schema.to_serde(), draft, LARGEST_PATTERN)?;
        let weights = admitted.patterns.into_iter().map(|pattern| {
            let weight = weight(&pattern, draft);
            (pattern, weight)
        });
        Ok(SchemaValidator {
            weights: weights.collect(),
            has_alternatives: admitted.has_alternatives,
            schema: schema.clone(),
            validator,
        })
    }

    /// Whether a value is checked so quickly that it may be done on a thread that serves others.
    #[must_use]
    pub fn is_quick(&self, value: &Value) -> bool {
        self.steps(value, SMALL_STEPS).is_ok()
    }

    /// Whether a value fits. One that would cost too much to check does not.
    #[must_use]
    pub fn is_valid(&self, value: &Value) -> bool {
        self.steps(value, MOST_STEPS).is_ok() && self.validator.is_valid(&value.to_serde())
    }

    /// The first few violations, each with the place in the value, and how many more there are. A value that would cost
    /// too much to check has one violation, which says so.
    #[must_use]
    pub fn violations(&self, value: &Value) -> Vec<String> {
        let (found, more) = self.placed_violations(value, LISTED_VIOLATIONS);
        let mut listed: Vec<String> = found.iter().map(ToString::to_string).collect();
        if more > 0 {
            listed.push(format!("and {more} more"));
        }
        listed
    }

    /// At most `most` violations, and how many more there are.
    #[must_use]
    pub fn placed_violations(&self, value: &Value, most: usize) -> (Vec<SchemaViolation>, usize) {
        let whole = |message: String| (vec![SchemaViolation { pointer: String::new(), message }], 0);
        let steps = match self.steps(value, MOST_STEPS) {
            Ok(steps) => steps,
            Err(Excess::Steps) => {
                return whole(format!(
                    "checking the value takes more than {MOST_STEPS} steps; make the value smaller or the schema simpler"
                ));
            }
            Err(Excess::Depth) => {
                return whole("value and schema nest too deeply together to be checked".to_owned());
            }
        };
        let value = value.to_serde();
        if self.validator.is_valid(&value) {
            return (Vec::new(), 0);
        }
        if steps > LISTED_STEPS {
            let first = if self.has_alternatives { None } else { self.validator.validate(&value).err() };
            return match first {
                Some(error) => (vec![SchemaViolation::of(&error)], 0),
                None => whole("the value does not fit, and is too large to list why".to_owned()),
            };
        }
        let mut found = self.validator.iter_errors(&value);
        let listed = found.by_ref().take(most).map(|error| SchemaViolation::of(&error)).collect();
        (listed, found.count())
    }

    /// The place of the first violation as a JSON pointer, and what it is.
    #[must_use]
    pub fn first_violation(&self, value: &Value) -> Option<(String, String)> {
        let first = self.placed_violations(value, 1).0.into_iter().next()?;
        Some((first.pointer, first.message))
    }

    /// What checking a value costs.
    fn steps(&self, value: &Value, allowed: u64) -> Result<u64, Excess> {
        let mut meter = Meter::new(&self.schema, &self.weights, allowed);
        meter.measure(&self.schema, value, 0)?;
        Ok(allowed - meter.left())
    }
}

impl SchemaViolation {
    fn of(error: &ValidationError<'_>) -> SchemaViolation {
        let mut message = rule(error);
        if let Some((end, _)) = message.char_indices().nth(SHOWN) {
            message.truncate(end);
            message.push('…');
        }
        SchemaViolation { pointer: error.instance_path().to_string(), message }
    }
}

impl fmt::Display for SchemaViolation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.is_empty() {
            out.write_str(&self.message)
        } else {
            write!(out, "{}: {}", self.pointer, self.message)
        }
    }
}

/// What the schema asks for. Rules about names quote names of the value, so only their keyword is given.
fn rule(error: &ValidationError<'_>) -> String {
    match error.kind() {
        kind @ (Kind::AdditionalProperties { .. }
        | Kind::UnevaluatedProperties { .. }
        | Kind::UnevaluatedItems { .. }
        | Kind::PropertyNames { .. }
        | Kind::Custom { .. }
        | Kind::FromUtf8 { .. }) => format!("the value violates `{}`", kind.keyword()),
        _ => error.masked_with("the value").to_string(),
    }
}

/// Compiles with the engine that does not backtrack. It has no lookaround and no backreferences.
fn compile(
    schema: &serde_json::Value,
    draft: Draft,
    largest_pattern: usize,
) -> Result<Validator, SchemaFault> {
    let patterns = PatternOptions::regex().size_limit(largest_pattern).dfa_size_limit(largest_pattern);
    let options = jsonschema::options().with_draft(draft).with_pattern_options(patterns);
    options.build(schema).map_err(|error| SchemaFault::Invalid {
        pointer: error.instance_path().to_string(),
        message: error.to_string(),
    })
}

/// What a byte of text costs with a pattern: as much as the compiled pattern is large.
fn weight(pattern: &str, draft: Draft) -> u64 {
    let schema = Value::from_iter([("pattern", pattern)]).to_serde();
    let fits = |size: usize| compile(&schema, draft, size).is_ok();
    let fitting = PATTERN_WEIGHTS.iter().find(|(size, _)| fits(*size));
    fitting.or(PATTERN_WEIGHTS.last()).map_or(1, |(_, weight)| *weight)
}
