//! The project's labels on documents that were not lowered from a flow of the project.

use stave_canon::{Object, Value, parse};
use stave_diag::SourceId;
use stave_exec::Document;
use stave_exec::wdl::{self, Dialect};
use stave_flow::Scopes;
use stave_flow::model::Sensitivity;
use stave_lower::{hold_to_labels, workflow_leaks};

const WORKFLOW: &str = "version: dsl/v0\nworkflow: lab.w\ninputs:\n  diagnosis: string\n  q: string\nsteps:\n  \
    - copy(transform.map):\n      input: [$input.diagnosis]\n  - act(http.post):\n      url: http://127.0.0.1:9/wdl\n      \
    body: $step.copy\n  - open(http.post):\n      url: http://127.0.0.1:9/wdl\n      body: $input.q\noutputs:\n  r: $step.act\n";

fn lowered(text: &str) -> Document {
    let checked = wdl::check_workflow(SourceId(0), text, Dialect::Extended);
    let settings = wdl::LoweringOptions {
        policy: None,
        generated_at: "2026-01-01T00:00:00Z",
        source_file: "w.wdl",
        dialect: Dialect::Extended,
    };
    wdl::lower(&checked.value.unwrap(), &settings).0.unwrap()
}

fn project() -> Object {
    let said =
        r#"{"fields": {"diagnosis": "restricted"}, "accepts": {"hosts": {"in.example.com": "restricted"}}}"#;
    parse(said).unwrap().as_object().unwrap().clone()
}

fn level<'d>(document: &'d Document, pointer: &str) -> Option<&'d str> {
    document.constants.policy.get("sensitivity")?.pointer(pointer)?.as_str()
}

#[test]
fn a_workflow_gets_the_levels_of_what_its_arguments_refer_to() {
    let mut document = lowered(WORKFLOW);
    hold_to_labels(&mut document, &project());
    assert_eq!(level(&document, "/inputs/act/body"), Some("restricted"));
    assert_eq!(level(&document, "/outputs/copy"), Some("restricted"));
    assert_eq!(level(&document, "/inputs/open/body"), None);
    assert_eq!(level(&document, "/context/diagnosis"), Some("restricted"));
    assert_eq!(level(&document, "/accepts/hosts/in.example.com"), Some("restricted"));
}

#[test]
fn a_workflow_that_sends_labelled_data_away_is_reported() {
    let mut scopes = Scopes::default();
    assert!(workflow_leaks(&lowered(WORKFLOW), SourceId(0), WORKFLOW, &scopes).is_empty());
    scopes.fields.insert("diagnosis".to_owned(), Sensitivity::Restricted);
    let found = workflow_leaks(&lowered(WORKFLOW), SourceId(0), WORKFLOW, &scopes);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].message.contains("step `act`"), "{}", found[0].message);
    scopes.hosts.insert("127.0.0.1".to_owned(), Sensitivity::Restricted);
    assert!(workflow_leaks(&lowered(WORKFLOW), SourceId(0), WORKFLOW, &scopes).is_empty());
}

#[test]
fn a_step_that_takes_data_without_arguments_has_its_level() {
    let head = "version: dsl/v0\nworkflow: lab.w\ninputs:\n  diagnosis: string\nsteps:\n";
    let post = |from: &str| {
        format!("  - post(http.post):\n      url: http://127.0.0.1:9/w\n      body: $step.{from}\n")
    };
    let scopes =
        Scopes { fields: [("diagnosis".to_owned(), Sensitivity::Restricted)].into(), ..Scopes::default() };
    for (steps, from) in [
        ("  - get(flow.input):\n      x: 1\n", "get"),
        ("  - other(dsl.emit):\n      x: $input.diagnosis\n  - fin(finish):\n      y: 1\n", "fin"),
    ] {
        let text = format!("{head}{steps}{}outputs:\n  r: $step.post\n", post(from));
        let mut document = lowered(&text);
        let found = workflow_leaks(&document, SourceId(0), &text, &scopes);
        assert!(found.iter().any(|found| found.message.contains("step `post`")), "{from}: {found:?}");
        hold_to_labels(&mut document, &project());
        assert_eq!(level(&document, &format!("/outputs/{from}")), Some("restricted"), "{from}");
        assert_eq!(level(&document, "/inputs/post/body"), Some("restricted"), "{from}");
    }
}

