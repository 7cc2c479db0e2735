//! What prompts of flows require of their answers, and the templates of their roles, reach the model and are checked.

use std::sync::Arc;

use stave_canon::Value;

use super::sample::LOOPBACK;
use crate::folder::Folder;
use crate::process::{Finished, stave};
use crate::scripted::Server;
use crate::scripted::model::ModelScript;

const TEMPLATES: &str = r"
templates:
  judge:
    goal: Judge the case in one word.
    constraints: [Hear both sides]
    output_schema: {format: text}
    model_preferences: {openai: Think in silence., anthropic: Never said here.}
  default:
    goal: Do as you are told.
schemas:
  verdict: {guilty: boolean, reason: string}
";

fn flow(version: &str, port: u16, answer: &str, lines: &str) -> String {
    format!(
        r#"version: "{version}"
metadata: {{name: asks}}
context: {{requires: [q]}}
nodes:
  reviewer:
    type: transform
    inputs: [{{name: q, type: string}}]
    outputs: [{{name: a, type: {answer}}}]
    prompt:
      system: You sit in a court.
      template: "{{{{ q }}}}"
      model: {{provider: openai, name: gpt-4o-mini, endpoint: "http://127.0.0.1:{port}/v1"}}
      {lines}
    runtime: {{timeout_ms: 20000}}
edges:
  - {{from: _input.q, to: reviewer.q}}
  - {{from: reviewer.a, to: _output.a}}
"#
    )
}

struct World {
    model: Arc<ModelScript>,
    _server: Server,
    folder: Folder,
}

impl World {
    async fn new(answer: &str, lines: &str, answers: &[&str]) -> World {
        let replies = answers.iter().map(|answer| Value::from_iter([("content", *answer)]));
        let model = ModelScript::new(&replies.collect::<Vec<_>>());
        let server = model.serve().await;
        let folder = Folder::new();
        folder.write("stave.toml", LOOPBACK);
        folder.write("templates/roles.yaml", TEMPLATES);
        folder.write("flow.yaml", flow("1.1", server.port, answer, &lines.replace("; ", "\n      ")));
        World { model, _server: server, folder }
    }

