//! What a project says about the gate holds at every entry point: its rules, its allowed values, labels by provenance, and
//! whether the gate only reports.

use stave_canon::Value;

use super::entry_points::{ALL, EntryPoint, answer};
use super::sample::{LOOPBACK, asker};
use crate::folder::Folder;
use crate::json::{text, values};
use crate::process::stave;
use crate::scripted::model::ModelScript;
use crate::serve::client::Served;

const RULE: &str = "[accepts]\nrestricted = \"refuse\"\n\n[[gate.rules]]\nname = \"ticket\"\nlabel = \"restricted\"\nregex = 'ACME-[0-9]{4}'\n";
const TICKET: &str = "ACME-1234";

/// A flow that tells the model at a port about a ticket, by the name that every entry point asks for.
fn flow(port: u16) -> String {
    format!(
        r#"version: "1.0"
metadata: {{name: fetcher}}
context: {{requires: [id]}}
nodes:
  ask:
    type: transform
    inputs: [{{name: id, type: string}}]
    outputs: [{{name: a, type: string}}]
    prompt:
      system: You answer briefly.
      template: "Look at {TICKET} for {{{{ id }}}}."
      model: {{provider: openai, name: gpt-4o-mini, endpoint: "http://127.0.0.1:{port}/v1"}}
    runtime: {{retries: 0}}
edges:
  - {{from: _input.id, to: ask.id}}
  - {{from: ask.a, to: _output.a}}
tests:
  - {{name: asks, request: {{id: a}}, expect: {{}}}}
"#
    )
}

