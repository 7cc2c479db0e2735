//! Descriptors as JSON: the schema of an operation's arguments, and all that is known about it.

use stave_canon::{Object, Value};

use crate::{Argument, ArgumentKind, Descriptor, Form, Receiver, Repeat, ResultShape, SecretUse};

/// The pattern of a workflow's reference to an input or to the result of a step.
const REFERENCE: &str = r"^\s*\$(input|step|\.inputs|\.vars)(\.[^.]+)*\s*$";

/// The JSON Schema of the arguments, draft 7, without `$schema` and title.
#[must_use]
pub fn arguments_schema(descriptor: &Descriptor) -> Value {
    // A workflow's step is given its arguments as they are written, so a `${…}` stands for nothing there.
    let is_workflow = descriptor.form == Form::Workflow;
    let mut properties = Object::new();
    for argument in descriptor.arguments {
        let mut schema = kind(argument.kind);
        if let Some(object) = schema.as_object_mut() {
            object.insert("description".into(), argument.summary.into());
        }
        properties.insert(argument.name.to_owned(), schema);
    }
    let required = descriptor.arguments.iter().filter(|argument| argument.required);
    let mut schema = object([
        ("description", Value::from(descriptor.summary)),
        ("type", "object".into()),
        ("properties", properties.into()),
        ("required", texts(required.map(|argument| argument.name))),
    ]);
    let groups = descriptor.one_of.iter().map(|group| {
        let each = group.iter().map(|name| object([("required", texts([*name]))]));
        any_of(each.collect())
    });
    let groups: Vec<Value> = groups.collect();
    if let Some(object) = schema.as_object_mut() {
        if !groups.is_empty() {
            object.insert("allOf".into(), Value::Array(groups));
        }
        if is_workflow && !descriptor.open {
            object.insert("additionalProperties".into(), false.into());
        }
    }
    schema
}

fn kind(kind: ArgumentKind) -> Value {
    let typed = |word: &str| object([("type", word.into())]);
    let scalar = || object([("type", texts(["string", "number", "boolean"]))]);
    let status = || {
        object([("type", Value::from("integer")), ("minimum", 100_u64.into()), ("maximum", 599_u64.into())])
    };
    let list = |items: Value| object([("type", Value::from("array")), ("items", items)]);
    let map = |values: Value| object([("type", Value::from("object")), ("additionalProperties", values)]);
    let pattern = |pattern: &str| object([("type", Value::from("string")), ("pattern", pattern.into())]);
    let placeholder = || pattern(r"^\$\{.*\}$");
    match kind {
        ArgumentKind::Text | ArgumentKind::Url | ArgumentKind::Node | ArgumentKind::Expression(_) => {
            typed("string")
        }
        ArgumentKind::TextOrInteger => object([("type", texts(["string", "integer"]))]),
        ArgumentKind::Key => any_of(vec![scalar(), map(scalar())]),
        ArgumentKind::Map => any_of(vec![typed("object"), placeholder()]),
        ArgumentKind::Headers => any_of(vec![map(scalar()), placeholder()]),
        ArgumentKind::TextList => any_of(vec![list(typed("string")), placeholder()]),
        ArgumentKind::Count => {
            any_of(vec![object([("type", Value::from("integer")), ("minimum", 1_u64.into())]), placeholder()])
        }
        ArgumentKind::Number => typed("number"),
        ArgumentKind::Statuses => any_of(vec![status(), list(status()), placeholder()]),
        ArgumentKind::List => any_of(vec![typed("array"), placeholder()]),
        ArgumentKind::Any => object([]),
        ArgumentKind::Reference => pattern(REFERENCE),
        ArgumentKind::TextMap => map(typed("string")),
    }
}

/// Everything that is known about an operation, for programs.
#[must_use]
pub fn to_value(descriptor: &Descriptor) -> Value {
    object([
        ("name", Value::from(descriptor.name)),
        ("form", form(descriptor.form).into()),
        ("summary", descriptor.summary.into()),
        ("details", descriptor.details.into()),
        ("arguments", descriptor.arguments.iter().map(argument).collect::<Vec<Value>>().into()),
        (
            "one_of",
            descriptor.one_of.iter().map(|group| texts(group.iter().copied())).collect::<Vec<_>>().into(),
        ),
        ("open", descriptor.open.into()),
        ("result", result(descriptor.result)),
        ("effects", descriptor.effects.word().into()),
        ("network", descriptor.network.into()),
        ("retry", retry(descriptor.repeat).into()),
        ("cache", descriptor.is_cacheable().into()),
        ("receiver", receiver(descriptor.receiver)),
        ("feature", descriptor.feature.map(|feature| feature.name).into()),
        ("group", descriptor.blank.map(|blank| blank.group.word()).into()),
        ("title", descriptor.blank.map(|blank| blank.title).into()),
        ("example", descriptor.blank.map(|blank| blank.node).into()),
        ("schema", arguments_schema(descriptor)),
    ])
}

fn argument(argument: &Argument) -> Value {
    let secrets = match argument.secrets {
        SecretUse::Refused => "refused",
        SecretUse::Allowed => "allowed",
        SecretUse::NotInFlows => "not in flows",
    };
    object([
        ("name", Value::from(argument.name)),
        ("type", argument.kind.words().into()),
        ("required", argument.required.into()),
        ("default", argument.default.into()),
        ("secrets", secrets.into()),
        ("summary", argument.summary.into()),
    ])
}

fn form(form: Form) -> &'static str {
    match form {
        Form::Operation => "operation",
        Form::Prompt => "prompt",
        Form::Code => "code",
        Form::Workflow => "workflow",
        Form::Boundary => "boundary",
    }
}

fn retry(repeat: Repeat) -> &'static str {
    match repeat {
        Repeat::Safe => "safe",
        Repeat::SafeWith { .. } => "safe with a key",
        Repeat::Unsafe { .. } => "unsafe",
        Repeat::ByPart => "by part",
    }
}

fn result(shape: ResultShape) -> Value {
    let ports = |names: &[&'static str]| ("ports", texts(names.iter().copied()));
    match shape {
        ResultShape::Any => object([("shape", "any".into())]),
        ResultShape::List => object([("shape", "list".into())]),
        ResultShape::Object => object([("shape", "object".into())]),
        ResultShape::Filled(name) => object([("shape", "argument".into()), ("argument", name.into())]),
        ResultShape::Inputs => object([("shape", "inputs".into())]),
        ResultShape::Ports(names) => object([("shape", "ports".into()), ports(names)]),
        ResultShape::ValueOrPorts(names) => object([("shape", "value or ports".into()), ports(names)]),
    }
}

fn receiver(receiver: Receiver) -> Value {
    let of = |kind: &'static str, names: Vec<&'static str>| {
        object([("kind", Value::from(kind)), ("arguments", texts(names))])
    };
    match receiver {
        Receiver::Nobody => Value::Null,
        Receiver::Host { address } => of("host", vec![address]),
        Receiver::Tool { server, tool } => of("tool", vec![server, tool]),
        Receiver::FeatureStore { entries } => {
            of("feature store", entries.iter().map(|entry| entry.argument).collect())
        }
        Receiver::Model => of("model", Vec::new()),
    }
}

fn any_of(schemas: Vec<Value>) -> Value {
    object([("anyOf", Value::Array(schemas))])
}

fn object<const COUNT: usize>(members: [(&str, Value); COUNT]) -> Value {
    Value::from_iter(members)
}

fn texts<'w>(words: impl IntoIterator<Item = &'w str>) -> Value {
    Value::Array(words.into_iter().map(Value::from).collect())
}
