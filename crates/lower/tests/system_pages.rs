//! A page for each construct of a flow or workflow: the source, then the system document it becomes.

#![expect(clippy::expect_used, clippy::panic, reason = "a test stops at what is not as it should be")]

use stave_canon::Value;
use stave_diag::{Diagnostic, Sources};
use stave_exec::wdl::{self, Dialect, PairedPolicy};
use stave_flow::CheckOptions;
use stave_flow::model::Flow;
use stave_lower::{
    DefaultModel, SystemFlow, SystemSettings, SystemSource, SystemWorkflow, flow_to_system, system_intent,
};
use stave_system::bundle::check::{BundleComparison, check};
use stave_system::bundle::{Bundle, BundleOptions, BundleSource, specifications};
use stave_system::knowledge::SNAPSHOT_PATH;
use stave_system::verify::verify;
use stave_system::{NodeKind, SystemDocument, SystemNode};

fn settings() -> SystemSettings {
    SystemSettings {
        tenant_id: "acme".to_owned(),
        repo_id: "shop".to_owned(),
        policy_ref: "default".to_owned(),
        policy_sha256: None,
        snapshot_path: SNAPSHOT_PATH.to_owned(),
        default_model: Some(DefaultModel {
            provider: "openai".into(),
            name: "gpt-4o-mini".into(),
            endpoint: None,
        }),
    }
}

fn load(sources: &mut Sources, name: &str, yaml: &str) -> Flow {
    let source = sources.add(name, yaml);
    let parsed = stave_flow::load(source, yaml, &CheckOptions::default());
    let errors: Vec<&Diagnostic> = parsed.diagnostics.iter().filter(|found| found.is_error()).collect();
    assert!(errors.is_empty(), "{name}: {errors:#?}");
    parsed.flow.expect("a flow without errors has a model")
}

/// Lowers flows in files of these names.
fn lower(files: &[(&str, &str)]) -> SystemDocument {
    let mut sources = Sources::new();
    let flows: Vec<Flow> = files.iter().map(|(name, yaml)| load(&mut sources, name, yaml)).collect();
    let flows: Vec<SystemFlow<'_>> =
        flows.iter().zip(files).map(|(flow, (name, _))| SystemFlow { flow, source_file: name }).collect();
    let source = SystemSource {
        flows: &flows,
        workflows: &[],
        sources: &sources,
        settings: &settings(),
        knowledge: None,
    };
    flow_to_system(source).expect("a flow without errors has a document")
}

fn lower_workflow(file: &str, text: &str, policy: &str) -> SystemDocument {
    let mut sources = Sources::new();
    let source = sources.add(file, text);
    let policy_source = sources.add("flows/policy.pdl", policy);
    let policy =
        wdl::check_policy(policy_source, policy, Dialect::Extended).value.expect("the policy is one");
    let workflow = wdl::check_workflow(source, text, Dialect::Extended).value.expect("the workflow is one");
    let paired = PairedPolicy { policy: &policy, name: "plant", source_file: "flows/plant.pdl" };
    let settings = wdl::LoweringOptions {
        policy: Some(paired),
        generated_at: "2024-06-30T18:25:43Z",
        source_file: file,
        dialect: Dialect::Extended,
    };
    let (document, found) = wdl::lower(&workflow, &settings);
    assert!(found.is_empty(), "{found:#?}");
    let document = document.expect("a workflow without mistakes has a document");
    let triggers = wdl::triggers(&workflow, &document.flow.name);
    let workflow =
        SystemWorkflow { document: &document, source_file: file, source_text: text, triggers: &triggers };
    let source = SystemSource {
        flows: &[],
        workflows: &[workflow],
        sources: &sources,
        settings: &self::settings(),
        knowledge: None,
    };
    flow_to_system(source).expect("a workflow without errors has a document")
}

/// Whatever is lowered keeps every rule, and a bundle of it agrees with it.
fn hold(name: &str, document: &SystemDocument) {
    let findings: Vec<String> =
        verify(document).iter().map(|found| format!("{} {}", found.pointer, found.message)).collect();
    assert_eq!(findings, Vec::<String>::new(), "{name}");
    let specifications = specifications("run_1", document);
    let intent = system_intent(document);
    let bundle = Bundle::emit(BundleSource {
        run_id: "run_1",
        document,
        intent: Some(&intent),
        orchestration: &specifications.orchestration,
        coordination: &specifications.coordination,
        delivery_plan: None,
        options: BundleOptions { strict_alignment: true, ..BundleOptions::default() },
    })
    .unwrap_or_else(|error| panic!("{name}: {error}"));
    let issues = check(BundleComparison {
        document,
        bundle: bundle.value(),
        orchestration: Some(&specifications.orchestration),
        coordination: Some(&specifications.coordination),
        expected_allow_network: None,
        derivation: None,
    });
    assert!(issues.is_empty(), "{name}: {issues:?}");
}

#[test]
fn every_construct_of_a_flow_has_its_page() {
    insta::glob!("system_pages/*.yaml", |path| {
        let yaml = read(path);
        let name = format!("flows/{}", path.file_name().unwrap_or_default().to_string_lossy());
        let document = lower(&[(name.as_str(), yaml.as_str())]);
        hold(&name, &document);
        page(&yaml, &document);
    });
}

#[test]
fn a_workflow_has_its_page() {
    let (text, policy) =
        (include_str!("system_pages/workflow.wdl"), include_str!("system_pages/workflow.pdl"));
    let document = lower_workflow("flows/plant.wdl", text, policy);
    hold("plant.wdl", &document);
    page(text, &document);
}

fn page(source: &str, document: &SystemDocument) {
    let rule = "-".repeat(40);
    let page = format!("{}\n{rule}\n{}", source.trim_end(), shown(&document.to_value()));
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(page) });
}

