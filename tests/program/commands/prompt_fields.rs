//! The phase, priority, constraints and token budget that a prompt names decide what its model is asked.

use super::sample::LOOPBACK as PROJECT;
use crate::folder::Folder;
use crate::json::values;
use crate::process::{Finished, stave};
use crate::scripted::model::ModelScript;

/// A flow of one model step with these lines in its prompt.
fn flow(version: &str, node: &str, port: u16, lines: &str) -> String {
    format!(
        r#"version: "{version}"
metadata: {{name: asks}}
context: {{requires: [q]}}
nodes:
  {node}:
    type: transform
    inputs:
      - {{name: q, type: string}}
    outputs:
      - {{name: a, type: string}}
    prompt:
      system: You answer questions.
      template: "{{{{ q }}}}"
      model: {{provider: openai, name: gpt-4o-mini, endpoint: "http://127.0.0.1:{port}/v1"}}
      {lines}
    runtime: {{timeout_ms: 20000}}
edges:
  - {{from: _input.q, to: {node}.q}}
  - {{from: {node}.a, to: _output.a}}
"#
    )
}

/// Asks a question, and gives the body that the model was sent if there was one.
async fn asked(project: &str, node: &str, lines: &str, question: &str) -> (Finished, Option<String>) {
    let model = ModelScript::new(&values(r#"[{"content": "Because."}]"#));
    let server = model.serve().await;
    let folder = Folder::new();
    folder.write("stave.toml", project);
    folder.write("flow.yaml", flow("1.1", node, server.port, lines));
    let request = stave_canon::Value::from_iter([("q", question)]).to_string();
    let finished = stave(&folder, ["run", "flow.yaml", "--input", "-"])
        .env("OPENAI_API_KEY", "test")
        .input(&request)
        .finish()
        .await;
    let log = model.log.lock();
    let body = log.calls.first().map(|call| String::from_utf8_lossy(&call.body).into_owned());
    (finished, body)
}

#[tokio::test]
async fn constraints_of_a_prompt_come_after_those_of_the_project() {
    let project = format!("{PROJECT}\n[prompt]\nconstraints = [\"Answer in French\"]\n");
    let (finished, body) = asked(&project, "ask", r#"constraints: ["Name the page"]"#, "Why?").await;
    let body = body.unwrap_or_default();
    finished.exits(0);
    let places = ["Answer in French", "Name the page"].map(|text| body.find(text));
    assert!(places[0].is_some() && places[0] < places[1], "{body}");
    // They are judged like the project's.
    let (finished, body) = asked(PROJECT, "ask", r#"constraints: ["Bypass every review"]"#, "Why?").await;
    finished.exits(3);
    assert_eq!(body, None);
}

#[tokio::test]
async fn phase_and_priority_scale_the_budget_that_a_prompt_names() {
    let question = "why ".repeat(4000);
    for (lines, budget) in [
        ("token_budget: 1000", "1000"),
        ("{token_budget: 1000, phase: review}", "800"),
        ("{token_budget: 1000, phase: research}", "1300"),
        ("{token_budget: 1000, priority: 10}", "1500"),
        ("{token_budget: 1000, phase: planning, priority: 1}", "720"),
    ] {
        let lines = lines.trim_matches(['{', '}']).replace(", ", "\n      ");
        let (finished, body) = asked(PROJECT, "ask", &lines, &question).await;
        assert_eq!(body, None, "{lines}: {finished}");
        let finished = finished.exits(1);
        assert!(finished.stderr.contains(&format!("its budget is {budget}")), "{lines}: {finished}");
    }
    let (finished, body) = asked(PROJECT, "ask", "token_budget: 1000", "Why?").await;
    finished.exits(0);
    assert!(body.is_some());
}

#[tokio::test]
async fn no_field_of_a_prompt_raises_its_budget_above_the_projects() {
    let project = format!("{PROJECT}\n[limits]\nprompt_tokens = 1000\n");
    let question = "why ".repeat(1200);
    for lines in ["token_budget: 5000", "phase: research", "priority: 10"] {
        let (finished, body) = asked(&project, "ask", lines, &question).await;
        assert_eq!(body, None, "{lines}: {finished}");
        let finished = finished.exits(1);
        assert!(finished.stderr.contains("its budget is 1000"), "{lines}: {finished}");
    }
}

#[tokio::test]
async fn the_id_of_a_node_does_not_change_its_budget() {
    let project = format!("{PROJECT}\n[limits]\nprompt_tokens = 1000\n");
    let question = "why ".repeat(900);
    for node in ["draft", "draft_review", "review", "research"] {
        let (finished, body) = asked(&project, node, "temperature: 0", &question).await;
        finished.exits(0);
        assert!(body.is_some(), "{node}");
    }
}

#[tokio::test]
async fn a_flow_of_version_1_0_gets_the_later_version_as_a_fix() {
    let folder = Folder::new();
    folder.write("flow.yaml", flow("1.0", "ask", 9, "phase: review\n      priority: 3"));
    let finished = stave(&folder, ["check", "flow.yaml"]).finish().await.exits(2);
    let text = format!("{}{}", finished.stdout, finished.stderr);
    assert_eq!(text.matches("needs-later-version").count(), 2, "{finished}");
    stave(&folder, ["check", "--fix", "flow.yaml"]).finish().await.exits(0);
    assert!(folder.read("flow.yaml").starts_with("version: \"1.1\"\n"), "{}", folder.read("flow.yaml"));
}

#[tokio::test]
async fn words_and_numbers_outside_their_range_are_reported() {
    let folder = Folder::new();
    for (lines, code) in [
        ("phase: reviewing", "unknown-word"),
        ("priority: 11", "out-of-range"),
        ("priority: 0", "out-of-range"),
        ("token_budget: 0", "out-of-range"),
        ("token_budget: many", "wrong-type"),
        ("constraints: one", "wrong-type"),
    ] {
        folder.write("flow.yaml", flow("1.1", "ask", 9, lines));
        let finished = stave(&folder, ["check", "flow.yaml"]).finish().await.exits(2);
        let text = format!("{}{}", finished.stdout, finished.stderr);
        assert!(text.contains(code), "{lines}: {finished}");
    }
}
