//! Many references become one digest with content of each, written by a cheap model where the project names one.

use std::sync::Arc;

use stave_canon::Value;

use super::sample::LOOPBACK;
use crate::folder::Folder;
use crate::json::{items, text, values};
use crate::process::{Finished, stave};
use crate::scripted::model::ModelScript;

const FILES: usize = 26;

struct World {
    model: Arc<ModelScript>,
    cheap: Arc<ModelScript>,
    _servers: [crate::scripted::Server; 2],
    folder: Folder,
}

impl World {
    /// A step that refers to many files. The cheap model answers from `digests`.
    async fn new(digests: &str, settings: &str, label: &str) -> World {
        let model =
            ModelScript::new(&values(r#"[{"content": "One."}, {"content": "Two."}, {"content": "Three."}]"#));
        let cheap = ModelScript::new(&values(digests));
        let servers = [model.serve().await, cheap.serve().await];
        let folder = Folder::new();
        let [port, cheap_port] = [servers[0].port, servers[1].port];
        let settings = settings.replace("CHEAP", &format!("http://127.0.0.1:{cheap_port}/v1"));
        let prompt = "[prompt]\ncontext_files = [\"docs/**\"]\n";
        folder.write("stave.toml", format!("{LOOPBACK}\n{prompt}{settings}"));
        let filler = "This line says little that is new.\n".repeat(60);
        for number in 0..FILES {
            let page = format!(
                "# Page {number}\n{filler}The refund limit of region {number} is {number}00 euros.\n{filler}"
            );
            folder.write(&format!("docs/{number}.md"), page);
        }
        let references: Vec<String> = (0..FILES).map(|number| format!("\"file:docs/{number}.md\"")).collect();
        folder.write(
            "flow.yaml",
            format!(
                r#"version: "1.1"
metadata: {{name: asks}}
context: {{requires: [q]{label}}}
nodes:
  answer:
    type: transform
    inputs: [{{name: q, type: string}}]
    outputs: [{{name: a, type: string}}]
    prompt:
      system: Explain the refund limit of each region.
      template: "{{{{ q }}}}"
      model: {{provider: openai, name: gpt-4o-mini, endpoint: "http://127.0.0.1:{port}/v1"}}
      context_refs: [{}]
    runtime: {{timeout_ms: 20000, retries: 0}}
edges:
  - {{from: _input.q, to: answer.q}}
  - {{from: answer.a, to: _output.a}}
"#,
                references.join(", ")
            ),
        );
        World { model, cheap, _servers: servers, folder }
    }

    async fn run(&self, question: &str) -> Finished {
        let request = Value::from_iter([("q", question)]).to_string();
        let run = stave(&self.folder, ["run", "flow.yaml", "--input", "-", "--json"]);
        run.env("OPENAI_API_KEY", "test").input(&request).finish().await
    }
}

fn bodies(model: &ModelScript) -> Vec<String> {
    let log = model.log.lock();
    log.calls.iter().map(|call| String::from_utf8_lossy(&call.body).into_owned()).collect()
}

const CHEAP: &str = "[models.digest]\nprovider = \"openai\"\nname = \"gpt-4o-mini\"\nendpoint = \"CHEAP\"\n";

#[tokio::test]
async fn without_a_model_a_digest_has_the_telling_lines_of_every_file() {
    let world = World::new("[]", "", "").await;
    let finished = world.run("Why?").await.exits(0);
    let body = bodies(&world.model).remove(0);
    for number in 0..FILES {
        assert!(body.contains(&format!("docs/{number}.md")), "{number}: {body}");
        assert!(body.contains(&format!("region {number} is {number}00 euros")), "{number}: {body}");
    }
    assert!(body.matches("This line says little").count() < FILES * 10, "{}", body.len());
    let run = finished.json();
    let shown = stave(&world.folder, ["runs", "show", text(&run, "run_id").unwrap(), "--json"]);
    let shown = shown.finish().await.exits(0).json();
    let asked = &items(shown.get("requests").unwrap(), "answer")[0];
    let kinds: Vec<&str> =
        items(asked, "transformations").iter().filter_map(|change| text(change, "what")).collect();
    assert_eq!(kinds, ["context_digest"], "{asked}");
    let change = &items(asked, "transformations")[0];
    assert_eq!(text(change, "detail"), Some("Compressed 26 refs into digest"), "{asked}");
    assert!(text(change, "before_hash") != text(change, "after_hash"), "{asked}");

    // A project may keep more references as they are.
    let more = World::new("[]", "max_context_refs = 26\n", "").await;
    more.run("Why?").await.exits(0);
    assert!(bodies(&more.model)[0].matches("This line says little").count() > FILES * 100);
}

#[tokio::test]
async fn a_cheap_model_writes_the_digest_once_for_the_same_references() {
    let digests = r#"[{"content": "Limits grow with the region.", "expect_contains": ["region 25 is 2500 euros"]},
        {"content": "The limits changed."}]"#;
    let world = World::new(digests, CHEAP, "").await;
    let finished = world.run("Why?").await.exits(0);
    let asked = bodies(&world.model).remove(0);
    assert!(asked.contains("Limits grow with the region.") && !asked.contains("2500 euros"), "{asked}");
    let usage = |finished: &Finished| finished.json().pointer("/usage/input_tokens").and_then(Value::as_i64);
    let first = usage(&finished).unwrap();
    let report = stave(&world.folder, ["prompt", "report", "--json"]).finish().await.exits(0).json();
    assert_eq!(report.pointer("/flows/requests"), Some(&2.into()), "{report}");

    let again = world.run("Why else?").await.exits(0);
    assert_eq!(bodies(&world.cheap).len(), 1, "the digest is kept");
    assert!(bodies(&world.model)[1].contains("Limits grow with the region."));
    assert!(usage(&again).unwrap() < first, "{first}");
    world.folder.write("docs/0.md", "# Page 0\nNothing is refunded.\n");
    world.run("Why not?").await.exits(0);
    assert_eq!(bodies(&world.cheap).len(), 2, "another text needs another digest");
    assert!(bodies(&world.model)[2].contains("The limits changed."));
    let complaints = format!("{:?}", world.cheap.log.lock());
    assert!(!complaints.contains("the request lacks"), "{complaints}");
}

#[tokio::test]
async fn the_digest_counts_in_the_budget_and_fails_to_the_one_without_a_model() {
    let budget = format!("{CHEAP}[budget]\ntokens = 2000\n");
    let world = World::new(r#"[{"content": "Limits grow."}]"#, &budget, "").await;
    let over = world.run("Why?").await.exits(1);
    assert!(over.stdout.contains("budget-exceeded"), "{over}");
    assert!(bodies(&world.cheap).is_empty() && bodies(&world.model).is_empty());

    let broken = World::new(r#"[{"status": 400, "message": "no"}]"#, CHEAP, "").await;
    let finished = broken.run("Why?").await.exits(0);
    assert!(bodies(&broken.model)[0].contains("region 25 is 2500 euros"));
    assert!(finished.stdout.contains("the digest model was not used"), "{finished}");
}

#[tokio::test]
async fn the_digest_model_is_a_receiver_of_its_own() {
    // The step's model may have restricted data, the digest model at the other port may not.
    let world = World::new(r#"[{"content": "Limits grow."}]"#, "", ", sensitivity: {q: restricted}").await;
    let port = world._servers[0].port;
    let settings = world.folder.read("stave.toml");
    let cheap = CHEAP.replace("CHEAP", &format!("http://127.0.0.1:{}/v1", world._servers[1].port));
    let accepts = format!("[accepts.hosts]\n\"127.0.0.1:{port}\" = \"restricted\"\n");
    world.folder.write("stave.toml", format!("{settings}{cheap}{accepts}"));
    let flow = world.folder.read("flow.yaml");
    let flow = flow.replace("Explain the refund limit of each region.", "Explain the refund limit, {{ q }}.");
    world.folder.write("flow.yaml", flow);
    let finished = world.run("says the moon").await.exits(0);
    assert!(bodies(&world.cheap).is_empty(), "{:?}", bodies(&world.cheap));
    assert!(bodies(&world.model)[0].contains("the moon"));
    assert!(finished.stdout.contains("the digest model was not used"), "{finished}");
}

#[tokio::test]
async fn the_command_line_makes_digests_with_content_too() {
    let world = World::new("[]", "", "").await;
    let references: Vec<String> = (0..FILES).map(|number| format!("file:docs/{number}.md")).collect();
    let prompt = Value::from_iter([
        ("role", Value::from("writer")),
        ("intent", "Explain the refund limit".into()),
        ("phase", "research".into()),
        ("context_refs", references.into()),
        ("constraints", Value::Array(Vec::new())),
        ("output_requirements", Value::from_iter::<[(&str, Value); 0]>([])),
        ("token_budget", 20_000.into()),
    ]);
    world.folder.write("prompt.json", prompt.to_string());
    let text = stave(&world.folder, ["prompt", "compile", "prompt.json", "--text"]).finish().await.exits(0);
    for number in 0..FILES {
        assert!(text.stdout.contains(&format!("region {number} is {number}00 euros")), "{text}");
    }
}

#[tokio::test]
async fn the_records_of_plugins_and_of_the_digest_form_a_chain() {
    let world = World::new("[]", "", "").await;
    let flow = std::fs::read_to_string(world.folder.path().join("flow.yaml")).unwrap();
    let flow = flow.replace("      template:", "      phase: review\n      template:");
    world.folder.write("flow.yaml", flow);
    let run = world.run("Why?").await.exits(0).json();
    let shown = stave(&world.folder, ["runs", "show", text(&run, "run_id").unwrap(), "--json"]);
    let shown = shown.finish().await.exits(0).json();
    let asked = &items(shown.get("requests").unwrap(), "answer")[0];
    let changes = items(asked, "transformations");
    let kinds: Vec<&str> = changes.iter().filter_map(|change| text(change, "what")).collect();
    assert_eq!(kinds, ["budget_optimization", "context_digest"], "{asked}");
    let short = |key: &str| asked.pointer(key).and_then(Value::as_str).map(|hash| hash[..16].to_owned());
    let hash = |index: usize, key: &str| text(&changes[index], key).map(str::to_owned);
    assert_eq!(short("/prompt_ir/built_hash"), hash(0, "before_hash"), "{asked}");
    assert_eq!(hash(0, "after_hash"), hash(1, "before_hash"), "{asked}");
    assert_eq!(hash(1, "after_hash"), short("/prompt_ir/hash"), "{asked}");
}
