//! The nodes that can be added, each as it is when it is new.

use stave_canon::{Object, Value};
use stave_flow::edit::blank_node;
use stave_flow::schema;
use stave_operations::{Blank, Descriptor, Effects, Form, STEP_KINDS};

use crate::api::{Palette, PaletteGroup, PaletteItem};

pub(super) fn palette() -> Palette {
    let items = STEP_KINDS.iter().filter_map(|kind| Some(item(kind, &kind.blank?)));
    Palette { items: items.collect() }
}

fn item(kind: &Descriptor, blank: &Blank) -> PaletteItem {
    let is_operation = kind.form == Form::Operation;
    let id = match kind.form {
        Form::Prompt => "prompt".to_owned(),
        Form::Code => "code".to_owned(),
        Form::Operation | Form::Workflow | Form::Boundary => format!("op:{}", kind.name),
    };
    let arguments = is_operation.then(|| schema::operation(kind));
    PaletteItem {
        id,
        group: PaletteGroup::of(blank.group),
        title: blank.title.to_owned(),
        summary: kind.summary.to_owned(),
        op: is_operation.then(|| kind.name.to_owned()).into(),
        effects: kind.effects == Effects::Writes,
        arguments: arguments.and_then(members).unwrap_or_default(),
        id_hint: blank.id.to_owned(),
        node: members(blank_node(blank)).unwrap_or_default(),
    }
}

fn members(value: Value) -> Option<Object> {
    match value {
        Value::Object(members) => Some(members),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stave_flow::CheckOptions;
    use stave_flow::edit::{EditRequest, FlowEdit, apply};
    use stave_operations::operations;

    const FLOW: &str = r#"version: "1.0"
metadata: {name: f}
context: {requires: [q]}
nodes:
  step:
    type: transform
    inputs: [{name: q, type: string}]
    outputs: [{name: r, type: string}]
    transform: {mode: code, spec: "def transform(inputs, context, state):\n    return {'r': ''}\n"}
edges:
  - {from: _input.q, to: step.q}
  - {from: step.r, to: _output}
"#;

    #[test]
    fn a_new_node_lacks_nothing_but_edges() {
        let items = palette().items;
        assert_eq!(items.len(), operations().count() + 2);
        for item in items {
            let id = format!("{}_new", item.id_hint);
            let node = Value::Object(item.node);
            let add = FlowEdit::AddNode { id, node, after: None };
            let request = EditRequest { allow_errors: true, ..EditRequest::new(vec![add]) };
            let edited = apply(FLOW, &request, &CheckOptions::default()).unwrap();
            let errors: Vec<&str> = edited
                .diagnostics
                .iter()
                .filter(|found| found.is_error())
                .map(|found| found.code.0)
                .collect();
            // What a loop runs cannot be known before somebody says so.
            let is_loop = item.id == "op:transform.each";
            let is_open = |code: &&str| *code == "unconnected-input" || is_loop && *code == "tool-parameter";
            assert!(errors.iter().all(is_open), "{}: {errors:?}\n{:?}", item.id, edited.diagnostics);
        }
    }
}
