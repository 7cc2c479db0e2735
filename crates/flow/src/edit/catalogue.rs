//! The commands as a table, from which their JSON Schema, the tools offered to a model and the
//! documentation are made.
//!
//! Invariant, kept by a test: a field is required here exactly when reading a command without it fails.

use stave_canon::{Object, Value};

/// One command of the set.
#[derive(Debug, Clone, Copy)]
pub struct CommandShape {
    pub name: &'static str,
    pub summary: &'static str,
    pub fields: &'static [CommandField],
    /// Whether a model may use it.
    pub offered: bool,
}

/// One field of a command.
#[derive(Debug, Clone, Copy)]
pub struct CommandField {
    pub name: &'static str,
    pub kind: FieldKind,
    pub required: bool,
    pub summary: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    Text,
    Boolean,
    Number,
    /// A whole number from 0 on.
    Count,
    Direction,
    Object,
    Any,
}

const fn required(name: &'static str, kind: FieldKind, summary: &'static str) -> CommandField {
    CommandField { name, kind, required: true, summary }
}

const fn optional(name: &'static str, kind: FieldKind, summary: &'static str) -> CommandField {
    CommandField { name, kind, required: false, summary }
}

const fn command(name: &'static str, summary: &'static str, fields: &'static [CommandField]) -> CommandShape {
    CommandShape { name, summary, fields, offered: true }
}

use FieldKind::{Any, Boolean, Count, Direction, Number, Text};

const NODE: CommandField = required("node", Text, "the node's id");
const DIRECTION: CommandField = required("direction", Direction, "the side of the node");

/// Every command.
pub static COMMANDS: &[CommandShape] = &[
    command(
        "add_node",
        "adds a node",
        &[
            required("id", Text, "its id, lower case letters, digits and `_`"),
            required("node", FieldKind::Object, "its fields as in the flow file, without `id`"),
            optional("after", Text, "the node behind which it is written; the last one when absent"),
        ],
    ),
    command(
        "remove_node",
        "removes a node, its edges and the tools that lead to it",
        &[required("id", Text, "its id")],
    ),
    command(
        "rename_node",
        "renames a node wherever it is named",
        &[required("from", Text, "its id"), required("to", Text, "its id from then on")],
    ),
    command(
        "connect",
        "adds an edge",
        &[
            required("from", Text, "`node.port`, or `_input.field`"),
            required("to", Text, "`node.port`, or `_output`"),
            optional("condition", Text, "a Python expression over `value` that decides whether it is active"),
            optional(
                "else",
                Boolean,
                "whether it is active when no edge with a condition from the same port is",
            ),
            optional("transform", Text, "a Python expression over `value` whose result travels instead"),
        ],
    ),
    command(
        "disconnect",
        "removes an edge",
        &[required("from", Text, "its beginning"), required("to", Text, "its end")],
    ),
    command(
        "set",
        "sets any field, making the mappings on the way",
        &[
            required("path", Text, "a JSON Pointer; items of lists by index or name, `-` appends"),
            required("value", Any, "the value"),
        ],
    ),
    command("unset", "removes any field", &[required("path", Text, "a JSON Pointer")]),
    command(
        "add_port",
        "adds a port to a node",
        &[NODE, DIRECTION, required("port", FieldKind::Object, "its fields: `name`, `type` and others")],
    ),
    command(
        "remove_port",
        "removes a port and the edges at it",
        &[NODE, DIRECTION, required("name", Text, "the port's name")],
    ),
    command(
        "rename_port",
        "renames a port in edges, templates, code and placeholders",
        &[
            NODE,
            DIRECTION,
            required("from", Text, "the port's name"),
            required("to", Text, "its name from then on"),
        ],
    ),
    command(
        "add_context",
        "declares a field of the request",
        &[
            required("field", Text, "its name"),
            optional("optional", Boolean, "whether a request may lack it"),
        ],
    ),
    command("remove_context", "removes a field of the request", &[required("field", Text, "its name")]),
    command(
        "rename_context",
        "renames a field of the request wherever it is read",
        &[required("from", Text, "its name"), required("to", Text, "its name from then on")],
    ),
    command(
        "set_prompt",
        "changes what a model is asked; fields that are absent stay",
        &[
            NODE,
            optional("system", Text, "the whole system text"),
            optional("append_to_system", Text, "a sentence to add to the system text"),
            optional("template", Text, "the whole Jinja template"),
            optional("model", FieldKind::Object, "`provider`, `name` and perhaps `endpoint`"),
            optional("temperature", Number, "the temperature"),
            optional("max_tokens", Count, "the longest answer"),
            optional("output_schema", FieldKind::Object, "the JSON Schema of the answer"),
        ],
    ),
    command(
        "add_tool",
        "lets a model call something",
        &[
            NODE,
            required(
                "tool",
                FieldKind::Object,
                "`name`, `description`, `parameters`, and `maps_to` or `mcp`",
            ),
        ],
    ),
    command("remove_tool", "takes a tool away", &[NODE, required("name", Text, "the tool's name")]),
    command(
        "add_error_handling",
        "gives a node an error port and a node that answers when it fails",
        &[
            NODE,
            optional("port", Text, "the error port's name; `<node>_error` when absent"),
            optional("handler", Text, "the id of the node that answers; `<node>_fallback` when absent"),
        ],
    ),
    command(
        "add_caching",
        "keeps a node's results for later runs",
        &[
            NODE,
            optional("ttl_seconds", Count, "how long; 3600 when absent"),
            optional("key", Text, "what tells results apart, as `{name}` over inputs and context"),
        ],
    ),
    command(
        "set_position",
        "moves a node on the canvas",
        &[NODE, required("x", Number, "from the left"), required("y", Number, "from the top")],
    ),
    CommandShape {
        name: "replace_text",
        summary: "replaces bytes of the file; inverses are made of it",
        fields: &[
            required("at", Count, "the byte offset"),
            required("remove", Text, "the text that must be there"),
            required("insert", Text, "the text to put there"),
        ],
        offered: false,
    },
];

