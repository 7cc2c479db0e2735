//! Labels travel, and what they reach is judged.

use std::collections::BTreeMap;

use stave_diag::{Diagnostic, Sources, render};
use stave_flow::model::Sensitivity;
use stave_flow::{CheckOptions, Scopes, load};

/// A flow with one labelled request field. The node and the edges are the test's own.
fn flow(nodes: &str, edges: &str) -> String {
    format!(
        "version: \"1.0\"\nmetadata: {{name: labelled}}\ncontext:\n  requires: [secret, plain, session_id]\n  \
         sensitivity: {{secret: restricted, session_id: public}}\nnodes:\n{nodes}\nedges:\n{edges}\n"
    )
}

const ASK: &str = "  ask: {type: transform, inputs: [{name: text, type: string}], outputs: [{name: reply, type: string}], \
                   prompt: {template: \"{{ text }}\", model: {provider: openai, name: m}}}";
const COPY: &str = "  copy: {type: transform, inputs: [{name: text, type: string}], outputs: [{name: text, type: string}], \
                    transform: {mode: declarative, spec: {op: io.format_response, args: {template: \"${text}\"}}}}";

fn leaks_with(text: &str, scopes: Scopes) -> Vec<Diagnostic> {
    let mut sources = Sources::new();
    let source = sources.add("flow.yaml", text);
    let found = load(source, text, &CheckOptions { scopes, ..CheckOptions::default() }).diagnostics;
    let others: Vec<&Diagnostic> =
        found.iter().filter(|one| one.is_error() && one.code.0 != "sensitive-data-leak").collect();
    assert!(others.is_empty(), "{others:?}");
    found.into_iter().filter(|one| one.code.0 == "sensitive-data-leak").collect()
}

fn all(text: &str, scopes: Scopes) -> Vec<Diagnostic> {
    let mut sources = Sources::new();
    let source = sources.add("flow.yaml", text);
    load(source, text, &CheckOptions { scopes, ..CheckOptions::default() }).diagnostics
}

#[test]
fn a_flow_cannot_lower_what_the_project_labels() {
    let edges = "  - {from: _input.plain, to: ask.text}\n  - {from: ask.reply, to: _output}";
    let scopes = || Scopes {
        fields: BTreeMap::from([("plain".to_owned(), Sensitivity::Restricted)]),
        ..Scopes::default()
    };
    let silent = flow(ASK, edges);
    assert_eq!(leaks_with(&silent, scopes()).len(), 1, "the project's label needs no word of the flow");
    let unlabelled = silent.replace("  sensitivity: {secret: restricted, session_id: public}\n", "");
    assert_eq!(leaks_with(&unlabelled, scopes()).len(), 1);
    let lower = silent.replace("secret: restricted", "plain: public");
    let found = all(&lower, scopes());
    let codes: Vec<&str> = found.iter().map(|one| one.code.0).collect();
    assert_eq!(codes, ["lowered-label", "sensitive-data-leak"]);
}

fn leaks(text: &str) -> usize {
    leaks_with(text, Scopes::default()).len()
}

#[test]
fn a_label_travels_along_edges_and_through_nodes() {
    let direct = flow(ASK, "  - {from: _input.secret, to: ask.text}\n  - {from: ask.reply, to: _output}");
    assert_eq!(leaks(&direct), 1);
    let two = flow(
        &format!("{COPY}\n{ASK}"),
        "  - {from: _input.secret, to: copy.text}\n  - {from: copy.text, to: ask.text}\n  - {from: ask.reply, to: _output}",
    );
    assert_eq!(leaks(&two), 1);
    let plain = direct.replace("_input.secret", "_input.plain");
    assert_eq!(leaks(&plain), 0);
}

#[test]
fn a_flow_without_labels_is_not_looked_at() {
    let text = flow(ASK, "  - {from: _input.secret, to: ask.text}\n  - {from: ask.reply, to: _output}");
    let text = text.replace("  sensitivity: {secret: restricted, session_id: public}\n", "");
    assert_eq!(leaks(&text), 0);
}

