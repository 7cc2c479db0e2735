//! Values against an admitted schema, within the bound of [`MOST_STEPS`].

use std::collections::HashMap;

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
        let steps = match self.steps(value, MOST_STEPS) {
            Ok(steps) => steps,
            Err(Excess::Steps) => {
                let message = format!(
                    "checking the value takes more than {MOST_STEPS} steps; make the value smaller or the schema simpler"
                );
                return vec![message];
            }
            Err(Excess::Depth) => {
                return vec!["value and schema nest too deeply together to be checked".to_owned()];
            }
        };
        let value = value.to_serde();
        if self.validator.is_valid(&value) {
            return Vec::new();
        }
        if steps > LISTED_STEPS {
            let first = if self.has_alternatives { None } else { self.validator.validate(&value).err() };
            let unlisted = || "the value does not fit, and is too large to list why".to_owned();
            return vec![first.as_ref().map_or_else(unlisted, told)];
        }
        let mut found = self.validator.iter_errors(&value);
        let mut listed: Vec<String> =
            found.by_ref().take(LISTED_VIOLATIONS).map(|error| told(&error)).collect();
        let more = found.count();
        if more > 0 {
            listed.push(format!("and {more} more"));
        }
        listed
    }

    /// The place of the first violation as a JSON pointer, and what it is.
    #[must_use]
    pub fn first_violation(&self, value: &Value) -> Option<(String, String)> {
        let listed = self.violations(value);
        let first = listed.first()?;
        let placed = first.split_once(": ").filter(|(place, _)| place.starts_with('/'));
        let (place, message) = placed.unwrap_or(("", first));
        Some((place.to_owned(), message.to_owned()))
    }

    /// What checking a value costs.
    fn steps(&self, value: &Value, allowed: u64) -> Result<u64, Excess> {
        let mut meter = Meter::new(&self.schema, &self.weights, allowed);
        meter.measure(&self.schema, value, 0)?;
        Ok(allowed - meter.left())
    }
}

/// The place in the value and the rule. The value itself is left out: messages go where the value may not.
fn told(error: &ValidationError<'_>) -> String {
    let (place, rule) = (error.instance_path().to_string(), rule(error));
    let text = if place.is_empty() { rule } else { format!("{place}: {rule}") };
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
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
