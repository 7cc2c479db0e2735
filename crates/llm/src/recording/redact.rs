//! Taking secrets out of what is written down.

use stave_canon::{Object, Value};

use crate::{MediaSource, Part, PartKind, REPLACEMENT, Request, Response, Secret, SecretSearch, Tool};

/// Fields whose value is a secret whatever it is.
const SECRET_FIELDS: &[&str] = &[
    "api_key",
    "apikey",
    "api-key",
    "x-api-key",
    "authorization",
    "access_token",
    "client_secret",
    "password",
];

/// Replaces the given secrets wherever they occur, and the values of fields that are named like one.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    search: SecretSearch,
    /// Whether the values of fields that are named like a secret stay as they are.
    keeps_fields: bool,
}

impl Redactor {
    #[must_use]
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        Redactor { search: SecretSearch::new(secrets), keeps_fields: false }
    }

    /// One that replaces nothing but these secrets, for what a run works with: a field that is named like a secret
    /// may be what a host was asked for.
    #[must_use]
    pub fn of_secrets(search: SecretSearch) -> Self {
        Redactor { search, keeps_fields: true }
    }

    #[must_use]
    pub fn text(&self, text: &str) -> String {
        self.search.hide(text).into_owned()
    }

    #[must_use]
    pub fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(items) => Value::Array(items.iter().map(|item| self.value(item)).collect()),
            Value::Object(members) => Value::Object(self.object(members)),
            other => other.clone(),
        }
    }

    fn object(&self, members: &Object) -> Object {
        let clean = |(key, value): (&String, &Value)| {
            let secret =
                !self.keeps_fields && SECRET_FIELDS.iter().any(|name| name.eq_ignore_ascii_case(key));
            let value = match value {
                // A schema may describe a field of that name; only a text can be the secret itself.
                Value::String(_) if secret => REPLACEMENT.into(),
                value => self.value(value),
            };
            (self.text(key), value)
        };
        members.iter().map(clean).collect()
    }

    /// The request without secrets. Only texts change, so its shape stays valid.
    #[must_use]
    pub fn request(&self, request: &Request) -> Request {
        let mut clean = request.clone();
        for message in &mut clean.messages {
            self.in_option(&mut message.name);
            message.extra = self.object(&message.extra);
            self.in_parts(&mut message.content);
        }
        for tool in &mut clean.tools {
            match tool {
                Tool::Provider(value) => *value = self.value(value),
                Tool::Function(function) => {
                    self.in_option(&mut function.description);
                    function.parameters = self.value(&function.parameters);
                    function.extra = self.object(&function.extra);
                }
            }
        }
        if let Some(schema) = &mut clean.response_schema {
            schema.schema = self.value(&schema.schema);
        }
        clean.stop.iter_mut().for_each(|text| self.in_text(text));
        clean.metadata = self.object(&clean.metadata);
        clean.extra = self.object(&clean.extra);
        clean
    }

    #[must_use]
    pub fn response(&self, response: &Response) -> Response {
        let mut clean = response.clone();
        self.in_option(&mut clean.id);
        self.in_option(&mut clean.model);
        self.in_parts(&mut clean.content);
        clean.extra = self.object(&clean.extra);
        clean
    }

    fn in_parts(&self, parts: &mut [Part]) {
        for part in parts {
            part.extra = self.object(&part.extra);
            match &mut part.kind {
                PartKind::Text(text) => self.in_text(text),
                PartKind::Image(media) | PartKind::Document(media) => {
                    self.in_option(&mut media.name);
                    match &mut media.source {
                        MediaSource::Base64 { data: text, .. }
                        | MediaSource::Url(text)
                        | MediaSource::File(text)
                        | MediaSource::Text(text) => {
                            self.in_text(text);
                        }
                    }
                }
                PartKind::ToolUse(call) => {
                    self.in_text(&mut call.name);
                    self.in_text(&mut call.arguments);
                }
                PartKind::ToolResult(result) => self.in_parts(&mut result.content),
                PartKind::Thinking(thinking) => self.in_text(&mut thinking.text),
                PartKind::Other(value) => *value = self.value(value),
            }
        }
    }

    fn in_text(&self, text: &mut String) {
        *text = self.text(text);
    }

    fn in_option(&self, text: &mut Option<String>) {
        if let Some(text) = text {
            self.in_text(text);
        }
    }
}