#[test]
fn only_what_an_edge_transform_reads_goes_on() {
    let text = |transform: &str| {
        flow(
            ASK,
            &format!(
                "  - {{from: _input.secret, to: ask.text, transform: \"{transform}\"}}\n  - {{from: ask.reply, to: _output}}"
            ),
        )
    };
    assert_eq!(leaks(&text("value.upper()")), 1);
    assert_eq!(leaks(&text("'nothing'")), 0);
    assert_eq!(leaks(&text("context.plain")), 0);
    assert_eq!(leaks(&text("context.secret")), 1);
}

#[test]
fn the_context_is_read_in_templates_and_arguments() {
    let template = ASK.replace("{{ text }}", "{{ text }} {{ context.secret }}");
    let edges = "  - {from: _input.plain, to: ask.text}\n  - {from: ask.reply, to: _output}";
    assert_eq!(leaks(&flow(&template, edges)), 1);
    let post = "  ask: {type: transform, inputs: [{name: text, type: string}], outputs: [{name: reply, type: object}], \
                transform: {mode: declarative, spec: {op: http.post, args: {url: \"https://x.example.com\", body: {a: \"${context.secret}\"}}}}}";
    assert_eq!(leaks(&flow(post, edges)), 1);
    let mut scopes = Scopes::default();
    scopes.hosts.insert("x.example.com".to_owned(), Sensitivity::Restricted);
    assert!(leaks_with(&flow(post, edges), scopes.clone()).is_empty());
    let unknown = post.replace("https://x.example.com", "https://${text}");
    assert_eq!(leaks_with(&flow(&unknown, edges), scopes).len(), 1, "a host that is not known has no scope");
}

#[test]
fn a_label_of_its_own_says_what_an_output_holds() {
    let edges = "  - {from: _input.secret, to: copy.text}\n  - {from: copy.text, to: ask.text}\n  - {from: ask.reply, to: _output}";
    let cleaned = COPY.replace(
        "outputs: [{name: text, type: string}]",
        "outputs: [{name: text, type: string, sensitivity: public}]",
    );
    let lowered = flow(&format!("{cleaned}\n{ASK}"), edges);
    let consent = |key: &str| Scopes {
        declassify: BTreeMap::from([(key.to_owned(), "it is cleaned".to_owned())]),
        ..Scopes::default()
    };
    assert!(leaks_with(&lowered, consent("labelled/copy.text")).is_empty(), "the project let it be lowered");
    for other in ["other/copy.text", "labelled/copy.other", "labelled/ask.reply"] {
        let found = all(&lowered, consent(other));
        let codes: Vec<&str> = found.iter().map(|one| one.code.0).collect();
        assert_eq!(codes, ["lowered-label", "sensitive-data-leak"], "{other}");
    }
    let raised = COPY.replace(
        "outputs: [{name: text, type: string}]",
        "outputs: [{name: text, type: string, sensitivity: restricted}]",
    );
    let plain = edges.replace("_input.secret", "_input.plain");
    assert_eq!(leaks(&flow(&format!("{raised}\n{ASK}"), &plain)), 1);
}

#[test]
fn code_reads_what_it_names_and_everything_when_it_hands_inputs_on() {
    let code = |body: &str| {
        format!(
            "  copy:\n    type: transform\n    inputs: [{{name: text, type: string}}, {{name: other, type: string}}]\n    \
             outputs: [{{name: text, type: string}}]\n    transform:\n      mode: code\n      spec: |\n        \
             def transform(inputs, context, state):\n            {body}\n{ASK}"
        )
    };
    let edges = "  - {from: _input.plain, to: copy.text}\n  - {from: _input.secret, to: copy.other}\n  \
                 - {from: copy.text, to: ask.text}\n  - {from: ask.reply, to: _output}";
    assert_eq!(leaks(&flow(&code("return {'text': inputs['text']}"), edges)), 0);
    assert_eq!(leaks(&flow(&code("return {'text': inputs['other']}"), edges)), 1);
    assert_eq!(leaks(&flow(&code("return {'text': str(inputs)}"), edges)), 1);
    assert_eq!(leaks(&flow(&code("return {'text': context.secret}"), edges)), 1);
}