/// What an entry point answers under these settings, and the bodies that the model was sent.
async fn asked(entry: EntryPoint, settings: &str) -> (String, Vec<String>) {
    let model = ModelScript::new(&values(r#"[{"content": "Yes."}]"#));
    let server = model.serve().await;
    let folder = Folder::new();
    folder.write("stave.toml", format!("{LOOPBACK}{settings}"));
    folder.write("flows/fetcher.yaml", flow(server.port));
    let said = answer(entry, &folder).await;
    let log = model.log.lock();
    (said, log.calls.iter().map(|call| String::from_utf8_lossy(&call.body).into_owned()).collect())
}

#[tokio::test]
async fn a_rule_of_the_project_and_its_allowed_values_hold_at_every_entry_point() {
    for entry in ALL {
        let refused =
            |said: &str| said.contains("restricted content (ticket)") || said.contains("prompt-refused");
        let (said, sent) = asked(entry, RULE).await;
        assert!(refused(&said) && sent.is_empty(), "{entry:?}: {said}");
        for allowed in ["[gate]\nallow = [\"ACME-1234\"]\n", "[gate]\nallow_regex = ['ACME-1[0-9]{3}']\n"] {
            let (accepts, rules) = RULE.split_once("[[gate").unwrap();
            let (said, sent) = asked(entry, &format!("{accepts}{allowed}\n[[gate{rules}")).await;
            assert!(!refused(&said), "{entry:?}: {said}");
            // Models of tests answer from a recording.
            assert!(
                entry == EntryPoint::Test || sent.iter().any(|body| body.contains(TICKET)),
                "{entry:?}: {said}"
            );
        }
    }
}

#[tokio::test]
async fn a_gate_that_only_reports_sends_everything_and_says_so_at_every_entry_point() {
    for entry in ALL.into_iter().filter(|entry| *entry != EntryPoint::Test) {
        let settings = RULE.replace("[[gate", "[gate]\nreport_only = true\n\n[[gate");
        let (said, sent) = asked(entry, &settings).await;
        assert!(sent.len() == 1 && sent[0].contains(TICKET), "{entry:?}: {said}");
        if entry == EntryPoint::Run {
            assert!(said.contains("would have been refused (report only)"), "{said}");
        }
    }
}

#[tokio::test]
async fn content_has_the_label_of_its_provenance() {
    let accepts = "[accepts.hosts]\n\"127.0.0.1\" = \"private\"\n";
    let developer =
        "\n[labels.provenance]\ndeveloper = \"restricted\"\nsystem = \"restricted\"\nuser = \"restricted\"\n";
    let (said, sent) = asked(EntryPoint::Run, &format!("{accepts}{developer}")).await;
    assert!(said.contains("prompt-refused") && sent.is_empty(), "{said}");
    let within = "[accepts.hosts]\n\"127.0.0.1\" = \"restricted\"\n";
    let (said, sent) = asked(EntryPoint::Run, &format!("{within}{developer}")).await;
    assert_eq!(sent.len(), 1, "{said}");
}

#[tokio::test]
async fn what_cannot_be_a_rule_is_reported_at_its_place() {
    let long = format!("regex = '{}'", "x".repeat(1025));
    for (settings, words) in [
        ("[[gate.rules]]\nname = \"a b\"\nlabel = \"private\"\nregex = \"x\"\n", "is not a name for a rule"),
        ("[[gate.rules]]\nname = \"a\"\nlabel = \"public\"\nregex = \"x\"\n", "has no effect"),
        ("[[gate.rules]]\nname = \"a\"\nlabel = \"private\"\nregex = \"(\"\n", "is not a regular expression"),
        ("[[gate.rules]]\nname = \"a\"\nlabel = \"private\"\nregex = \"x*\"\n", "matches the empty text"),
        ("[[gate.rules]]\nname = \"iban\"\nlabel = \"private\"\nregex = \"x\"\n", "two rules have the name"),
        (&format!("[[gate.rules]]\nname = \"a\"\nlabel = \"private\"\n{long}\n"), "more than 1024 bytes"),
        ("[gate]\nallow_regex = [\"(?=a)\"]\n", "is not a regular expression"),
        ("[gate]\nreport = true\n", "report"),
        ("[labels.provenance]\nweb = \"private\"\n", "web"),
        ("[gateway.labels.headers.\"no name\"]\na = \"private\"\n", "must be the name of a header"),
    ] {
        let folder = Folder::new();
        folder.write("stave.toml", settings);
        folder.write("flow.yaml", asker(9));
        let checked = stave(&folder, ["check", "stave.toml"]).finish().await;
        assert_ne!(checked.code, 0, "{settings}");
        assert!(checked.stderr.contains(words) || checked.stdout.contains(words), "{settings}: {checked}");
        let run = stave(&folder, ["run", "flow.yaml", "--ephemeral", "--input", "-"]).input(r#"{"q": "x"}"#);
        assert_ne!(run.finish().await.code, 0, "{settings}");
    }
}

#[tokio::test]
async fn a_flow_cannot_have_the_gate_only_report() {
    let model = ModelScript::new(&values(r#"[{"content": "Yes."}]"#));
    let server = model.serve().await;
    let folder = Folder::new();
    folder.write("stave.toml", format!("{LOOPBACK}{RULE}"));
    folder
        .write("flow.yaml", format!("{}gate: {{report_only: true, allow: [{TICKET}]}}\n", flow(server.port)));
    let run = ["run", "flow.yaml", "--ephemeral", "--input", "-"];
    stave(&folder, run).input(r#"{"id": "a"}"#).finish().await.exits(3);
    assert_eq!(model.log.lock().calls.len(), 0);
}

#[tokio::test]
async fn blocks_are_labelled_by_the_rules_of_the_project() {
    let folder = Folder::new();
    folder.write(
        "stave.toml",
        "[[gate.rules]]\nname = \"ticket\"\nlabel = \"private\"\nregex = 'ACME-[0-9]{4}'\n",
    );
    folder.write("body.json", r#"{"model":"gpt-4o","messages":[{"role":"user","content":"see ACME-1234"}]}"#);
    let shown =
        stave(&folder, ["block", "show", "--body", "body.json", "--json"]).finish().await.exits(0).json();
    assert_eq!(shown.pointer("/blocks/0/sensitivity").and_then(Value::as_str), Some("private"), "{shown}");
}

/// A gateway with these settings in front of a scripted model, and the outcome of a question with these headers: the
/// status, the bodies that the model was sent, and what the metrics say of decisions.
async fn through_gateway(
    settings: &str,
    headers: &[(&str, &str)],
    key: Option<&str>,
    question: &str,
) -> (u16, Vec<String>, String) {
    let model = ModelScript::new(&values(r#"[{"content": "Yes."}]"#));
    let server = model.serve().await;
    let folder = Folder::new();
    let upstream = format!(
        "[gateway.upstreams.one]\nprovider = \"openai\"\nendpoint = \"http://127.0.0.1:{}/v1\"\nkey = \"${{secrets.HOUSE_KEY}}\"\n",
        server.port
    );
    folder.write("stave.toml", format!("{upstream}{settings}"));
    let mut bearer = None;
    if let Some(name) = key {
        let issued =
            stave(&folder, ["keys", "issue", name, "--admin", "--json"]).finish().await.exits(0).json();
        bearer = Some(format!("Bearer {}", text(&issued, "key").unwrap()));
    }
    let process = stave(&folder, ["gateway", "--listen", "127.0.0.1:0"]).env("HOUSE_KEY", "house-secret-1");
    let gateway = Served::of(process).await;
    let mut sent_headers = vec![("content-type", "application/json")];
    sent_headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
    sent_headers.extend(headers);
    let body = format!(r#"{{"model":"gpt-4o-mini","messages":[{{"role":"user","content":"{question}"}}]}}"#);
    let answer = gateway.ask("POST", "/v1/chat/completions", &sent_headers, Some(&body)).await;
    let metrics = gateway.ask("GET", "/metrics", &sent_headers, None).await.body;
    gateway.end().await.exits(0);
    let log = model.log.lock();
    (
        answer.status,
        log.calls.iter().map(|call| String::from_utf8_lossy(&call.body).into_owned()).collect(),
        metrics,
    )
}

#[tokio::test]
async fn the_gateway_obeys_the_rules_the_allowed_values_and_reports_only_when_told() {
    let question = "see ACME-1234";
    let (status, sent, metrics) = through_gateway(RULE, &[], None, question).await;
    assert!(status == 403 && sent.is_empty() && metrics.contains("ticket"), "{status} {metrics}");
    let (accepts, rules) = RULE.split_once("[[gate").unwrap();
    let allowed = format!("{accepts}[gate]\nallow = [\"ACME-1234\"]\n\n[[gate{rules}");
    let (status, sent, _) = through_gateway(&allowed, &[], None, question).await;
    assert!(status == 200 && sent[0].contains(TICKET), "{status}");
    let reported = format!("{accepts}[gate]\nreport_only = true\n\n[[gate{rules}");
    let (status, sent, metrics) = through_gateway(&reported, &[], None, question).await;
    assert!(status == 200 && sent[0].contains(TICKET), "{status}");
    assert!(metrics.contains("would_refuse") && metrics.contains("ticket"), "{metrics}");
}

#[tokio::test]
async fn the_gateway_labels_requests_by_key_header_and_provenance() {
    let labels = "[gateway.labels.keys]\nclinic = \"restricted\"\n\n[gateway.labels.headers.X-Data-Class]\nphi = \"restricted\"\nopen = \"public\"\n";
    for (settings, header, key, status) in [
        (labels, None, None, 200),
        (labels, Some("open"), None, 200),
        (labels, Some("PHI"), None, 403),
        (labels, None, Some("clinic"), 403),
        (labels, None, Some("other"), 200),
        ("[labels.provenance]\nuser = \"restricted\"\n", None, None, 403),
        ("[labels.provenance]\nretrieval = \"restricted\"\n", None, None, 200),
    ] {
        let headers: Vec<(&str, &str)> = header.into_iter().map(|value| ("x-data-class", value)).collect();
        let (found, sent, metrics) = through_gateway(settings, &headers, key, "hi").await;
        assert_eq!(found, status, "{settings} {header:?} {key:?}: {metrics}");
        assert_eq!(sent.len(), usize::from(status == 200));
        let within = format!("{}\n{settings}", "accepts = \"restricted\"");
        let (found, ..) = through_gateway(&within, &headers, key, "hi").await;
        assert_eq!(found, 200, "{within}");
    }
}
