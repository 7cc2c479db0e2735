//! Fills `${path}` in a step's arguments with values.

use std::collections::BTreeSet;

use stave_canon::{Object, Value};
use stave_diag::codes::project::UNLISTED_SECRET;
use stave_diag::codes::run as codes;
use stave_script::interpolation::{self, Path, PathStep, Placeholder, Segment};
use stave_script::url_template::{self, UrlTemplateError};

use stave_engine::{CopyLimit, FailureKind};

use crate::secrets::Secrets;
use crate::{Failure, port};

/// The most that one filled argument may take. A few bytes of text can name a large value many times over.
const MOST_FILLED: u64 = 16 * 1024 * 1024;

/// The values that paths of one step can name.
#[derive(Debug, Clone, Copy)]
pub struct PathScope<'s> {
    pub inputs: &'s Object,
    pub context: &'s Object,
    /// The model's result, in a node that has both a prompt and a transform.
    pub prompt_output: Option<&'s Value>,
    /// Present only where a secret may go: headers and addresses.
    pub secrets: Option<&'s Secrets>,
}

impl<'s> PathScope<'s> {
    /// The same scope in a place where secrets may go.
    #[must_use]
    pub fn with_secrets(self, secrets: &'s Secrets) -> Self {
        PathScope { secrets: Some(secrets), ..self }
    }

    /// Fills every placeholder in a value. `None` when the whole value is an absent optional one.
    pub fn fill(&self, value: &Value) -> Result<Option<Value>, Failure> {
        self.fill_within(value, &mut fill_limit())
    }

    pub(crate) fn fill_within(&self, value: &Value, room: &mut CopyLimit) -> Result<Option<Value>, Failure> {
        match value {
            Value::String(text) => self.fill_text(text, room),
            Value::Array(items) => {
                let filled: Result<Vec<Option<Value>>, Failure> =
                    items.iter().map(|item| self.fill_within(item, room)).collect();
                Ok(Some(Value::Array(filled?.into_iter().flatten().collect())))
            }
            Value::Object(object) => {
                let mut filled = Object::with_capacity(object.len());
                for (key, member) in object {
                    if let Some(member) = self.fill_within(member, room)? {
                        filled.insert(key.clone(), member);
                    }
                }
                Ok(Some(Value::Object(filled)))
            }
            other => Ok(Some(other.clone())),
        }
    }

    /// Fills an address: each value is encoded for its place, so that it changes nothing but that place.
    pub fn fill_address(&self, address: &str) -> Result<Option<String>, Failure> {
        let mut room = fill_limit();
        let filled = url_template::fill(address, |placeholder| -> Result<Option<String>, Unfilled> {
            let value = self.lookup(placeholder, &mut room).map_err(Unfilled)?;
            let Some(value) = value else { return Ok(None) };
            let text = port::text(&value);
            let fail = |failure: Failure| fail(format!("`{}`: {}", placeholder.path, failure.message));
            text.map(Some).map_err(|failure| Unfilled(fail(failure)))
        });
        filled.map_err(|Unfilled(failure)| failure)
    }

    fn fill_text(&self, text: &str, room: &mut CopyLimit) -> Result<Option<Value>, Failure> {
        if !text.contains("${") {
            return Ok(Some(text.into()));
        }
        let parsed = interpolation::parse(text).map_err(|errors| {
            let messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
            fail(format!("{text:?} is not a valid interpolation: {}", messages.join("; ")))
        })?;
        if let Some(placeholder) = parsed.sole() {
            return self.lookup(placeholder, room);
        }
        let mut filled = String::new();
        for segment in &parsed.segments {
            match segment {
                Segment::Literal(literal) => filled.push_str(literal),
                Segment::Placeholder(placeholder) => {
                    if let Some(value) = self.lookup(placeholder, room)? {
                        let text = port::text(&value).map_err(|failure| {
                            fail(format!("`{}`: {}", placeholder.path, failure.message))
                        })?;
                        filled.push_str(&text);
                    }
                }
            }
        }
        Ok(Some(Value::String(filled)))
    }

    fn lookup(&self, placeholder: &Placeholder, room: &mut CopyLimit) -> Result<Option<Value>, Failure> {
        let path = &placeholder.path;
        if path.root == "secrets" {
            return self.secret(path).map(Some);
        }
        let found = self.resolve(path);
        match found {
            Some(value) => {
                room.take(value, overfilled)?;
                Ok(Some(value.clone()))
            }
            None if placeholder.optional => Ok(None),
            None => Err(fail(format!("`{path}` is absent; write `${{{path}?}}` to leave it out then"))),
        }
    }