/// A node that writes a session record and one that reads it, in this order or the other.
fn remembering(sensitivity: &str) -> String {
    let state = format!("    state: {{scope: session, key: \"c_{{context.session_id}}\"{sensitivity}}}\n");
    let nodes = format!(
        "  read:\n    type: transform\n    inputs: []\n    outputs: [{{name: text, type: string}}]\n{state}    transform:\n      \
         mode: code\n      spec: |\n        def transform(inputs, context, state):\n            \
         return {{'text': await state.get('t', '')}}\n  write:\n    type: transform\n    \
         inputs: [{{name: text, type: string}}]\n    outputs: [{{name: done, type: boolean}}]\n{state}    transform:\n      \
         mode: code\n      spec: |\n        def transform(inputs, context, state):\n            \
         await state.set('t', inputs['text'])\n            return {{'done': True}}\n{ASK}"
    );
    flow(
        &nodes,
        "  - {from: read.text, to: ask.text}\n  - {from: _input.secret, to: write.text}\n  - {from: ask.reply, to: _output}",
    )
}

#[test]
fn state_keeps_the_label_of_what_was_written() {
    assert_eq!(leaks(&remembering("")), 1);
    let found = leaks_with(&remembering(", sensitivity: private"), Scopes::default());
    assert!(found.iter().any(|one| one.message.contains("the state of node `write`")), "{found:?}");
}

#[test]
fn a_state_server_and_the_cache_take_what_the_project_says() {
    let mut inside = Scopes::default();
    inside.providers.insert("openai".to_owned(), Sensitivity::Restricted);
    assert!(leaks_with(&remembering(""), inside.clone()).is_empty(), "a store beside the journal takes all");
    let mut server = inside.clone();
    server.servers.insert("state".to_owned());
    let found = leaks_with(&remembering(""), server.clone());
    assert!(found.iter().all(|one| one.message.contains("the state store")) && found.len() == 1, "{found:?}");
    server.stores.insert("state".to_owned(), Sensitivity::Restricted);
    assert!(leaks_with(&remembering(""), server).is_empty());
    let redis = remembering(", backend: redis");
    let mut named = inside.clone();
    named.servers.insert("redis".to_owned());
    assert_eq!(leaks_with(&redis, named.clone()).len(), 1);
    named.stores.insert("redis".to_owned(), Sensitivity::Restricted);
    assert!(leaks_with(&redis, named.clone()).is_empty());
    let keyed = redis.replace("c_{context.session_id}", "c_{session_id}_{secret}");
    let keyed = keyed.replace("from: _input.secret, to: write.text", "from: _input.plain, to: write.text");
    named.stores.insert("redis".to_owned(), Sensitivity::Private);
    assert_eq!(leaks_with(&keyed, named).len(), 2, "the key of a record is kept with it");
    let cached = COPY.replace("transform: {mode", "runtime: {cache: {ttl_seconds: 60}}, transform: {mode");
    let cached =
        flow(&cached, "  - {from: _input.secret, to: copy.text}\n  - {from: copy.text, to: _output}");
    assert_eq!(leaks(&cached), 0);
    inside.stores.insert("cache".to_owned(), Sensitivity::Private);
    assert_eq!(leaks_with(&cached, inside).len(), 1);
}

