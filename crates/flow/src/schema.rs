//! JSON Schemas for editors: of the whole format, and of the arguments of each operation.
//!
//! They say what the shape of a text must be. What needs more than one field is left to `check`, so a text
//! that they accept may still have mistakes, and a text without mistakes is always accepted.

use stave_canon::{Object, Value};
use stave_operations::{Descriptor, arguments_schema, operations};

use crate::shape::{FLOW, FormatField, FormatShape, Holds};

const DRAFT: &str = "http://json-schema.org/draft-07/schema#";
const NAME_PATTERN: &str = "^[a-z][a-z0-9_]*$";

/// The schema of a flow, draft 7, with one definition for each structure and each operation.
#[must_use]
pub fn flow() -> Value {
    let mut definitions = Object::new();
    define(&FLOW, &mut definitions);
    for operation in operations() {
        definitions.insert(operation_name(operation), arguments_schema(operation));
    }
    let root = definitions.shift_remove(FLOW.name).unwrap_or_default();
    let mut schema = Object::from_iter([
        ("$schema".to_owned(), Value::from(DRAFT)),
        ("title".to_owned(), Value::from("Stave flow")),
    ]);
    if let Value::Object(root) = root {
        schema.extend(root);
    }
    schema.insert("definitions".into(), definitions.into());
    schema.into()
}

/// The schema of an operation's `args`, or of the arguments of a workflow's step, draft 7, on its own.
#[must_use]
pub fn operation(operation: &Descriptor) -> Value {
    let mut schema = Object::from_iter([
        ("$schema".to_owned(), Value::from(DRAFT)),
        ("title".to_owned(), Value::from(operation.name)),
    ]);
    if let Value::Object(arguments) = arguments_schema(operation) {
        schema.extend(arguments);
    }
    schema.into()
}

fn operation_name(operation: &Descriptor) -> String {
    format!("args_of_{}", operation.name.replace('.', "_"))
}

/// Adds the definition of a structure and of those it holds.
fn define(shape: &'static FormatShape, definitions: &mut Object) {
    if definitions.contains_key(shape.name) {
        return;
    }
    definitions.insert(shape.name.to_owned(), Value::Null);
    let mut properties = Object::new();
    for field in shape.fields {
        properties.insert(field.name.to_owned(), property(field, definitions));
    }
    let required = shape.fields.iter().filter(|field| field.required).map(|field| field.name.to_owned());
    let mut schema = object([
        ("description", Value::from(shape.summary)),
        ("type", "object".into()),
        ("properties", properties.into()),
        ("required", texts(required)),
    ]);
    if let (Some(object), true) = (schema.as_object_mut(), shape.name == "operation") {
        object.insert("allOf".into(), Value::Array(operations().map(arguments_of).collect()));
    }
    if let (Some(object), true) = (schema.as_object_mut(), shape.name == "node") {
        let needs = |field: &str| object_with("required", texts([field.to_owned()]));
        object.insert("anyOf".into(), Value::Array(vec![needs("transform"), needs("prompt")]));
    }
    definitions.insert(shape.name.to_owned(), schema);
}

/// "When `op` is this operation, `args` are its arguments."
fn arguments_of(operation: &Descriptor) -> Value {
    let is_op = object_with("properties", object_with("op", object_with("const", operation.name.into())));
    let has_args = object_with("properties", object_with("args", reference(&operation_name(operation))));
    object([("if", is_op), ("then", has_args)])
}

fn property(field: &FormatField, definitions: &mut Object) -> Value {
    let mut schema = holds(field.holds, definitions);
    // A keyword beside `$ref` has no meaning in draft 7, so a reference is wrapped.
    if schema.get("$ref").is_some() {
        schema = object_with("allOf", Value::Array(vec![schema]));
    }
    if let Some(object) = schema.as_object_mut() {
        object.insert("description".into(), field.summary.into());
    }
    if field.required { schema } else { or_null(schema) }
}

/// An optional field that is null is absent.
fn or_null(schema: Value) -> Value {
    let description = schema.get("description").cloned().unwrap_or_default();
    object([
        ("description", description),
        ("anyOf", Value::Array(vec![schema, object_with("type", "null".into())])),
    ])
}

fn holds(holds: Holds, definitions: &mut Object) -> Value {
    let typed = |word: &str| object_with("type", word.into());
    match holds {
        Holds::Text => typed("string"),
        // A number is read too, with a warning.
        Holds::Version => object_with(
            "anyOf",
            Value::Array(vec![
                object([("type", Value::from("string")), ("pattern", r"^[0-9]+(\.[0-9]+)?$".into())]),
                typed("number"),
            ]),
        ),
        Holds::Name => object([("type", Value::from("string")), ("pattern", NAME_PATTERN.into())]),
        Holds::Timestamp => object([("type", Value::from("string")), ("format", "date-time".into())]),
        Holds::Boolean => typed("boolean"),
        Holds::Number => typed("number"),
        Holds::Positive => object([("type", Value::from("number")), ("exclusiveMinimum", 0.into())]),
        Holds::Count(least) => object([("type", Value::from("integer")), ("minimum", least.into())]),
        Holds::TextList => object([("type", Value::from("array")), ("items", typed("string"))]),
        Holds::NameList => {
            let name = self::holds(Holds::Name, definitions);
            object([("type", Value::from("array")), ("items", name)])
        }
        Holds::Word(words) if words == stave_vocabulary::Provider::WORDS => {
            // A project may configure others.
            object([("type", Value::from("string")), ("examples", word_list(words))])
        }
        Holds::Word(words) => object_with("enum", word_list(words)),
        Holds::Words(words) => {
            let one = object_with("enum", word_list(words));
            let list =
                object([("type", Value::from("array")), ("items", one.clone()), ("minItems", 1_u64.into())]);
            object_with("anyOf", Value::Array(vec![one, list]))
        }
        Holds::WordMap(words) => object([
            ("type", Value::from("object")),
            ("additionalProperties", object_with("enum", word_list(words))),
        ]),
        Holds::One(shape) => {
            define(shape, definitions);
            reference(shape.name)
        }
        Holds::List(shape) => {
            define(shape, definitions);
            object([("type", Value::from("array")), ("items", reference(shape.name))])
        }
        Holds::Map(shape) => {
            define(shape, definitions);
            object([
                ("type", Value::from("object")),
                ("propertyNames", object_with("pattern", NAME_PATTERN.into())),
                ("additionalProperties", reference(shape.name)),
            ])
        }
        Holds::Implementation(shape) => {
            define(shape, definitions);
            object_with("anyOf", Value::Array(vec![typed("string"), reference(shape.name)]))
        }
        Holds::JsonSchema => {
            object_with("anyOf", Value::Array(vec![object_with("$ref", DRAFT.into()), typed("boolean")]))
        }
        Holds::Arguments | Holds::FreeMap => typed("object"),
        Holds::Any => object([]),
        Holds::AnyList => typed("array"),
    }
}

fn reference(name: &str) -> Value {
    object_with("$ref", format!("#/definitions/{name}").into())
}

fn object<const COUNT: usize>(members: [(&str, Value); COUNT]) -> Value {
    Value::from_iter(members)
}

fn object_with(key: &str, value: Value) -> Value {
    object([(key, value)])
}

fn word_list(words: &[&str]) -> Value {
    texts(words.iter().map(|word| (*word).to_owned()))
}

fn texts(words: impl IntoIterator<Item = String>) -> Value {
    Value::Array(words.into_iter().map(Value::from).collect())
}