    fn resolve(&self, path: &Path) -> Option<&'s Value> {
        let mut steps = path.steps.iter().map(|(step, _)| step);
        let mut here = match path.root.as_str() {
            "context" => match steps.next()? {
                PathStep::Key(key) => self.context.get(key)?,
                PathStep::Index(_) => return None,
            },
            "prompt_output" => self.prompt_output?,
            name => self.inputs.get(name)?,
        };
        for step in steps {
            here = match (step, here) {
                (PathStep::Key(key), Value::Object(object)) => object.get(key)?,
                (PathStep::Index(index), Value::Array(items)) => items.get(*index)?,
                _ => return None,
            };
        }
        Some(here)
    }

    fn secret(&self, path: &Path) -> Result<Value, Failure> {
        let secrets = self.secrets.ok_or_else(|| {
            Failure::new(
                codes::SECRET_MISPLACED,
                FailureKind::Refused,
                format!("`{path}` is used where a secret is not allowed; use it in headers or the address"),
            )
        })?;
        let [(PathStep::Key(name), _)] = path.steps.as_slice() else {
            return Err(fail("a secret is named `${secrets.NAME}`".to_owned()));
        };
        if let Some(unlisted) = secrets.unlisted(name) {
            return Err(Failure::new(UNLISTED_SECRET, FailureKind::Refused, unlisted.to_string()));
        }
        let secret = secrets.listed(name).ok_or_else(|| {
            let message = format!("secret `{name}` is not set");
            Failure::new(codes::SECRET_MISSING, FailureKind::Configuration, message)
        })?;
        Ok(secret.expose().into())
    }
}

/// The limit of what filling one argument copies.
pub(crate) fn fill_limit() -> CopyLimit {
    CopyLimit::new(MOST_FILLED)
}

/// The failure of an argument that would take too much.
pub(crate) fn overfilled(limit: u64) -> Failure {
    fail(format!("the filled argument takes more than {limit} bytes"))
}

/// Why an address is not filled.
struct Unfilled(Failure);

impl From<UrlTemplateError> for Unfilled {
    fn from(error: UrlTemplateError) -> Unfilled {
        Unfilled(bad_address(&error))
    }
}

/// The failure of an argument that is no usable address.
pub(crate) fn bad_address(error: &UrlTemplateError) -> Failure {
    Failure::new(codes::BAD_ARGUMENT, FailureKind::Value, format!("the address {error}"))
}

/// Adds the names of `${secrets.NAME}` in a value.
pub fn add_secret_names(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            let Ok(parsed) = interpolation::parse(text) else { return };
            for placeholder in parsed.placeholders().filter(|placeholder| placeholder.path.root == "secrets")
            {
                if let [(PathStep::Key(name), _), ..] = placeholder.path.steps.as_slice() {
                    names.insert(name.clone());
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| add_secret_names(item, names)),
        Value::Object(object) => object.values().for_each(|member| add_secret_names(member, names)),
        _ => {}
    }
}

fn fail(message: String) -> Failure {
    Failure::new(codes::INTERPOLATION_FAILED, FailureKind::Value, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_named_many_times_is_filled_within_a_bound() {
        let inputs: Object = [("x".to_owned(), Value::from("x".repeat(1 << 20)))].into_iter().collect();
        let context = Object::new();
        let scope = PathScope { inputs: &inputs, context: &context, prompt_output: None, secrets: None };
        let few = Value::from("${x}".repeat(3));
        assert_eq!(scope.fill(&few).unwrap().unwrap().as_str().map(str::len), Some(3 << 20));
        let in_one_text = Value::from("${x}".repeat(100));
        let in_a_list = Value::Array(vec!["${x}".into(); 100]);
        for many in [in_one_text, in_a_list] {
            let failure = scope.fill(&many).unwrap_err();
            assert_eq!(failure.code, codes::INTERPOLATION_FAILED);
        }
        let address = format!("http://host.example.com/{}", "${x}".repeat(100));
        assert_eq!(scope.fill_address(&address).unwrap_err().code, codes::INTERPOLATION_FAILED);
    }
}
