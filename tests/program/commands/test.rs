//! `stave test`: the tests that flows hold.

use stave_canon::Value;

use super::sample::{LOOPBACK, asker};
use crate::folder::{Folder, repository};
use crate::json::{items, text};
use crate::process::stave;
use crate::scripted::model::ModelScript;

/// Every example with flows.
const EXAMPLES: [&str; 5] = ["support", "handbook", "invoices", "review", "churn"];

const GREETER: &str = r#"version: "1.0"
metadata: {name: greeter}
context: {requires: [name]}
nodes:
  greet:
    type: transform
    inputs: [{name: name, type: string}]
    outputs: [{name: text, type: string}]
    transform:
      mode: declarative
      spec: {op: io.format_response, args: {template: "Hello ${name}"}}
  shout:
    type: transform
    inputs: [{name: text, type: string}]
    outputs: [{name: text, type: string}]
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            return {'text': inputs['text'].upper()}
edges:
  - {from: _input.name, to: greet.name}
  - {from: greet.text, to: shout.text, condition: "len(value) > 9"}
  - {from: greet.text, to: _output.text}
  - {from: shout.text, to: _output.loud}

tests:
  # Why this one is here.
  - name: greets
    request: {name: Ada}
    expect: {output: {text: "Hello Bob"}, path: [greet]}  # to be kept
  - name: says what is missing
    request: {}
    expect: {error: missing-context}
"#;

#[tokio::test]
async fn every_fault_of_a_reply_of_a_host_has_its_place() {
    let folder = Folder::new();
    let replies = "    http: [{zork: 1, status: abc}, {url: 3, delay_ms: x, json: 1, text: a}]\n";
    let flow =
        GREETER.replacen("    request: {name: Ada}\n", &format!("    request: {{name: Ada}}\n{replies}"), 1);
    folder.write("flows/greeter.yaml", flow);
    let checked = stave(&folder, ["check", "--json"]).finish().await.exits(2).json();
    let found: Vec<(i64, &str)> = items(&checked, "diagnostics")
        .iter()
        .map(|found| (found.get("column").and_then(Value::as_i64).unwrap(), text(found, "message").unwrap()))
        .collect();
    for (column, said) in [
        (13, "http reply 1: `zork` means nothing here"),
        (12, "http reply 1: the field `url` is missing"),
        (30, "http reply 1: `status` must be an integer, not a string"),
        (42, "http reply 2: `url` must be a string, not an integer"),
        (55, "http reply 2: `delay_ms` must be an integer, not a string"),
        (73, "http reply 2: `text` is beside `json`; keep one"),
    ] {
        assert!(
            found.iter().any(|(at, message)| *at == column && message.contains(said)),
            "{column} {said}: {checked}"
        );
    }
    let tested = stave(&folder, ["test"]).finish().await;
    for said in ["`zork`", "`status`", "`delay_ms`"] {
        assert!(format!("{tested}").contains(said), "{said}: {tested}");
    }
}

fn greeter() -> Folder {
    let folder = Folder::new();
    folder.write("flows/greeter.yaml", GREETER);
    folder
}

#[tokio::test]
async fn the_tests_of_every_example_pass_and_come_to_every_node_and_edge() {
    for example in EXAMPLES {
        let folder = Folder::copy_of(&format!("examples/{example}"));
        let report = stave(&folder, ["test", "--json"]).finish().await.exits(0).json();
        assert!(!items(&report, "tests").is_empty(), "{example} has no tests");
        for part in ["nodes", "edges"] {
            for (flow, coverage) in report.get("coverage").and_then(Value::as_object).into_iter().flatten() {
                let missing = coverage.pointer(&format!("/{part}/missing")).and_then(Value::as_array);
                assert!(missing.is_some_and(<[Value]>::is_empty), "{flow} {part}: {coverage}");
            }
        }
        let checked = stave(&folder, ["check"]).finish().await.exits(0);
        assert!(!checked.stderr.contains("error["), "{checked}");
    }
}

#[tokio::test]
async fn no_example_is_left_out() {
    let folders = std::fs::read_dir(repository().join("examples")).unwrap();
    let mut names: Vec<String> =
        folders.map(|folder| folder.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| repository().join("examples").join(name).join("flows").is_dir());
    for name in names {
        assert!(EXAMPLES.contains(&name.as_str()), "examples/{name} is not tested");
    }
}