/// The JSON Schema of a command's fields, without `op`.
#[must_use]
pub fn command_schema(shape: &CommandShape) -> Value {
    let mut properties = Object::new();
    for field in shape.fields {
        properties.insert(field.name.to_owned(), field.schema());
    }
    object(properties, shape.fields.iter().filter(|field| field.required).map(|field| field.name))
}

/// The JSON Schema, draft 7, of an edit request.
#[must_use]
pub fn request_schema() -> Value {
    let commands = COMMANDS.iter().map(|shape| {
        let mut properties = Object::new();
        properties.insert("op".to_owned(), Value::from_iter([("const", shape.name)]));
        for field in shape.fields {
            properties.insert(field.name.to_owned(), field.schema());
        }
        let names = shape.fields.iter().filter(|field| field.required).map(|field| field.name);
        let mut schema = object(properties, std::iter::once("op").chain(names));
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("description".to_owned(), Value::from(shape.summary));
        }
        schema
    });
    let items = Value::from_iter([("oneOf", Value::Array(commands.collect()))]);
    let list = Value::from_iter([("type", Value::from("array")), ("items", items)]);
    let text = |summary: &str| Value::from_iter([("type", "string"), ("description", summary)]);
    let allow = Value::from_iter([
        ("type", "boolean"),
        ("description", "whether the result may have more errors than the flow had"),
    ]);
    let properties = Object::from_iter([
        ("base_hash".to_owned(), text("the semantic hash of the flow that the commands were made for")),
        ("allow_errors".to_owned(), allow),
        ("commands".to_owned(), list),
    ]);
    let mut schema = Object::from_iter([
        ("$schema".to_owned(), Value::from("http://json-schema.org/draft-07/schema#")),
        ("title".to_owned(), Value::from("Stave edit request")),
    ]);
    if let Value::Object(fields) = object(properties, ["commands"].into_iter()) {
        schema.extend(fields);
    }
    Value::Object(schema)
}

fn object(properties: Object, required: impl Iterator<Item = &'static str>) -> Value {
    Value::from_iter([
        ("type", Value::from("object")),
        ("properties", Value::Object(properties)),
        ("required", Value::Array(required.map(Value::from).collect())),
        ("additionalProperties", Value::Bool(false)),
    ])
}

impl CommandField {
    fn schema(&self) -> Value {
        let mut schema = Object::new();
        let word = match self.kind {
            Text | Direction => Some("string"),
            Boolean => Some("boolean"),
            Number => Some("number"),
            Count => Some("integer"),
            FieldKind::Object => Some("object"),
            Any => None,
        };
        schema.extend(word.map(|word| ("type".to_owned(), Value::from(word))));
        if self.kind == Direction {
            let words = ["input", "output", "error"].map(Value::from);
            schema.insert("enum".to_owned(), Value::Array(words.to_vec()));
        }
        if self.kind == Count {
            schema.insert("minimum".to_owned(), Value::from(0_u64));
        }
        schema.insert("description".to_owned(), Value::from(self.summary));
        Value::Object(schema)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::FlowEdit;

    fn sample(shape: &CommandShape, left_out: Option<&str>) -> Value {
        let fields = shape.fields.iter().filter(|field| Some(field.name) != left_out).map(|field| {
            let value = match field.kind {
                Text => Value::from("x"),
                Direction => Value::from("input"),
                Boolean => Value::Bool(true),
                Number | Count => Value::from(1_u64),
                FieldKind::Object => Value::Object(Object::new()),
                Any => Value::from("y"),
            };
            (field.name, value)
        });
        Value::from_iter(std::iter::once(("op", Value::from(shape.name))).chain(fields))
    }

    #[test]
    fn the_table_and_the_types_agree() {
        for shape in COMMANDS {
            let whole = sample(shape, None);
            let command = FlowEdit::from_value(&whole).unwrap();
            assert_eq!(command.to_value(), whole, "{}", shape.name);
            for field in shape.fields {
                let read = FlowEdit::from_value(&sample(shape, Some(field.name)));
                assert_eq!(read.is_err(), field.required, "{} without {}: {read:?}", shape.name, field.name);
            }
            let mut more = whole.clone();
            more.as_object_mut().unwrap().insert("surplus".to_owned(), Value::Null);
            assert!(FlowEdit::from_value(&more).is_err(), "{} with a field too many", shape.name);
        }
    }

    #[test]
    fn the_schema_is_one_and_accepts_every_command() {
        let schema = jsonschema::validator_for(&request_schema().to_serde()).unwrap();
        for shape in COMMANDS {
            let request = Value::from_iter([("commands", Value::Array(vec![sample(shape, None)]))]);
            assert!(schema.is_valid(&request.to_serde()), "{}", shape.name);
        }
    }
}
