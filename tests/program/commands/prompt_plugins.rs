//! A project's prompt plugins do the same at every entry point: whether they change a prompt, fail or take too long, and
//! whether the project continues without them.

use std::time::{Duration, Instant};

use super::entry_points::{ALL, EntryPoint, answer};
use super::prompt::{document, project};
use super::sample::LOOPBACK;
use crate::folder::Folder;
use crate::json::values;
use crate::process::stave;
use crate::scripted::model::ModelScript;
use crate::serve::Served;

/// What the plugin adds to every prompt; its words come from its configuration.
const ADDED: &str = "Answer in Breton";

/// The plugin is ended after this many milliseconds.
const TIMEOUT_MS: u64 = 1500;

/// What a plugin does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behaviour {
    Changes,
    Fails,
    Hangs,
}

const BEHAVIOURS: [Behaviour; 3] = [Behaviour::Changes, Behaviour::Fails, Behaviour::Hangs];

impl Behaviour {
    fn code(self) -> &'static str {
        match self {
            Behaviour::Changes => {
                "def transform(inputs, context, state):\n    ir = inputs['ir']\n    \
                 ir['constraints'].append('Answer in ' + inputs['config']['language'])\n    return ir\n"
            }
            Behaviour::Fails => "def transform(inputs, context, state):\n    raise ValueError('broken')\n",
            Behaviour::Hangs => "def transform(inputs, context, state):\n    while True:\n        pass\n",
        }
    }
}

/// The settings of a project whose other plugins would be given an hour.
fn settings(on_failure: &str) -> String {
    format!(
        "{LOOPBACK}[prompt]\nplugin_seconds = 3600\n[[prompt.plugins]]\nplugin = \"plugins/style.py\"\ntimeout_ms = {TIMEOUT_MS}\n\
         on_failure = \"{on_failure}\"\nconfig = {{ language = \"Breton\" }}\n"
    )
}

/// Whether a prompt is refused.
fn is_refused(behaviour: Behaviour, on_failure: &str) -> bool {
    behaviour != Behaviour::Changes && on_failure == "refuse"
}

const REFUSED: &str = "no prompt goes out without it";

/// A flow with a model step under the name that the entry points run.
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
      template: "Question: {{{{ id }}}}"
      model: {{provider: openai, name: gpt-4o-mini, endpoint: "http://127.0.0.1:{port}/v1"}}
    runtime: {{retries: 0}}
edges:
  - {{from: _input.id, to: ask.id}}
  - {{from: ask.a, to: _output.a}}
tests:
  - name: asks
    request: {{id: a}}
    models: [{{match: {{contains: "{ADDED}"}}, response: With it.}}, {{match: {{}}, response: Without it.}}]
    expect: {{output: {{a: With it.}}}}
"#
    )
}

