//! A policy as the data that is baked into a document. The keys and their order are the reference's.

use stave_canon::{Object, Value};

use super::policy::{ChooseOption, Statement, WdlPolicy};
use super::tree::{WdlLocation, WdlNode};

/// The payload of `constants.policy` for a policy called `id` that was read from `source_file`.
#[must_use]
pub fn bake(policy: &WdlPolicy, id: &str, source_file: &str) -> Object {
    let mut arms = Object::new();
    for arm in &policy.arms {
        let fields = arm.fields.iter().map(|field| (field.name.clone(), raw(&field.value)));
        arms.insert(arm.name.clone(), Value::Object(fields.collect()));
    }
    let emit: Object = policy.emit.iter().map(|field| (field.name.clone(), raw(&field.value))).collect();
    let evaluate = policy.evaluate.iter().map(|statement| bake_statement(statement, source_file));
    let epsilon = policy.epsilon.as_ref().map_or(Value::Null, |epsilon| epsilon.text.as_str().into());
    let params = Value::from_iter([
        ("arms", Value::Object(arms)),
        ("epsilon", epsilon),
        ("evaluate", Value::Array(evaluate.collect())),
        ("emit", Value::Object(emit)),
    ]);
    let dsl = Value::from_iter([("version", policy.version.as_str()), ("source", source_file)]);
    let policy = Value::from_iter([
        ("id", Value::from(id)),
        ("strategy", policy.version.as_str().into()),
        ("params", params),
        ("metadata", Value::from_iter([("dsl", dsl)])),
    ]);
    [("policy".to_owned(), policy)].into_iter().collect()
}

fn bake_statement(statement: &Statement, file: &str) -> Value {
    let mut object = Object::new();
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    let place = match statement {
        Statement::Assignment(assignment) => {
            put("type", "assignment".into());
            put("target", assignment.target.as_str().into());
            put("operator", assignment.operator.into());
            put("expression", assignment.expression.text.as_str().into());
            if let Some(label) = &assignment.label {
                put("id", label.as_str().into());
            }
            assignment.place
        }
        Statement::If(conditional) => {
            let block = |statements: &[Statement]| -> Value {
                Value::Array(statements.iter().map(|statement| bake_statement(statement, file)).collect())
            };
            put("type", "if".into());
            put("condition", conditional.condition.text.as_str().into());
            put("then", block(&conditional.then));
            put(
                "else",
                if conditional.otherwise.is_empty() { Value::Null } else { block(&conditional.otherwise) },
            );
            conditional.place
        }
        Statement::Choose(choose) => {
            put("type", "choose".into());
            put(
                "options",
                Value::Array(choose.options.iter().map(|option| bake_option(option, file)).collect()),
            );
            choose.place
        }
    };
    add_place(&mut object, place, file);
    Value::Object(object)
}

fn bake_option(option: &ChooseOption, file: &str) -> Value {
    let mut object = Object::new();
    object.insert("name".into(), option.name.as_str().into());
    object.insert("expression".into(), option.expression.text.as_str().into());
    let probability =
        option.probability.as_ref().map_or(Value::Null, |probability| probability.text.as_str().into());
    object.insert("probability".into(), probability);
    add_place(&mut object, option.place, file);
    Value::Object(object)
}

fn add_place(object: &mut Object, place: WdlLocation, file: &str) {
    object.insert("line".into(), place.line.into());
    object.insert("column".into(), place.column.into());
    object.insert("filename".into(), file.into());
}

/// A tree as JSON: texts stay texts, and of two equal keys the last one wins.
pub(super) fn raw(node: &WdlNode) -> Value {
    match node {
        WdlNode::Scalar(scalar) => scalar.text.as_str().into(),
        WdlNode::Mapping(mapping) => {
            let entries =
                mapping.entries.iter().filter_map(|entry| Some((entry.key.clone()?, raw(&entry.value))));
            Value::Object(entries.collect())
        }
        WdlNode::List(list) => Value::Array(list.items.iter().map(raw).collect()),
    }
}
