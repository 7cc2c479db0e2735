//! Sources to exec documents: workflows with policies, and flows. First in this process, where reading and
//! writing files is no part of it; then by the real program, which does all of it, also when one source of a
//! thousand has changed. The Python reference is no peer here; it compiled 86 to 96 workflows of this size
//! per CPU second when it was measured by itself.

use std::hint::black_box;
use std::rc::Rc;

use stave_canon::Object;
use stave_diag::{SourceId, Sources};
use stave_exec::wdl::{self, Dialect, PairedPolicy};
use stave_exec::{Acceptance, Document, manifest};
use stave_flow::CheckOptions;
use stave_lower::{ExecSettings, flow_to_exec};

use super::Benchmark;
use crate::compile_program::{CompileProgram, Task};
use crate::contest::{Comparison, Contestant, Entrant, InProcess, Work};
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

fn prepare(machine: &Machine) -> Vec<Comparison> {
    let sources = |text: &str| -> Rc<Vec<String>> {
        Rc::new((0..COUNT).map(|index| text.replace("@name@", &format!("flow_{index:04}"))).collect())
    };
    let (workflows, flows) = (sources(WORKFLOW), sources(FLOW));
    let mut comparisons = vec![
        comparison(
            "1,000 workflows with policies",
            Work::Calls(1000),
            Rc::clone(&workflows),
            compile_workflow,
        ),
        comparison("1,000 flows", Work::Calls(1000), Rc::clone(&flows), compile_flow),
    ];
    let with_policies = files(&workflows, "wdl", Some(POLICY));
    let changed = workflows.first().map(|text| text.replace("SHUTDOWN", "STOP")).unwrap_or_default();
    comparisons.push(program(
        machine,
        [
            "stave compile: 1,000 workflows with policies",
            "one of 1,000 workflows changed",
            "no workflow changed",
        ],
        &with_policies,
        &changed,
    ));
    let changed = flows.first().map(|text| text.replace("* 2", "* 3")).unwrap_or_default();
    comparisons.push(program(
        machine,
        ["stave compile: 1,000 flows", "one of 1,000 flows changed", "no flow changed"],
        &files(&flows, "yaml", None),
        &changed,
    ));
    comparisons
}

/// The sources as files, each with a policy of its own when there is one.
fn files(texts: &[String], ending: &str, policy: Option<&str>) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| (format!("{index:04}.{ending}"), text.clone()))
        .collect();
    if let Some(policy) = policy {
        files.extend((0..texts.len()).map(|index| (format!("{index:04}.pdl"), policy.to_owned())));
    }
    files
}

/// The real program on all sources, on one that changed, and on none.
fn program(
    machine: &Machine,
    [title, one, none]: [&'static str; 3],
    sources: &[(String, String)],
    changed: &str,
) -> Comparison {
    let entrant = |name: &'static str, task: Task| Entrant {
        name,
        contestant: CompileProgram::new(machine, task, sources, changed.to_owned())
            .map(|program| Box::new(program) as Box<dyn Contestant>),
    };
    Comparison {
        title,
        work: Work::Calls(1000),
        entrants: vec![
            entrant("all of them", Task::Whole),
            entrant(one, Task::OneChanged),
            entrant(none, Task::Nothing),
        ],
    }
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
                entries.push(manifest::ManifestEntry::of(
                    &document,
                    format!("flows/{}.ir.json", document.flow.name),
                ));
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
    let settings = wdl::LoweringOptions {
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
    let flow = stave_flow::load(source, text, &CheckOptions::default()).flow?;
    let settings = ExecSettings {
        policy_ref: "default".to_owned(),
        policy: Object::new(),
        default_model: None,
        templates: Default::default(),
        generated_at: "2024-06-30T18:25:43Z".to_owned(),
        source_file: "flow.yaml".to_owned(),
    };
    Some(flow_to_exec(&flow, &sources, &settings))
}
