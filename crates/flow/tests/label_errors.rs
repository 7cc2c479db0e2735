//! The words of failures are as sensitive as everything that the failing node was given, read or not.

#![expect(clippy::unwrap_used, reason = "tests stop where something is not as it should be")]

use stave_diag::{Diagnostic, Sources};
use stave_flow::model::Sensitivity;
use stave_flow::{CheckOptions, Levels, Scopes, levels, load, parse};

const HEAD: &str = "version: \"1.0\"\nmetadata: {name: decl}\ncontext: {requires: [secret, plain]}\nnodes:\n";

const ASK: &str = "  ask:\n    type: transform\n    inputs: [{name: text, type: object}]\n    \
    outputs: [{name: reply, type: string}]\n    prompt:\n      template: \"Say {{ text }}\"\n      \
    model: {provider: openai, name: m}\n";

fn node(id: &str, inputs: &str, outputs: &str, more: &str, result: &str) -> String {
    format!(
        "  {id}:\n    type: transform\n    inputs: {inputs}\n    outputs: {outputs}\n{more}    transform:\n      mode: code\n      \
         spec: |\n        def transform(inputs, context, state):\n            return {result}\n"
    )
}

fn scopes() -> Scopes {
    let mut scopes = Scopes::default();
    scopes.fields.insert("secret".to_owned(), Sensitivity::Restricted);
    scopes.declassify.insert("decl/redact.length".to_owned(), "a number".to_owned());
    scopes
}

fn leaks(text: &str) -> Vec<Diagnostic> {
    let mut sources = Sources::new();
    let source = sources.add("flow.yaml", text);
    let found = load(source, text, &CheckOptions { scopes: scopes(), ..CheckOptions::default() }).diagnostics;
    let errors: Vec<Diagnostic> = found.into_iter().filter(Diagnostic::is_error).collect();
    let rendered = stave_diag::render::short::render(&errors, &sources);
    assert!(errors.iter().all(|error| error.code.0 == "sensitive-data-leak"), "{rendered}");
    errors
}

fn levels_of(text: &str) -> Levels {
    let mut sources = Sources::new();
    let source = sources.add("flow.yaml", text);
    levels(&parse(source, text).flow.unwrap(), &scopes())
}

/// A node that fails with what `input` and `more` add to it, and whose error port leads to a model.
fn failing(input: &str, more: &str, edge: &str) -> String {
    let more = format!("    error: {{name: failed}}\n{more}");
    let quiet = node("quiet", input, "[{name: y, type: string}]", &more, "{'y': 'const'}");
    format!(
        "{HEAD}{quiet}{ASK}edges:\n  - {{{edge}, to: quiet.x}}\n  - {{from: quiet.failed, to: ask.text}}\n  - {{from: \
         ask.reply, to: _output.a}}\n  - {{from: quiet.y, to: _output.b}}\n"
    )
}

#[test]
fn an_input_that_a_node_does_not_read_is_part_of_its_failure() {
    let input = "[{name: x, type: string, schema: {maxLength: 3}}]";
    assert_eq!(leaks(&failing(input, "", "from: _input.secret")).len(), 1);
    assert!(leaks(&failing(input, "", "from: _input.plain")).is_empty());
}

#[test]
fn keys_and_edges_are_part_of_a_failure() {
    let input = "[{name: x, type: string}]";
    let cache = "    runtime: {cache: {ttl_seconds: 60, key: \"k_{context.secret}\"}}\n";
    assert_eq!(leaks(&failing(input, cache, "from: _input.plain")).len(), 1);
    let condition = "from: _input.plain, condition: \"int(context.secret) > 1\"";
    assert_eq!(leaks(&failing(input, "", condition)).len(), 1);
}

/// A tool that computes with the secret, and whose number the project lets out.
fn tool(more: &str) -> String {
    let outputs = "[{name: length, type: number, sensitivity: public}]";
    let inputs = "[{name: s, type: string}, {name: z, type: string}]";
    let redact = node("redact", inputs, outputs, more, "int(inputs['z'])");
    let ask = ASK.replace("type: object", "type: string").replace(
        "      model:",
        "      tools: [{name: redact, description: d, parameters: {type: object, properties: {s: {type: string}}, \
         required: [s]}, maps_to: redact}]\n      model:",
    );
    format!(
        "{HEAD}{redact}{ask}edges:\n  - {{from: _input.secret, to: redact.z}}\n  - {{from: _input.plain, to: ask.text}}\n  - \
         {{from: ask.reply, to: _output}}\n"
    )
}

#[test]
fn consent_to_lower_an_output_is_none_to_lower_the_failure_of_a_tool() {
    assert_eq!(leaks(&tool("")).len(), 1);
    assert_eq!(levels_of(&tool("")).errors.get("redact"), Some(&Sensitivity::Restricted));
    assert_eq!(levels_of(&tool("")).outputs.get("redact"), None);
}

#[test]
fn failures_of_items_are_in_the_errors_of_a_list_and_not_in_its_results() {
    let outputs = "[{name: length, type: number, sensitivity: public}]";
    let redact = node("redact", "[{name: s, type: string}]", outputs, "", "int(inputs['s'])");
    let all = "  all:\n    type: transform\n    inputs: [{name: l, type: array}]\n    outputs: [{name: results, type: array}, \
        {name: errors, type: array}]\n    transform: {mode: declarative, spec: {op: transform.each, args: {input: \"${l}\", \
        node: redact, port: s}}}\n";
    let ask = ASK.replace("type: object", "type: array");
    let flow = format!(
        "{HEAD}{redact}{all}{ask}edges:\n  - {{from: _input.plain, to: all.l, transform: \"[value, context.secret]\"}}\n  - \
         {{from: all.errors, to: ask.text}}\n  - {{from: ask.reply, to: _output}}\n"
    );
    assert_eq!(leaks(&flow).len(), 1);
}

#[test]
fn failures_of_edges_are_charged_to_where_they_begin() {
    let copy =
        node("copy", "[{name: x, type: string}]", "[{name: y, type: string}]", "", "{'y': inputs['x']}");
    let flow = |first: &str, second: &str| {
        format!(
            "{HEAD}{copy}edges:\n  - {{from: _input.plain, to: copy.x{first}}}\n  - {{from: copy.y, to: _output{second}}}\n"
        )
    };
    let reads = |first: &str, second: &str| levels_of(&flow(first, second)).reads;
    assert!(reads("", "").is_empty());
    let condition = ", condition: \"int(context.secret) > 1\"";
    assert_eq!(reads(condition, "").get("_input"), Some(&Sensitivity::Restricted));
    assert_eq!(reads("", condition).get("copy"), Some(&Sensitivity::Restricted));
    let transform = ", transform: \"str(int(context.secret))\"";
    assert_eq!(reads("", transform).get("copy"), Some(&Sensitivity::Restricted));
}
