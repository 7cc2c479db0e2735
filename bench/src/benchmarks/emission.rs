//! Long workflows to system documents and bundles: 2,000 and 20,000 steps. The rates count steps, so emission that is not
//! linear shows as a lower rate of the longer workflow.

use std::hint::black_box;

use stave_diag::Sources;
use stave_exec::wdl::{self, Dialect};
use stave_lower::{SystemSettings, SystemSource, SystemWorkflow, flow_to_system, system_intent};
use stave_system::bundle::{Bundle, BundleOptions, BundleSource, specifications};
use stave_system::knowledge::SNAPSHOT_PATH;

use super::Benchmark;
use crate::contest::{Comparison, Entrant, InProcess, Work};
use crate::machine::Machine;

pub(super) const BENCHMARK: Benchmark = Benchmark {
    name: "emission",
    about: "workflows of 2,000 and 20,000 steps, to system documents and bundles",
    prepare,
};

const SIZES: [(u32, &str); 2] = [
    (2_000, "2,000 steps: check, lower, system document, bundle"),
    (20_000, "20,000 steps: check, lower, system document, bundle"),
];

fn prepare(_: &Machine) -> Vec<Comparison> {
    let comparisons = SIZES.map(|(steps, title)| {
        let text = workflow(steps);
        let run = move || {
            let length = emit(black_box(&text));
            assert!(length.is_some(), "the workflow compiles");
            black_box(length);
        };
        let ours = InProcess::boxed(String::new(), run);
        let entrants = vec![Entrant { name: "stave", contestant: Ok(ours) }];
        Comparison { title, work: Work::Calls(steps), entrants }
    });
    comparisons.into()
}

/// A chain of steps, each with the result of the one before it.
fn workflow(steps: u32) -> String {
    let mut text = String::from("version: dsl/v0\nworkflow: long\ninputs:\n  x: string\nsteps:\n");
    for step in 0..steps {
        let before = match step {
            0 => "$input.x".to_owned(),
            step => format!("$step.s{}.x", step - 1),
        };
        text.push_str(&format!("  - s{step}(dsl.emit):\n      x: {before}\n"));
    }
    text
}

/// The length of the system document and the bundle of a workflow.
fn emit(text: &str) -> Option<usize> {
    let mut sources = Sources::new();
    let source = sources.add("long.wdl", text);
    let workflow = wdl::check_workflow(source, text, Dialect::Extended).value?;
    let settings = wdl::LoweringOptions {
        policy: None,
        generated_at: "2024-06-30T18:25:43Z",
        source_file: "long.wdl",
        dialect: Dialect::Extended,
    };
    let document = wdl::lower(&workflow, &settings).0?;
    let settings = SystemSettings {
        tenant_id: "acme".to_owned(),
        repo_id: "shop".to_owned(),
        policy_ref: "default".to_owned(),
        policy_sha256: None,
        snapshot_path: SNAPSHOT_PATH.to_owned(),
        default_model: None,
    };
    let workflow =
        SystemWorkflow { document: &document, source_file: "long.wdl", source_text: text, triggers: &[] };
    let system = flow_to_system(SystemSource {
        flows: &[],
        workflows: &[workflow],
        sources: &sources,
        settings: &settings,
        knowledge: None,
    })
    .ok()?;
    let specifications = specifications("run_1", &system);
    let intent = system_intent(&system);
    let bundle = Bundle::emit(BundleSource {
        run_id: "run_1",
        document: &system,
        intent: Some(&intent),
        orchestration: &specifications.orchestration,
        coordination: &specifications.coordination,
        delivery_plan: None,
        options: BundleOptions::default(),
    })
    .ok()?;
    Some(system.to_file_text().len() + bundle.value().to_string().len())
}
