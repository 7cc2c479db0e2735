//! The work of checking and lowering a flow grows with the flow, and not with the number of ways through it.
//!
//! An input that takes longer than `-timeout` is a finding. `crates/lower/tests/layered_flows.rs` holds the same for random
//! choices.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stave_diag::Sources;
use stave_flow::CheckOptions;
use stave_lower::{ExecSettings, SystemFlow, SystemSettings, SystemSource, flow_to_exec, flow_to_system};

#[path = "../generators/layered_flow.rs"]
mod layered_flow;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let text = layered_flow::flow(rest, 1 + usize::from(*first) % 64);
    let mut sources = Sources::new();
    let source = sources.add("flow.yaml", text.as_str());
    let loaded = stave_flow::load(source, &text, &CheckOptions::default());
    let flow = loaded.flow.expect("the generator writes flows");
    let settings = ExecSettings {
        policy_ref: "default".to_owned(),
        policy: Default::default(),
        default_model: None,
        templates: Default::default(),
        generated_at: "2026-01-02T03:04:05Z".to_owned(),
        source_file: "flow.yaml".to_owned(),
    };
    let document = flow_to_exec(&flow, &sources, &settings);
    assert_eq!(document.graph.nodes.len(), flow.nodes.len() + 2);
    let settings =
        SystemSettings { tenant_id: "acme".to_owned(), repo_id: "shop".to_owned(), ..Default::default() };
    let flows = [SystemFlow { flow: &flow, source_file: "flow.yaml" }];
    let source = SystemSource {
        flows: &flows,
        workflows: &[],
        sources: &sources,
        settings: &settings,
        knowledge: None,
    };
    drop(flow_to_system(source));
});