#[tokio::test]
async fn a_difference_is_told_by_its_place_and_the_exit_code_says_so() {
    let folder = greeter();
    let failed = stave(&folder, ["test", "--coverage"]).finish().await.exits(1);
    assert!(failed.stderr.contains("FAIL flows/greeter.yaml:29 greets"), "{failed}");
    assert!(
        failed
            .stderr
            .contains("output.text:\n       - expected \"Hello Bob\"\n       + got      \"Hello Ada\""),
        "{failed}"
    );
    assert!(failed.stderr.contains("ok   flows/greeter.yaml:32 says what is missing"), "{failed}");
    assert!(failed.stderr.contains("1 of 2 nodes, 2 of 4 edges"), "{failed}");
    assert!(failed.stderr.contains("no test reaches greet.text -> shout.text"), "{failed}");
    assert!(failed.stderr.contains("1 passed, 1 failed"), "{failed}");
    let report = stave(&folder, ["test", "--json", "--filter", "missing"]).finish().await.exits(0).json();
    assert_eq!(items(&report, "tests").len(), 1, "{report}");
    let nothing = stave(&folder, ["test", "--filter", "mising"]).finish().await.exits(2);
    assert!(nothing.stderr.contains("no test has `mising`"), "{nothing}");
    assert!(nothing.stderr.contains("says what is missing"), "the tests are named: {nothing}");
}

