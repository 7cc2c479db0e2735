//! Compiling a thousand sources to exec documents: workflows with policies, and flows. Reading and writing
//! files is not part of it. The Python reference compiles 86 to 96 workflows of this size per CPU second.

use std::hint::black_box;
use std::rc::Rc;

use stave_canon::Object;
use stave_diag::{SourceId, Sources};
use stave_exec::wdl::{self, Dialect, PairedPolicy};
use stave_exec::{Acceptance, Document, manifest};
use stave_flow::Options;
use stave_lower::{ExecSettings, flow_to_exec};

use super::Benchmark;
use crate::contest::{Comparison, Entrant, InProcess, Work};
use crate::machine::Machine;

const COUNT: usize = 1000;
const WORKFLOW: &str = include_str!("../workload/workflow.wdl");
const POLICY: &str = include_str!("../workload/workflow.pdl");
const FLOW: &str = include_str!("../workload/small_flow.yaml");

pub(super) const BENCHMARK: Benchmark = Benchmark {
    name: "compile",
    about: "1,000 workflows with policies and 1,000 flows, to exec documents",
    prepare,
};

fn prepare(_: &Machine) -> Vec<Comparison> {
    let sources = |text: &str| -> Rc<Vec<String>> {
        Rc::new((0..COUNT).map(|index| text.replace("@name@", &format!("flow_{index:04}"))).collect())
    };
    let (workflows, flows) = (sources(WORKFLOW), sources(FLOW));
    vec![
        comparison("1,000 workflows with policies", Work::Calls(1000), workflows, compile_workflow),
        comparison("1,000 flows", Work::Calls(1000), flows, compile_flow),
    ]
}

fn comparison(
    title: &'static str,
    work: Work,
    texts: Rc<Vec<String>>,
    compile: fn(&str) -> Option<Document>,
) -> Comparison {
    let run = move || {
        let mut entries = Vec::with_capacity(texts.len());
        for document in texts.iter().filter_map(|text| compile(black_box(text))) {
            let value = stave_exec::to_value(&document);
            if stave_exec::read(&value, Acceptance::Exact).is_ok() {
                black_box(stave_canon::pretty_insertion_ascii(&value));
                entries.push(manifest::Entry::of(&document, format!("flows/{}.ir.json", document.flow.name)));
            }
        }
        assert_eq!(entries.len(), COUNT, "every source compiles");
        black_box(manifest::encode(&entries));
    };
    let ours = InProcess::boxed(String::new(), run);
    Comparison {
        title,
        work,
        entrants: vec![Entrant { name: "check, lower, validate, encode", contestant: Ok(ours) }],
    }
}

fn compile_workflow(text: &str) -> Option<Document> {
    let workflow = wdl::check_workflow(SourceId(0), text, Dialect::Extended).value?;
    let policy = wdl::check_policy(SourceId(1), POLICY, Dialect::Extended).value?;
    let settings = wdl::Settings {
        policy: Some(PairedPolicy { policy: &policy, name: "workflow", source_file: "workflow.pdl" }),
        generated_at: "2024-06-30T18:25:43Z",
        source_file: "workflow.wdl",
        dialect: Dialect::Extended,
    };
    wdl::lower(&workflow, &settings).0
}

fn compile_flow(text: &str) -> Option<Document> {
    let mut sources = Sources::new();
    let source = sources.add("flow.yaml", text);
    let flow = stave_flow::load(source, text, &Options::default()).flow?;
    let settings = ExecSettings {
        policy_ref: "default".to_owned(),
        policy: Object::new(),
        default_model: None,
        generated_at: "2024-06-30T18:25:43Z".to_owned(),
        source_file: "flow.yaml".to_owned(),
    };
    Some(flow_to_exec(&flow, &sources, &settings))
}