/// The document as if its nodes had ports, with this policy.
fn compiled(policy: &str) -> Document {
    let mut document = lowered(WORKFLOW);
    let ports = parse(r#"[{"name": "x", "type": "string"}]"#).unwrap();
    for node in &mut document.graph.nodes {
        node.extra.insert("inputs".to_owned(), ports.clone());
        node.extra.insert("outputs".to_owned(), Value::Array(Vec::new()));
    }
    document.constants.policy = parse(&format!("{{{policy}}}")).unwrap().as_object().unwrap().clone();
    document
}

#[test]
fn a_reference_inside_a_literal_is_found() {
    for body in [
        "['$input.diagnosis']",
        "{'a': '$input.diagnosis'}",
        r"'\x24input.diagnosis'",
        "$input",
        "$.inputs.diagnosis",
    ] {
        let mut document = lowered(WORKFLOW);
        for node in &mut document.graph.nodes {
            node.with.insert("body".to_owned(), body.into());
        }
        hold_to_labels(&mut document, &project());
        assert_eq!(level(&document, "/inputs/open/body"), Some("restricted"), "{body}");
    }
}

#[test]
fn a_document_that_was_checked_for_other_labels_is_restricted_as_a_whole() {
    for policy in [
        "",
        r#""sensitivity": {"fields": {"diagnosis": "private"}}"#,
        r#""sensitivity": {"fields": {"diagnosis": "restricted"}, "declassify": {"f/a.x": "trust me"}}"#,
    ] {
        let mut document = compiled(policy);
        hold_to_labels(&mut document, &project());
        assert_eq!(level(&document, "/outputs/act"), Some("restricted"), "{policy}");
        assert_eq!(level(&document, "/errors/act"), Some("restricted"), "{policy}");
    }
}

#[test]
fn a_port_of_a_node_that_cannot_be_read_is_restricted_too() {
    let mut document = compiled("");
    let node = document.graph.nodes.iter_mut().find(|node| node.id == "act").unwrap();
    node.extra.insert("effects".to_owned(), "yes".into());
    let ports = r#"[{"name": "x", "type": "strng"}, {"type": "string"}, 3]"#;
    node.extra.insert("inputs".to_owned(), parse(ports).unwrap());
    let edge = document.graph.edges.iter_mut().find(|edge| edge.to == "act").unwrap();
    edge.extra.insert("to_port".to_owned(), "y".into());
    hold_to_labels(&mut document, &project());
    for port in ["x", "y"] {
        assert_eq!(level(&document, &format!("/inputs/act/{port}")), Some("restricted"), "{port}");
    }
}

#[test]
fn a_document_with_a_consent_that_the_project_has_not_is_as_sensitive_as_its_most_sensitive_value() {
    let own =
        r#""sensitivity": {"declassify": {"f/a.x": "a number"}, "context": {"diagnosis": "restricted"}}"#;
    let nested =
        r#""sensitivity": {"declassify": {"f/a.x": "a number"}, "inputs": {"act": {"x": "restricted"}}}"#;
    for policy in [own, nested] {
        for project in [
            "{}",
            r#"{"declassify": {"f/b.x": "another"}}"#,
            r#"{"fields": {"other": "private"}}"#,
            r#"{"accepts": {"hosts": {"a.example": "restricted"}}}"#,
        ] {
            let project = parse(project).unwrap().as_object().unwrap().clone();
            let mut document = compiled(policy);
            hold_to_labels(&mut document, &project);
            assert_eq!(level(&document, "/outputs/act"), Some("restricted"), "{policy} {project:?}");
            assert_eq!(level(&document, "/inputs/act/x"), Some("restricted"), "{policy} {project:?}");
            assert_eq!(level(&document, "/declassify/f~1a.x"), None, "{policy} {project:?}");
        }
        let consents =
            parse(r#"{"declassify": {"f/a.x": "a number"}}"#).unwrap().as_object().unwrap().clone();
        let mut document = compiled(policy);
        hold_to_labels(&mut document, &consents);
        assert_eq!(level(&document, "/outputs/act"), None, "{policy}");
    }
}

#[test]
fn a_document_of_the_project_keeps_its_levels_and_takes_the_receivers_of_the_project() {
    let forged = r#""sensitivity": {"fields": {"diagnosis": "restricted"}, "accepts": {"hosts": {"evil.example.com": "restricted"}}}"#;
    let mut document = compiled(forged);
    hold_to_labels(&mut document, &project());
    assert_eq!(level(&document, "/outputs/act"), None);
    assert_eq!(level(&document, "/accepts/hosts/evil.example.com"), None);
    let mut same = compiled(forged);
    hold_to_labels(&mut same, &Object::new());
    assert_eq!(level(&same, "/accepts/hosts/evil.example.com"), Some("restricted"));
}