#[test]
fn tools_carry_labels_both_ways() {
    let caller = "  ask: {type: transform, inputs: [{name: text, type: string}], outputs: [{name: reply, type: string}], \
                  prompt: {template: \"{{ text }}\", model: {provider: openai, name: m}, tools: [{name: look, description: d, \
                  parameters: {type: object, properties: {id: {type: string}}}, maps_to: look}]}}\n";
    let look = "  look: {type: transform, inputs: [{name: id, type: string}], outputs: [{name: found, type: string, sensitivity: restricted}], \
                transform: {mode: declarative, spec: {op: io.format_response, args: {template: \"${id}\"}}}}";
    let edges = "  - {from: _input.plain, to: ask.text}\n  - {from: ask.reply, to: _output}";
    assert_eq!(leaks(&flow(&format!("{caller}{look}"), edges)), 1, "the answer of a tool reaches the model");
    let mut scopes = Scopes::default();
    scopes.providers.insert("openai".to_owned(), Sensitivity::Restricted);
    let post = "  look: {type: transform, inputs: [{name: id, type: string}], outputs: [{name: found, type: object}], \
                transform: {mode: declarative, spec: {op: http.get, args: {url: \"https://x.example.com/${id}\"}}}}";
    let sent = flow(&format!("{caller}{post}"), &edges.replace("_input.plain", "_input.secret"));
    assert_eq!(leaks_with(&sent, scopes.clone()).len(), 1, "what the model saw reaches the host of its tool");
    let outside = caller.replace("maps_to: look", "mcp: files/read");
    let sent = flow(&outside, &edges.replace("_input.plain", "_input.secret"));
    assert_eq!(leaks_with(&sent, scopes.clone()).len(), 1, "a tool outside is a receiver of its own");
    scopes.tools.insert("files/read".to_owned(), Sensitivity::Restricted);
    assert!(leaks_with(&sent, scopes).is_empty());
}

#[test]
fn receivers_take_what_the_project_says() {
    let text = flow(ASK, "  - {from: _input.secret, to: ask.text}\n  - {from: ask.reply, to: _output}");
    let scopes =
        |level| Scopes { providers: BTreeMap::from([("openai".to_owned(), level)]), ..Scopes::default() };
    assert!(leaks_with(&text, scopes(Sensitivity::Restricted)).is_empty());
    let private = text.replace("restricted", "private");
    assert!(
        leaks_with(&private, Scopes::default()).is_empty(),
        "private data may go where nothing else is said"
    );
    assert_eq!(leaks_with(&private, scopes(Sensitivity::Public)).len(), 1);
    let endpoint = text.replace("name: m}", "name: m, endpoint: \"http://models.internal:8000/v1\"}");
    let mut inside = Scopes::default();
    inside.hosts.insert("models.internal".to_owned(), Sensitivity::Restricted);
    assert!(leaks_with(&endpoint, inside).is_empty(), "an endpoint's own host decides");
    let accepting =
        text.replace("{name: text, type: string}]", "{name: text, type: string, accepts: public}]");
    assert_eq!(leaks_with(&accepting, scopes(Sensitivity::Restricted)).len(), 1);
}

#[test]
fn the_way_is_shown_step_by_step() {
    let text = flow(
        &format!("{COPY}\n{ASK}"),
        "  - {from: _input.secret, to: copy.text}\n  - {from: copy.text, to: ask.text}\n  - {from: ask.reply, to: _output}",
    );
    let mut sources = Sources::new();
    let source = sources.add("flow.yaml", text.as_str());
    let found = load(source, &text, &CheckOptions::default()).diagnostics;
    let [leak] = found.as_slice() else { panic!("{}", render::short::render(&found, &sources)) };
    let steps = leak.labels.iter().map(|label| {
        let place = sources.place(label.span).unwrap().0;
        format!("{}:{} {}", place.line, place.column, label.message)
    });
    let page =
        format!("{}\n{}\n{}", leak.message, steps.collect::<Vec<_>>().join("\n"), leak.help.clone().unwrap());
    insta::assert_snapshot!(page, @r"
    restricted data from the context field `secret` reaches a model of `openai`, which takes private data at most
    5:25 the context field `secret` is restricted
    10:31 it travels to `copy.text`
    7:3 node `copy` makes `text` of it
    11:27 it travels to `ask.text`
    leave it out of the prompt, ask a model that may see it, or write `openai = …` under `[accepts.providers]` in stave.toml
    ");
}

#[test]
fn a_label_of_a_field_that_is_not_declared_is_told() {
    let text = flow(ASK, "  - {from: _input.plain, to: ask.text}\n  - {from: ask.reply, to: _output}");
    let text = text.replace("{secret: restricted", "{secrte: restricted");
    let mut sources = Sources::new();
    let source = sources.add("flow.yaml", text.as_str());
    let found = load(source, &text, &CheckOptions::default()).diagnostics;
    assert!(found.iter().any(|one| one.code.0 == "undeclared-context"), "{found:?}");
}
