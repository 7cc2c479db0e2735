//! Which schemas are admitted: the bounds that hold whatever the value is.
//!
//! Invariant: in an admitted schema every reference stays inside, no subschema applies itself to the same value, and
//! one path through a value meets at most [`MOST_APPLICATIONS`] subschemas, recursion aside. What recursion costs
//! depends on the value, and is measured with it.

use std::collections::{HashMap, HashSet};

use stave_canon::{Object, Value};
use thiserror::Error;

use crate::graph::{NESTED_ID, in_place, is_resource, is_schema, of_items, of_members};

/// The most subschemas that apply along one path through a value.
const MOST_APPLICATIONS: u64 = 10_000;

/// How many subschemas may apply each other to one value in a row. Validation recurses once for each.
const MOST_NESTING: usize = 100;

/// How many regular expressions a schema may have.
const MOST_PATTERNS: usize = 500;

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SchemaFault {
    /// The library cannot compile the schema. The place is a JSON pointer into the schema.
    #[error("{message}")]
    Invalid { pointer: String, message: String },
    #[error("`{0}` is outside the schema")]
    Remote(String),
    #[error("`{0}` points at nothing in the schema")]
    Unresolved(String),
    #[error("`{0}` is not supported; write `$ref` with a path from the root, such as `#/definitions/name`")]
    Unsupported(&'static str),
    #[error("a subschema refers to itself without looking into the value, so validation would never end")]
    EndlessReference,
    #[error("more than {MOST_NESTING} subschemas apply one another to the same value")]
    TooNested,
    #[error("one value would be checked against more than {MOST_APPLICATIONS} subschemas")]
    TooManyApplications,
    #[error("the schema has more than {MOST_PATTERNS} regular expressions")]
    TooManyPatterns,
}

impl SchemaFault {
    /// Whether the schema is valid JSON Schema that would cost too much.
    #[must_use]
    pub fn is_costly(&self) -> bool {
        use SchemaFault::{EndlessReference, TooManyApplications, TooManyPatterns, TooNested};
        matches!(self, EndlessReference | TooNested | TooManyApplications | TooManyPatterns)
    }
}

/// What admission found out about a schema.
#[derive(Debug, Default)]
pub(crate) struct Admitted {
    pub(crate) patterns: HashSet<String>,
    /// Whether there are alternatives: the errors of all of them are collected when none fits.
    pub(crate) has_alternatives: bool,
}

/// A subschema is identified by where it is in memory; the schema does not change meanwhile.
type Location = usize;

struct Admission<'s> {
    root: &'s Value,
    /// The subschemas that are applied to one value, and how deeply; `None` while that is being found out.
    nesting: HashMap<Location, Option<usize>>,
    /// The subschemas along the longest path; `None` while that is being found out.
    applications: HashMap<Location, Option<u64>>,
}

/// Decides whether a schema is admitted. The checker and the runtime both ask here.
pub(crate) fn admit(root: &Value) -> Result<Admitted, SchemaFault> {
    let mut admission = Admission { root, nesting: HashMap::new(), applications: HashMap::new() };
    let mut admitted = Admitted::default();
    let mut seen: HashSet<Location> = HashSet::new();
    let mut waiting = vec![root];
    while let Some(schema) = waiting.pop() {
        let Some(members) = schema.as_object() else { continue };
        if !seen.insert(location(schema)) {
            continue;
        }
        check_names(members, schema, root)?;
        patterns(members, &mut admitted.patterns);
        admitted.has_alternatives |= members.contains_key("anyOf") || members.contains_key("oneOf");
        waiting.extend(in_place(root, members)?);
        for (some, every) in [of_items(members), of_members(members)] {
            waiting.extend(some.into_iter().chain(every).filter(|schema| is_schema(schema)));
        }
    }
    if admitted.patterns.len() > MOST_PATTERNS {
        return Err(SchemaFault::TooManyPatterns);
    }
    // First for every subschema that no chain of references is endless; only then is a cycle a recursion into the value.
    let mut waiting = vec![root];
    seen.clear();
    while let Some(schema) = waiting.pop() {
        let Some(members) = schema.as_object() else { continue };
        if !seen.insert(location(schema)) {
            continue;
        }
        admission.nesting(schema, 0)?;
        waiting.extend(in_place(root, members)?);
        for (some, every) in [of_items(members), of_members(members)] {
            waiting.extend(some.into_iter().chain(every));
        }
    }
    if admission.applications(root, 0)? > MOST_APPLICATIONS {
        return Err(SchemaFault::TooManyApplications);
    }
    Ok(admitted)
}

/// Refuses what would make references mean something else than a place in the whole schema.
fn check_names(members: &Object, schema: &Value, root: &Value) -> Result<(), SchemaFault> {
    for keyword in ["$dynamicRef", "$recursiveRef"] {
        if members.contains_key(keyword) {
            return Err(SchemaFault::Unsupported(keyword));
        }
    }
    if location(schema) != location(root) && is_resource(members) {
        return Err(SchemaFault::Unsupported(NESTED_ID));
    }
    Ok(())
}

fn patterns(members: &Object, found: &mut HashSet<String>) {
    found.extend(members.get("pattern").and_then(Value::as_str).map(str::to_owned));
    let named = members.get("patternProperties").and_then(Value::as_object);
    found.extend(named.into_iter().flat_map(Object::keys).cloned());
}

impl Admission<'_> {
    /// How deeply subschemas apply one another to the value that this one is applied to.
    fn nesting(&mut self, schema: &Value, depth: usize) -> Result<usize, SchemaFault> {
        let Some(members) = schema.as_object() else { return Ok(1) };
        match self.nesting.get(&location(schema)) {
            Some(Some(known)) => return Ok(*known),
            Some(None) => return Err(SchemaFault::EndlessReference),
            None => {}
        }
        if depth > MOST_NESTING {
            return Err(SchemaFault::TooNested);
        }
        self.nesting.insert(location(schema), None);
        let mut deepest = 0;
        for inner in in_place(self.root, members)? {
            deepest = deepest.max(self.nesting(inner, depth + 1)?);
        }
        if deepest >= MOST_NESTING {
            return Err(SchemaFault::TooNested);
        }
        self.nesting.insert(location(schema), Some(deepest + 1));
        Ok(deepest + 1)
    }

    /// How many subschemas apply along the costliest path through a value, each recursion counted once.
    fn applications(&mut self, schema: &Value, depth: usize) -> Result<u64, SchemaFault> {
        let Some(members) = schema.as_object() else { return Ok(1) };
        match self.applications.get(&location(schema)) {
            Some(Some(known)) => return Ok(*known),
            Some(None) => return Ok(0),
            None => {}
        }
        if depth > MOST_NESTING * 4 {
            return Err(SchemaFault::TooNested);
        }
        self.applications.insert(location(schema), None);
        let mut all: u64 = 1;
        for inner in in_place(self.root, members)? {
            all = all.saturating_add(self.applications(inner, depth + 1)?);
        }
        let mut deeper: u64 = 0;
        for (some, every) in [of_items(members), of_members(members)] {
            let mut here: u64 = 0;
            for inner in some {
                here = here.max(self.applications(inner, depth + 1)?);
            }
            for inner in every {
                here = here.saturating_add(self.applications(inner, depth + 1)?);
            }
            deeper = deeper.max(here);
        }
        let all = all.saturating_add(deeper);
        self.applications.insert(location(schema), Some(all));
        Ok(all)
    }
}

fn location(schema: &Value) -> Location {
    std::ptr::from_ref(schema).addr()
}