    async fn run(&self) -> Finished {
        let run = stave(&self.folder, ["run", "flow.yaml", "--input", "-", "--json"]);
        run.env("OPENAI_API_KEY", "test").input(r#"{"q": "Is he?"}"#).finish().await
    }

    async fn check(&self) -> Finished {
        stave(&self.folder, ["check", "flow.yaml"]).finish().await
    }

    fn bodies(&self) -> Vec<String> {
        let log = self.model.log.lock();
        log.calls.iter().map(|call| String::from_utf8_lossy(&call.body).into_owned()).collect()
    }
}

#[tokio::test]
async fn requirements_are_said_checked_and_repaired() {
    for lines in ["output_requirements: {guilty: boolean, reason: string}", "schema_id: verdict"] {
        let good = r#"{"guilty": true, "reason": "He said so."}"#;
        let world = World::new("object", lines, &[r#"{"guilty": "yes"}"#, good]).await;
        world.check().await.exits(0);
        let report = world.run().await.exits(0).json();
        assert_eq!(report.pointer("/output/a/guilty"), Some(&Value::Bool(true)), "{lines}: {report}");
        let bodies = world.bodies();
        assert!(
            bodies[0].contains("Reply with JSON that fits this") && bodies[0].contains("guilty"),
            "{lines}"
        );
        assert!(bodies[1].contains("Your reply cannot be used") && bodies[1].contains("/guilty"), "{lines}");
        let failing = World::new("object", lines, &["{}", "{}"]).await;
        let failed = failing.run().await.exits(1);
        assert!(failed.stdout.contains("model-reply-invalid"), "{lines}: {failed}");
    }
}

#[tokio::test]
async fn every_part_of_the_long_form_reaches_the_model() {
    let lines = "output_requirements: {format: markdown, required_fields: [Verdict], max_tokens: 300, example: \"An example.\", error_format: \"No verdict.\"}";
    let world = World::new("string", lines, &["# Verdict\nNo."]).await;
    let report = world.run().await.exits(0).json();
    assert_eq!(report.pointer("/output/a").and_then(Value::as_str), Some("# Verdict\nNo."));
    for said in ["Reply in Markdown", "Verdict", "An example.", "No verdict.", "300 tokens"] {
        assert!(world.bodies()[0].contains(said), "{said}");
    }
    let answer = format!("# Verdict\n{}", "no ".repeat(400));
    let long = World::new("string", lines, &[&answer, "# Verdict\nNo."]).await;
    long.run().await.exits(0);
    assert!(long.bodies()[1].contains("more than 300"), "{}", long.bodies()[1]);
}

#[tokio::test]
async fn a_template_shapes_the_prompt_of_a_role_and_of_no_other_node() {
    for lines in ["role: judge", "role: clerk; template_id: judge"] {
        let world = World::new("string", lines, &["Guilty."]).await;
        world.run().await.exits(0);
        let body = &world.bodies()[0];
        for said in
            ["Judge the case in one word.", "Think in silence.", "Hear both sides", "in plain text", "court"]
        {
            assert!(body.contains(said), "{lines} {said}: {body}");
        }
        assert!(!body.contains("Never said here"), "{body}");
    }
    let general = World::new("string", "role: clerk", &["Guilty."]).await;
    general.run().await.exits(0);
    assert!(general.bodies()[0].contains("Do as you are told."), "{}", general.bodies()[0]);
    // The id of a node is no role.
    let none = World::new("string", "temperature: 0", &["Guilty."]).await;
    none.run().await.exits(0);
    assert!(!none.bodies()[0].contains("find what is wrong"), "{}", none.bodies()[0]);
    // A built-in role requires JSON unless the prompt says otherwise.
    let own = World::new("string", "role: reviewer; output_requirements: {format: text}", &["Fine."]).await;
    own.check().await.exits(0);
    own.run().await.exits(0);
    assert!(own.bodies()[0].contains("find what is wrong"), "{}", own.bodies()[0]);
}

#[tokio::test]
async fn a_compiled_flow_carries_what_its_prompts_name() {
    let world = World::new("string", "role: judge", &["Guilty."]).await;
    stave(&world.folder, ["compile", "flow.yaml", "--out", "out"]).finish().await.exits(0);
    let compiled = world.folder.read("out/flows/asks.ir.json");
    assert!(compiled.contains("Judge the case") && !compiled.contains("Do as you are told"), "{compiled}");
    world.folder.write("templates/roles.yaml", TEMPLATES.replace("Judge the case", "Weigh the case"));
    stave(&world.folder, ["compile", "flow.yaml", "--out", "out"]).finish().await.exits(0);
    assert!(world.folder.read("out/flows/asks.ir.json").contains("Weigh the case"));
}

#[tokio::test]
async fn check_reports_what_cannot_hold() {
    for (answer, lines, exit, said) in [
        ("object", "schema_id: verdikt", 2, "unknown-schema"),
        ("string", "template_id: juge", 2, "unknown-template"),
        ("object", "schema_id: verdict; output_requirements: {a: string}", 2, "competing-requirements"),
        (
            "object",
            "output_schema: {type: object}; output_requirements: {a: string}",
            2,
            "competing-requirements",
        ),
        ("object", "output_requirements: {format: json, max_tokens: -1}", 2, "bad-schema"),
        ("object", "output_requirements: {type: object, properties: 3}", 2, "bad-schema"),
        ("object", "output_requirements: json", 2, "wrong-type"),
        ("string", "role: reviewer", 2, "disjoint-schemas"),
        ("string", "schema_id: verdict", 2, "disjoint-schemas"),
        ("object", "role: judge", 2, "disjoint-schemas"),
        ("object", "schema_id: default; output_requirements: {a: string}", 0, "no errors"),
        (
            "object",
            "output_requirements: {a: string}; fallback: {on: any, static_response: \"{}\"}",
            2,
            "bad-static-response",
        ),
    ] {
        let world = World::new(answer, lines, &[]).await;
        let checked = world.check().await;
        let text = format!("{}{}", checked.stdout, checked.stderr);
        assert!(checked.code == exit && (exit == 0 || text.contains(said)), "{lines}: {checked}");
    }
    let world = World::new("object", "schema_id: verdict", &[]).await;
    let old = world.folder.read("flow.yaml").replace("\"1.1\"", "\"1.0\"");
    world.folder.write("flow.yaml", old);
    let checked = world.check().await.exits(2);
    assert!(checked.stderr.contains("needs-later-version") && checked.stderr.contains("1.1"), "{checked}");
}

#[tokio::test]
async fn check_warns_of_a_file_that_is_not_there() {
    for (reference, warns) in [
        ("file:docs/none.md", true),
        ("file:docs/none.md#L3", true),
        ("file:docs/*.txt", true),
        ("file:docs/a.md", false),
        ("file:docs/*.md", false),
        ("file:docs/${q}.md", false),
    ] {
        let world = World::new("string", &format!("context_refs: [\"{reference}\"]"), &[]).await;
        world.folder.write("stave.toml", format!("{LOOPBACK}\n[prompt]\ncontext_files = [\"docs/**\"]\n"));
        world.folder.write("docs/a.md", "A");
        let checked = world.check().await.exits(0);
        assert_eq!(checked.stderr.contains("context-unavailable"), warns, "{reference}: {checked}");
    }
}
