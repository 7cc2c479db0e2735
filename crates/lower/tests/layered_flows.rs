//! Flows in which the ways from the request to a prompt are many: they are checked and lowered in time, and their prompts
//! know where their values come from.

use proptest::prelude::*;
use stave_canon::Value;
use stave_diag::Sources;
use stave_exec::dataflow::{EdgeData, NodeData};
use stave_exec::{Document, DocumentNode};
use stave_flow::CheckOptions;
use stave_lower::{ExecSettings, flow_to_exec};

#[path = "../../../fuzz/generators/layered_flow.rs"]
mod layered_flow;

fn lowered(text: &str) -> Document {
    let mut sources = Sources::new();
    let source = sources.add("flow.yaml", text);
    let loaded = stave_flow::load(source, text, &CheckOptions::default());
    let settings = ExecSettings {
        policy_ref: "default".to_owned(),
        policy: Default::default(),
        default_model: None,
        templates: Default::default(),
        generated_at: "2026-01-02T03:04:05Z".to_owned(),
        source_file: "flow.yaml".to_owned(),
    };
    flow_to_exec(&loaded.flow.unwrap(), &sources, &settings)
}

/// The words, from most to least trusted.
const WORDS: [&str; 6] = ["system", "developer", "memory", "tool", "retrieval", "user"];

/// What an input is given, found by following every way to it.
fn followed(document: &Document, node: &str, port: &str) -> usize {
    let into = document.graph.edges.iter().filter(|edge| {
        edge.to == node && EdgeData::read(&edge.extra).unwrap().to_port.as_deref() == Some(port)
    });
    let given = into.map(|edge| match document.node(&edge.from) {
        Some(from) if from.id != "_input" => passed_on(document, from),
        _ => 5,
    });
    given.max().unwrap_or(5)
}

fn passed_on(document: &Document, node: &DocumentNode) -> usize {
    let data = NodeData::read(&node.extra).unwrap().unwrap();
    if data.state.is_some_and(|state| state.session) {
        return 2;
    }
    match node.kind.as_str() {
        "llm.chat" => 3,
        "http.get" => 4,
        _ => data.inputs.iter().map(|port| followed(document, &node.id, &port.name)).max().unwrap_or(1),
    }
}

fn said(node: &DocumentNode) -> Vec<(String, Option<String>)> {
    let data = NodeData::read(&node.extra).unwrap().unwrap();
    data.inputs.into_iter().map(|port| (port.name, port.provenance)).collect()
}

#[test]
fn a_flow_of_many_layers_is_lowered_in_time() {
    // The first choices: one node in a layer, no label, and code everywhere, fed twice by the layer before.
    let text = layered_flow::flow(&[0, 0, 0, 2, 2], 600);
    let document = lowered(&text);
    let ask = document.node("ask").unwrap();
    assert_eq!(said(ask), [("q".to_owned(), Some("user".to_owned()))]);
    assert_eq!(document.graph.nodes.len(), 603);
}

#[test]
fn a_node_that_is_given_nothing_is_the_authors_own_on_any_way() {
    let text = layered_flow::flow(&[], 3)
        .replace("inputs: [{name: a, type: string}, {name: b, type: string}]\n    outputs", "outputs");
    let document = lowered(&text);
    assert_eq!(said(document.node("ask").unwrap()), [("q".to_owned(), Some("developer".to_owned()))]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn prompts_say_the_least_trusted_source_on_any_way(
        bytes in proptest::collection::vec(any::<u8>(), 0..120),
        layers in 1..7_usize,
    ) {
        let document = lowered(&layered_flow::flow(&bytes, layers));
        for node in document.graph.nodes.iter().filter(|node| node.kind == "llm.chat") {
            for (port, word) in said(node) {
                let wanted = WORDS[followed(&document, &node.id, &port)];
                prop_assert_eq!(word.as_deref(), Some(wanted), "{}.{}", node.id, port);
            }
        }
    }

    #[test]
    fn flows_of_many_layers_end(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        layers in 40..64_usize,
    ) {
        let document = lowered(&layered_flow::flow(&bytes, layers));
        prop_assert!(document.graph.edges.len() > layers);
        prop_assert_eq!(document.constants.policy.get("limits"), None::<&Value>);
    }
}