fn node<'d>(document: &'d SystemDocument, kind: NodeKind, name: &str) -> &'d SystemNode {
    let found = document.nodes.iter().find(|node| node.kind == kind && node.name == name);
    found.unwrap_or_else(|| panic!("no {} node {name:?}", kind.word()))
}

#[test]
fn what_two_flows_share_is_one_node_with_both_places() {
    let one = include_str!("system_pages/integrations.yaml");
    let other = one.replace("name: answer", "name: other").replace("claude-sonnet-4-5", "claude-haiku-4-5");
    let document = lower(&[("flows/one.yaml", one), ("flows/other.yaml", &other)]);
    let provider = node(&document, NodeKind::Integration, "provider:anthropic");
    let places: Vec<&str> = provider.provenance.iter().map(|row| row.source_id.as_str()).collect();
    assert_eq!(places, ["flows/one.yaml", "flows/other.yaml"]);
    let models = provider.properties.get("models").cloned();
    assert_eq!(models, Some(vec!["claude-haiku-4-5", "claude-sonnet-4-5"].into()));
    let policies = document.nodes.iter().filter(|node| node.kind == NodeKind::Policy).count();
    assert_eq!(policies, 1);
    let turned = lower(&[("flows/other.yaml", &other), ("flows/one.yaml", one)]);
    assert_eq!(turned.fingerprint(), document.fingerprint(), "the order of the files shows");
}

#[test]
fn a_change_elsewhere_in_the_file_leaves_a_nodes_hash() {
    let yaml = include_str!("system_pages/effects.yaml");
    let before = lower(&[("flows/a.yaml", yaml)]);
    let changed = yaml.replace(".upper()", ".lower()");
    let after = lower(&[("flows/a.yaml", &changed)]);
    let hash = |document: &SystemDocument, name| node(document, NodeKind::Workflow, name).provenance.clone();
    assert_eq!(hash(&before, "fetch"), hash(&after, "fetch"));
    assert_ne!(hash(&before, "shout"), hash(&after, "shout"));
}

#[test]
fn provenance_points_at_the_lines_of_the_node() {
    let yaml = include_str!("system_pages/effects.yaml");
    let document = lower(&[("flows/a.yaml", yaml)]);
    for (name, first, last) in
        [("fetch", "  fetch:", "    runtime:"), ("shout", "  shout:", "            return")]
    {
        let row = node(&document, NodeKind::Workflow, name).provenance.first().expect("a place").clone();
        let locator = row.locator.expect("lines");
        let (from, to) = locator.trim_start_matches('L').split_once("-L").expect("a range");
        let (from, to): (usize, usize) = (from.parse().expect("a line"), to.parse().expect("a line"));
        let lines: Vec<&str> = yaml.lines().collect();
        assert!(lines.get(from - 1).is_some_and(|line| line.starts_with(first)), "{name}: {locator}");
        assert!(lines.get(to - 1).is_some_and(|line| line.starts_with(last)), "{name}: {locator}");
    }
}

#[test]
fn a_secret_is_named_and_never_shown() {
    let yaml = include_str!("system_pages/effects.yaml");
    let document = lower(&[("flows/a.yaml", yaml)]);
    let effects = node(&document, NodeKind::Workflow, "fetch").effects.clone().expect("effects");
    assert_eq!(effects.secrets, ["ORDERS_KEY", "ORDERS_TOKEN"]);
    assert!(!document.to_file_text().contains("${secrets"));
}

#[test]
fn a_node_that_touches_nothing_says_so() {
    let document = lower(&[("flows/a.yaml", include_str!("system_pages/tests.yaml"))]);
    let effects = node(&document, NodeKind::Workflow, "shout").effects.clone().expect("effects");
    assert_eq!(effects, stave_system::model::EffectAnnotation::default());
    let intent = system_intent(&document);
    assert_eq!(intent.spec.pointer("/operating_bounds/allow_network"), Some(&false.into()));
}

#[test]
fn every_row_belongs_to_the_projects_tenant() {
    for yaml in
        [include_str!("system_pages/integrations.yaml"), include_str!("system_pages/infrastructure.yaml")]
    {
        let document = lower(&[("flows/a.yaml", yaml)]);
        for node in &document.nodes {
            assert_eq!(node.tenant_id, "acme");
            assert!(node.provenance.iter().all(|row| row.tenant_id == "acme"));
        }
    }
}

/// The document in few lines: a short value is on one.
fn shown(value: &Value) -> String {
    let mut text = String::new();
    show(value, 0, &mut text);
    text
}

fn show(value: &Value, depth: usize, text: &mut String) {
    let plain = value.to_string();
    let (indent, outer) = ("  ".repeat(depth + 1), "  ".repeat(depth));
    let parts: Vec<(String, &Value)> = match value {
        Value::Object(members) => {
            members.iter().map(|(key, value)| (format!("{}: ", Value::from(key.as_str())), value)).collect()
        }
        Value::Array(items) => items.iter().map(|item| (String::new(), item)).collect(),
        _ => Vec::new(),
    };
    if parts.is_empty() || plain.chars().count() <= 100 {
        text.push_str(&plain);
        return;
    }
    let (open, close) = if matches!(value, Value::Object(_)) { ("{", "}") } else { ("[", "]") };
    text.push_str(open);
    for (index, (lead, part)) in parts.iter().enumerate() {
        text.push_str(&format!("{}\n{indent}{lead}", if index == 0 { "" } else { "," }));
        show(part, depth + 1, text);
    }
    text.push_str(&format!("\n{outer}{close}"));
}

#[expect(clippy::disallowed_methods, reason = "the pages are files, and a test may read them")]
fn read(path: &std::path::Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