#[tokio::test]
async fn an_update_changes_what_came_and_nothing_else() {
    let folder = greeter();
    stave(&folder, ["test", "--update"]).finish().await.exits(0);
    let wanted = GREETER.replace(r#"{text: "Hello Bob"}"#, r#"{"text": "Hello Ada"}"#);
    let written = folder.read("flows/greeter.yaml");
    assert_eq!(written.replace(r#"{"text":"Hello Ada"}"#, r#"{"text": "Hello Ada"}"#), wanted);
    stave(&folder, ["test"]).finish().await.exits(0);
}

#[tokio::test]
async fn results_are_written_for_build_servers() {
    let folder = greeter();
    stave(&folder, ["test", "--junit", "report.xml"]).finish().await.exits(1);
    let xml = folder.read("report.xml");
    assert!(xml.contains(r#"<testsuite name="flows/greeter.yaml" tests="2" failures="1""#), "{xml}");
    assert!(xml.contains(r#"name="greets""#) && xml.contains("<failure message="), "{xml}");
    assert!(!xml.contains("\"Hello Bob\""), "quotes are escaped: {xml}");
}

#[tokio::test]
async fn a_call_that_nothing_answers_fails_the_test_without_reaching_anyone() {
    let folder = Folder::new();
    folder.write(
        "flow.yaml",
        format!("{}tests:\n  - {{name: asks, request: {{q: hm}}, expect: {{}}}}\n", asker(9)),
    );
    let failed = stave(&folder, ["test", "flow.yaml"]).finish().await.exits(1);
    assert!(failed.stderr.contains("the run failed: node `ask`"), "{failed}");
}

#[tokio::test]
async fn what_a_model_answers_is_recorded_and_then_replayed() {
    let replies = stave_canon::parse(r#"[{"content": "It is blue."}]"#).unwrap();
    let model = ModelScript::new(replies.as_array().unwrap());
    let server = model.serve().await;
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    let tests = "tests:\n  - name: asks\n    request: {q: hm}\n    recording: recordings/asks.yaml\n    expect: {output: {a: It is blue.}, model_calls: 1}\n";
    folder.write("flow.yaml", format!("{}{tests}", asker(server.port)));
    stave(&folder, ["test", "flow.yaml"]).finish().await.exits(1);
    stave(&folder, ["test", "flow.yaml", "--record"]).finish().await.exits(0);
    assert_eq!(model.log.lock().calls.len(), 1);
    assert!(folder.read("recordings/asks.yaml").contains("It is blue."));
    stave(&folder, ["test", "flow.yaml"]).finish().await.exits(0);
    assert_eq!(model.log.lock().calls.len(), 1, "the model was not asked again");
}

#[tokio::test]
async fn a_test_that_can_not_be_run_is_a_finding() {
    let folder = greeter();
    folder.write("flows/greeter.yaml", GREETER.replace("path: [greet]", "path: [gret]"));
    let refused = stave(&folder, ["test"]).finish().await.exits(2);
    assert!(refused.stderr.contains("bad-test") && refused.stderr.contains("greet"), "{refused}");
    let report = stave(&folder, ["check", "--format", "json", "flows/greeter.yaml"]).finish().await.exits(2);
    assert_eq!(text(items(&report.json(), "diagnostics").first().unwrap(), "code"), Some("bad-test"));
}

/// A model whose failure has a route, so that a run without a reply still succeeds.
const FORGIVING: &str = r#"version: "1.0"
metadata: {name: forgiving}
context: {requires: [q]}
nodes:
  ask:
    type: transform
    inputs: [{name: q, type: string}]
    outputs: [{name: a, type: string}]
    error: {name: failed}
    prompt:
      template: "Answer: {{ q }}"
      model: {provider: openai, name: gpt-4o-mini}
    runtime: {retries: 0}
  sorry:
    type: transform
    inputs: [{name: error, type: object}]
    outputs: [{name: text, type: string}]
    transform: {mode: declarative, spec: {op: io.format_response, args: {template: "Sorry ${error.kind}"}}}
edges:
  - {from: _input.q, to: ask.q}
  - {from: ask.a, to: _output.a}
  - {from: ask.failed, to: sorry.error}
  - {from: sorry.text, to: _output.b}
tests:
"#;

async fn forgiving(tests: &str, code: i32) -> (Value, String) {
    let folder = Folder::new();
    folder.write("flow.yaml", format!("{FORGIVING}{tests}"));
    let arguments = ["test", "flow.yaml", "--json", "--junit", "report.xml"];
    let report = stave(&folder, arguments).finish().await.exits(code).json();
    (report, folder.read("report.xml"))
}

#[tokio::test]
async fn a_call_that_no_reply_matches_fails_the_test_although_an_error_route_answered() {
    let unmatched = "  - name: asks\n    request: {q: hm}\n    models: [{match: {contains: refund}, response: Yes.}]\n    expect: {skipped: []}\n";
    let (report, xml) = forgiving(unmatched, 1).await;
    let problems = items(&items(&report, "tests")[0], "problems");
    let said = problems[0].as_str().unwrap();
    assert_eq!(problems.len(), 1, "{report}");
    assert!(said.contains("Answer: hm") && said.contains("refund"), "{report}");
    assert!(xml.contains("a model call had no reply"), "{xml}");
    // The rule that was never taken is a note.
    let notes = items(&items(&report, "tests")[0], "notes");
    assert!(notes[0].as_str().unwrap().contains("models reply 1 was never taken"), "{report}");
    assert!(xml.contains("<system-out>"), "{xml}");
    // A failure that the test scripts is one that it expects.
    let scripted =
        unmatched.replace("contains: refund}, response: Yes.", "contains: hm}, error: {status: 400}");
    forgiving(&scripted, 0).await;
}

#[tokio::test]
async fn a_budget_that_nothing_measures_fails_the_test() {
    let test = |reply: &str, budget: &str| {
        format!(
            "  - name: asks\n    request: {{q: hm}}\n    models: [{{match: {{}}, response: {reply}}}]\n    expect: {{output: {{a: Yes}}, budget: {budget}}}\n"
        )
    };
    for (word, budget) in [("tokens", "{tokens: 10}"), ("cost_usd", "{cost_usd: 1}")] {
        for reply in ["\"Yes\"", "{content: \"Yes\", usage: {}}", "{content: \"Yes\", usage: {input: 1}}"] {
            let (report, _) = forgiving(&test(reply, budget), 1).await;
            let problem = items(&items(&report, "tests")[0], "problems")[0].as_str().unwrap();
            assert!(problem.starts_with(&format!("budget: {word} not measured")), "{reply}: {report}");
        }
    }
    let metered = "{content: \"Yes\", usage: {input: 3, output: 2}}";
    forgiving(&test(metered, "{tokens: 10}"), 0).await;
    let (report, _) = forgiving(&test(metered, "{tokens: 4}"), 1).await;
    assert!(report.to_string().contains("5 tokens"), "{report}");
}

#[tokio::test]
async fn a_recording_that_is_missing_is_found_by_check() {
    let folder = Folder::new();
    let tests = "  - {name: asks, request: {q: hm}, recording: recordings/none.yaml, expect: {}}\n";
    folder.write("flow.yaml", format!("{FORGIVING}{tests}"));
    let report = stave(&folder, ["check", "flow.yaml", "--json"]).finish().await.exits(2).json();
    let found = &items(&report, "diagnostics")[0];
    assert_eq!(text(found, "code"), Some("bad-test"), "{report}");
    assert!(
        text(found, "message").is_some_and(|message| message.contains("recordings/none.yaml")),
        "{report}"
    );
    folder.write("recordings/none.yaml", "version: 1\nexchanges: []\n");
    stave(&folder, ["check", "flow.yaml"]).finish().await.exits(0);
}
