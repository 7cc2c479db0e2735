//! The JSON Schema of a document, put together from the schemas of its types.

use stave_canon::{Object, Value};

use crate::limits::nullable;
use crate::{FieldLimits, Null, Shape};

/// The named types of a schema.
#[derive(Debug, Default)]
pub struct Definitions {
    types: Object,
}

/// What a schema says about a field besides its type.
#[derive(Debug, Default)]
pub struct Described {
    pub description: &'static str,
    pub default: Option<Value>,
}

impl Definitions {
    /// A reference to the type `name`, which is described when it is met first. A type may contain itself.
    pub fn named(&mut self, name: &str, describe: impl FnOnce(&mut Definitions) -> Value) -> Value {
        if !self.types.contains_key(name) {
            self.types.insert(name.to_owned(), Value::Null);
            let schema = describe(self);
            self.types.insert(name.to_owned(), schema);
        }
        Value::from_iter([("$ref", format!("#/$defs/{name}"))])
    }

    /// The types that were met, by name.
    #[must_use]
    pub fn into_types(mut self) -> Object {
        self.types.sort_keys();
        self.types
    }
}

/// The schema of a whole document: the type's own at the top, the others below it.
#[must_use]
pub fn document<T: Shape>(id: &str, title: &str) -> Value {
    let mut definitions = Definitions::default();
    let root = T::schema(&mut definitions);
    let root_name =
        root.get("$ref").and_then(Value::as_str).and_then(|reference| reference.rsplit('/').next());
    let own = root_name.and_then(|name| definitions.types.shift_remove(name)).unwrap_or(root);
    let mut schema = Object::new();
    schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("$id".to_owned(), id.into());
    schema.insert("title".to_owned(), title.into());
    if let Value::Object(own) = own {
        schema.extend(own);
    }
    let types = definitions.into_types();
    if !types.is_empty() {
        schema.insert("$defs".to_owned(), Value::Object(types));
    }
    Value::Object(schema)
}

/// The schema of an object, put together field by field; what the derive calls.
#[derive(Debug)]
pub struct ObjectSchema {
    description: &'static str,
    properties: Object,
    required: Vec<Value>,
    closed: bool,
}

impl ObjectSchema {
    #[must_use]
    pub fn new(description: &'static str, closed: bool) -> Self {
        ObjectSchema { description, properties: Object::new(), required: Vec::new(), closed }
    }

    /// Adds a field.
    pub fn field(
        &mut self,
        key: &str,
        schema: Value,
        limits: &FieldLimits,
        null: Null,
        described: Described,
    ) {
        let schema = limits.describe(schema);
        let schema = if null == Null::IsAbsent { nullable(schema) } else { schema };
        let mut field = Object::new();
        if !described.description.is_empty() {
            field.insert("description".to_owned(), described.description.into());
        }
        if let Value::Object(schema) = schema {
            field.extend(schema);
        }
        // An object's own fields have their defaults.
        if let Some(default) = described.default.filter(|default| default.as_object().is_none()) {
            field.insert("default".to_owned(), default);
        }
        self.properties.insert(key.to_owned(), Value::Object(field));
    }

    /// Adds a key with one value: the tag of a variant, or the mark of a document.
    pub fn constant(&mut self, key: &str, value: impl Into<Value>) {
        self.properties.insert(key.to_owned(), Value::from_iter([("const", value.into())]));
        self.require(key);
    }

    pub fn require(&mut self, key: &str) {
        self.required.push(key.into());
    }

    #[must_use]
    pub fn finish(self) -> Value {
        let mut schema = Object::new();
        if !self.description.is_empty() {
            schema.insert("description".to_owned(), self.description.into());
        }
        schema.insert("type".to_owned(), "object".into());
        if !self.required.is_empty() {
            schema.insert("required".to_owned(), Value::Array(self.required));
        }
        schema.insert("properties".to_owned(), Value::Object(self.properties));
        if self.closed {
            schema.insert("additionalProperties".to_owned(), false.into());
        }
        Value::Object(schema)
    }
}

/// The schema of a variant that holds a type of its own, which has the tag among its keys.
#[must_use]
pub fn variant_schema(schema: Value, key: &str, words: &[&str]) -> Value {
    let word = match words {
        [one] => Value::from_iter([("const", *one)]),
        several => Value::from_iter([("enum", several.to_vec())]),
    };
    let properties = Value::from_iter([(key, word)]);
    match schema {
        Value::Object(mut schema) => {
            schema.insert("properties".to_owned(), properties);
            Value::Object(schema)
        }
        other => other,
    }
}

/// The schema of an enum of words.
#[must_use]
pub fn words_schema(description: &str, words: &[&str]) -> Value {
    let mut schema = Object::new();
    if !description.is_empty() {
        schema.insert("description".to_owned(), description.into());
    }
    schema.insert("type".to_owned(), "string".into());
    schema.insert("enum".to_owned(), words.to_vec().into());
    Value::Object(schema)
}

/// The schema of an enum whose variants are told apart by a tag.
#[must_use]
pub fn tagged_schema(description: &str, variants: Vec<Value>) -> Value {
    let mut schema = Object::new();
    if !description.is_empty() {
        schema.insert("description".to_owned(), description.into());
    }
    schema.insert("oneOf".to_owned(), Value::Array(variants));
    Value::Object(schema)
}