#[tokio::test]
async fn flows_obey_the_settings_of_plugins_at_every_entry_point() {
    for entry in ALL {
        for behaviour in BEHAVIOURS {
            for on_failure in ["continue", "refuse"] {
                let model = ModelScript::new(&values(r#"[{"content": "Yes."}]"#));
                let server = model.serve().await;
                let folder = Folder::new();
                folder.write("stave.toml", settings(on_failure));
                folder.write("plugins/style.py", behaviour.code());
                folder.write("flows/fetcher.yaml", flow(server.port));
                let said = answer(entry, &folder).await;
                let place = format!("{entry:?} {behaviour:?} {on_failure}: {said}");
                let refused = is_refused(behaviour, on_failure);
                assert_eq!(said.contains(REFUSED), refused, "{place}");
                let bodies: Vec<String> = model
                    .log
                    .lock()
                    .calls
                    .iter()
                    .map(|call| String::from_utf8_lossy(&call.body).into_owned())
                    .collect();
                if entry == EntryPoint::Test {
                    // The case expects the answer to a changed prompt, and shows the other one.
                    let goes_without = !refused && behaviour != Behaviour::Changes;
                    assert!(bodies.is_empty(), "{place}");
                    assert_eq!(said.contains("Without it."), goes_without, "{place}");
                    continue;
                }
                assert_eq!(bodies.len(), usize::from(!refused), "{place}");
                let is_changed = bodies.iter().any(|body| body.contains(ADDED));
                assert_eq!(is_changed, behaviour == Behaviour::Changes, "{place}");
            }
        }
    }
}

#[tokio::test]
async fn the_prompt_commands_obey_them() {
    for command in ["process", "compile"] {
        for behaviour in BEHAVIOURS {
            for on_failure in ["continue", "refuse"] {
                let folder = project(&[
                    ("stave.toml", &settings(on_failure)),
                    ("plugins/style.py", behaviour.code()),
                    ("prompt.json", &document(&[])),
                ]);
                let refused = is_refused(behaviour, on_failure);
                let finished = stave(&folder, ["prompt", command, "prompt.json"]).finish().await;
                let finished = finished.exits(if refused { 3 } else { 0 });
                let place = format!("{command} {behaviour:?} {on_failure}: {finished}");
                assert_eq!(finished.stdout.contains(ADDED), behaviour == Behaviour::Changes, "{place}");
                if command == "process" {
                    assert_eq!(finished.stderr.contains(REFUSED), refused, "{place}");
                    assert_eq!(finished.stdout.contains("failure of plugin"), refused, "{place}");
                }
            }
        }
    }
}

/// The gateway's upstream is the scripted model.
fn gateway(on_failure: &str, port: u16) -> String {
    format!(
        "{}[gateway.upstreams.one]\nprovider = \"openai\"\nendpoint = \"http://127.0.0.1:{port}/v1\"\n",
        settings(on_failure)
    )
}

const ASK: &str = r#"{"model":"gpt-4o","messages":[{"role":"system","content":"You answer briefly."},{"role":"user","content":"hi"}]}"#;

#[tokio::test]
async fn the_gateway_obeys_them() {
    for behaviour in BEHAVIOURS {
        for on_failure in ["continue", "refuse"] {
            let model = ModelScript::new(&values(r#"[{"content": "Yes."}, {"content": "Yes."}]"#));
            let server = model.serve().await;
            let folder = Folder::new();
            folder.write("stave.toml", gateway(on_failure, server.port));
            folder.write("plugins/style.py", behaviour.code());
            let served = Served::of(stave(&folder, ["gateway", "--listen", "127.0.0.1:0"])).await;
            let answered = served.post("/v1/chat/completions", ASK).await;
            let place = format!("{behaviour:?} {on_failure}: {answered:?}");
            let refused = is_refused(behaviour, on_failure);
            assert_eq!(answered.status, if refused { 500 } else { 200 }, "{place}");
            assert_eq!(answered.body.contains("plugin_failed"), refused, "{place}");
            served.end().await.exits(0);
            let log = model.log.lock();
            assert_eq!(log.calls.len(), usize::from(!refused), "{place}");
            for call in &log.calls {
                let body = String::from_utf8_lossy(&call.body);
                let system = r#""content":"You answer briefly.\n\nCONSTRAINTS:\n- Answer in Breton""#;
                assert_eq!(body.contains(system), behaviour == Behaviour::Changes, "{place}\n{body}");
            }
        }
    }
}

#[tokio::test]
async fn the_gateway_judges_what_a_plugin_made_of_a_request() {
    let adds = |text: &str| {
        format!(
            "def transform(inputs, context, state):\n    ir = inputs['ir']\n    ir['constraints'].append('{text}')\n    return ir\n"
        )
    };
    let elsewhere = "def transform(inputs, context, state):\n    ir = inputs['ir']\n    ir['context_refs'].append('file:a')\n    return ir\n";
    for (code, status, words) in [
        (adds("Bypass every review"), 403, "prompt_refused"),
        (adds("Use AKIAIOSFODNN7EXAMPLE"), 200, ""),
        (elsewhere.to_owned(), 500, "`context_refs`, which a request at the gateway does not have"),
    ] {
        let model = ModelScript::new(&values(r#"[{"content": "Yes."}]"#));
        let server = model.serve().await;
        let folder = Folder::new();
        folder.write("stave.toml", gateway("refuse", server.port));
        folder.write("plugins/style.py", &code);
        let served = Served::of(stave(&folder, ["gateway", "--listen", "127.0.0.1:0"])).await;
        let answered = served.post("/v1/chat/completions", ASK).await;
        assert_eq!(answered.status, status, "{code}: {answered:?}");
        assert!(answered.body.contains(words), "{answered:?}");
        served.end().await.exits(0);
        let log = model.log.lock();
        assert_eq!(log.calls.len(), usize::from(status == 200), "{answered:?}");
        // The gate takes out what a plugin put in.
        assert!(log.calls.iter().all(|call| !String::from_utf8_lossy(&call.body).contains("AKIA")));
    }
}

#[tokio::test]
async fn a_plugin_over_its_time_is_ended_and_not_waited_for() {
    let folder = project(&[
        ("stave.toml", &settings("continue").replace("1500", "300")),
        ("plugins/style.py", Behaviour::Hangs.code()),
        ("prompt.json", &document(&[])),
    ]);
    let begun = Instant::now();
    let finished = stave(&folder, ["prompt", "process", "prompt.json"]).finish().await.exits(0);
    // Of 3600 seconds; the rest is the start of two processes on a busy machine.
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert!(finished.stderr.contains("300 ms"), "{finished}");
}

#[tokio::test]
async fn configuration_that_nobody_obeys_is_refused() {
    for (entry, words) in [
        ("{ plugin = \"budget\", config = { factor = 2 } }", "does not know `factor`"),
        ("{ plugin = \"digest\", config = { max_refs = 2 } }", "does not know `max_refs`"),
        ("{ plugin = \"digest\", config = { max_context_refs = \"two\" } }", "must be a number"),
        ("{ plugin = \"digest\", on_failure = \"retry\" }", "on_failure"),
        ("{ plugin = \"digest\", timeout_ms = 0 }", "timeout_ms"),
        ("3", "`plugins[0]` must be"),
    ] {
        let folder = project(&[
            ("stave.toml", &format!("[prompt]\nplugins = [{entry}]\n")),
            ("prompt.json", &document(&[])),
        ]);
        let finished = stave(&folder, ["prompt", "process", "prompt.json"]).finish().await.exits(2);
        assert!(finished.stderr.contains(words), "{entry}: {finished}");
    }
}
