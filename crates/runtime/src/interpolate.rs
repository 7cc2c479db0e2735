//! Fills `${path}` in a step's arguments with values.

use std::collections::BTreeSet;

use stave_canon::{Object, Value};
use stave_diag::codes::run as codes;
use stave_script::interpolation::{self, Path, PathStep, Placeholder, Segment};
use stave_script::url_template::{self, AddressError};

use crate::failure::Kind;
use crate::services::Secrets;
use crate::{Failure, port};

/// The values that paths of one step can name.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'s> {
    pub inputs: &'s Object,
    pub context: &'s Object,
    /// The model's result, in a node that has both a prompt and a transform.
    pub prompt_output: Option<&'s Value>,
    /// Present only where a secret may go: headers and addresses.
    pub secrets: Option<&'s Secrets>,
}

impl<'s> Scope<'s> {
    /// The same scope in a place where secrets may go.
    #[must_use]
    pub fn with_secrets(self, secrets: &'s Secrets) -> Self {
        Scope { secrets: Some(secrets), ..self }
    }

    /// Fills every placeholder in a value. `None` when the whole value is an absent optional one.
    pub fn fill(&self, value: &Value) -> Result<Option<Value>, Failure> {
        match value {
            Value::String(text) => self.fill_text(text),
            Value::Array(items) => {
                let filled: Result<Vec<Option<Value>>, Failure> =
                    items.iter().map(|item| self.fill(item)).collect();
                Ok(Some(Value::Array(filled?.into_iter().flatten().collect())))
            }
            Value::Object(object) => {
                let mut filled = Object::with_capacity(object.len());
                for (key, member) in object {
                    if let Some(member) = self.fill(member)? {
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
        url_template::fill(address, |placeholder| {
            let Some(value) = self.lookup(placeholder)? else { return Ok(None) };
            let text = port::text(&value);
            text.map(Some).map_err(|failure| fail(format!("`{}`: {}", placeholder.path, failure.message)))
        })
    }

    fn fill_text(&self, text: &str) -> Result<Option<Value>, Failure> {
        if !text.contains("${") {
            return Ok(Some(text.into()));
        }
        let parsed = interpolation::parse(text).map_err(|errors| {
            let messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
            fail(format!("{text:?} is not a valid interpolation: {}", messages.join("; ")))
        })?;
        if let Some(placeholder) = parsed.sole() {
            return self.lookup(placeholder);
        }
        let mut filled = String::new();
        for segment in &parsed.segments {
            match segment {
                Segment::Literal(literal) => filled.push_str(literal),
                Segment::Placeholder(placeholder) => {
                    if let Some(value) = self.lookup(placeholder)? {
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

    fn lookup(&self, placeholder: &Placeholder) -> Result<Option<Value>, Failure> {
        let path = &placeholder.path;
        if path.root == "secrets" {
            return self.secret(path).map(Some);
        }
        let found = self.resolve(path);
        match found {
            Some(value) => Ok(Some(value.clone())),
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
                Kind::Refused,
                format!("`{path}` stands where a secret may not go; use it in headers or the address"),
            )
        })?;
        let [(PathStep::Key(name), _)] = path.steps.as_slice() else {
            return Err(fail("a secret is named `${secrets.NAME}`".to_owned()));
        };
        let secret = secrets.get(name).ok_or_else(|| {
            let message = format!("secret `{name}` is not set");
            Failure::new(codes::SECRET_MISSING, Kind::Configuration, message)
        })?;
        Ok(secret.expose().into())
    }
}

impl From<AddressError> for Failure {
    fn from(error: AddressError) -> Failure {
        Failure::new(codes::BAD_ARGUMENT, Kind::Value, format!("the address {error}"))
    }
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
    Failure::new(codes::INTERPOLATION_FAILED, Kind::Value, message)
}
