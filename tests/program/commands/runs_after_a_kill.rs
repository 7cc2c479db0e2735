//! Runs whose process is killed at any moment: what was finished is not repeated, and the answer is the one
//! of a run that nobody killed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stave_canon::Value;

use super::sample::LOOPBACK;
use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::stave;
use crate::scripted::{Call, Reply, Server, serve};

/// How often a flow is killed in one test, at moments that a fixed seed gives.
const KILLS: u64 = 10;

/// The calls that a host saw, by path and then by `Idempotency-Key`.
#[derive(Debug, Clone, Default)]
struct Effects(Arc<Mutex<BTreeMap<String, BTreeMap<String, usize>>>>);

impl Effects {
    async fn serve(&self) -> Server {
        let effects = self.clone();
        serve(move |call: Call| {
            let effects = effects.clone();
            async move {
                let key = call.headers.get("idempotency-key").expect("every effect has a key");
                let (path, key) = (call.address.path().to_owned(), key.to_str().unwrap().to_owned());
                {
                    let mut seen = effects.0.lock().unwrap_or_else(PoisonError::into_inner);
                    *seen.entry(path.clone()).or_default().entry(key).or_default() += 1;
                }
                // The effect has happened; the caller may die before it receives the answer.
                tokio::time::sleep(Duration::from_millis(15)).await;
                Reply::json(200, format!("{{\"done\": \"{path}\"}}"))
            }
        })
        .await
    }

    /// How often each path was called.
    fn counts(&self) -> BTreeMap<String, usize> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().map(|(path, keys)| (path.clone(), keys.values().sum())).collect()
    }

    fn keys_of(&self, path: &str) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path).map_or(0, BTreeMap::len)
    }

    /// Some milliseconds after so many calls more, which is in the middle of whatever happens then.
    async fn moment(&self, calls: u64, milliseconds: u64) {
        let total = || self.counts().values().sum::<usize>() as u64;
        let wanted = total() + calls;
        while total() < wanted {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
    }

    fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

const STEPS: [&str; 4] = ["charge", "ship", "mail", "close"];

/// Two effects beside each other between two others, and a counter that counts the runs of its session.
fn order_flow(port: u16) -> String {
    let post = |name: &str| {
        format!(
            r#"  {name}:
    type: transform
    inputs: [{{name: order, type: object}}]
    outputs: [{{name: order, type: object}}]
    transform:
      mode: declarative
      spec: {{op: http.post, args: {{url: "http://127.0.0.1:{port}/{name}", body: "${{order}}"}}}}
"#
        )
    };
    format!(
        r#"version: "1.0"
metadata: {{name: orders}}
context: {{requires: [order, session_id]}}
nodes:
{}  count:
    type: transform
    inputs: [{{name: order, type: object}}]
    outputs: [{{name: n, type: number}}]
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            n = await state.get('n', 0) + 1
            await state.set('n', n)
            return {{'n': n}}
    state: {{scope: session, key: "{{session_id}}"}}
edges:
  - {{from: _input.order, to: charge.order}}
  - {{from: charge.order, to: ship.order}}
  - {{from: charge.order, to: mail.order}}
  - {{from: ship.order, to: close.order}}
  - {{from: close.order, to: count.order}}
  - {{from: mail.order, to: _output.mail}}
  - {{from: count.n, to: _output.n}}
"#,
        STEPS.map(post).concat()
    )
}

fn shop(port: u16) -> Folder {
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    folder.write("flow.yaml", order_flow(port));
    folder
}

fn request(folder: &Folder, session: u64) {
    folder.write("request.json", format!(r#"{{"order": {{"id": {session}}}, "session_id": "s{session}"}}"#));
}

const RUN: [&str; 5] = ["run", "flow.yaml", "--input", "request.json", "--json"];

/// Small numbers that look random and are the same in every run of the test.
fn scattered(seed: u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5678);
    state ^= state >> 31;
    state = state.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state ^ (state >> 29)
}

/// The one run that has not ended.
async fn unfinished(folder: &Folder) -> Option<String> {
    let listed = stave(folder, ["runs", "list", "--json"]).finish().await.exits(0).json();
    let runs = items(&listed, "runs").iter().filter(|run| text(run, "status") == Some("interrupted"));
    let ids: Vec<String> = runs.filter_map(|run| text(run, "run_id")).map(str::to_owned).collect();
    assert!(ids.len() <= 1, "{listed}");
    ids.into_iter().next()
}

/// The steps whose result is kept.
async fn finished_steps(folder: &Folder, run: &str) -> Vec<String> {
    let shown = stave(folder, ["runs", "show", run, "--json"]).finish().await.exits(0).json();
    shown.get("outputs").and_then(Value::as_object).unwrap().keys().cloned().collect()
}

#[tokio::test]
async fn a_killed_run_repeats_no_finished_step_and_answers_the_same() {
    let effects = Effects::default();
    let server = effects.serve().await;
    let folder = shop(server.port);
    request(&folder, 0);
    let undisturbed = stave(&folder, RUN).finish().await.exits(0).json();
    let output = |report: &Value| report.get("output").map(Value::to_string).unwrap();
    let wanted = output(&undisturbed);
    let mut interrupted = 0;
    for kill in 1..=KILLS {
        effects.forget();
        request(&folder, kill);
        let moment = (scattered(kill) % 4, scattered(kill + 100) % 40);
        if stave(&folder, RUN).killed_at(effects.moment(moment.0, moment.1)).await.is_none() {
            continue;
        }
        let Some(run) = unfinished(&folder).await else { continue };
        interrupted += 1;
        // It may be killed once more while it is being resumed.
        let again = effects.moment(scattered(kill + 200) % 2, scattered(kill + 300) % 40);
        let before = effects.counts();
        let known = finished_steps(&folder, &run).await;
        stave(&folder, ["runs", "resume", &run, "--json"]).killed_at(again).await;
        if unfinished(&folder).await.is_some() {
            stave(&folder, ["runs", "resume", &run, "--json"]).finish().await.exits(0);
        }
        let report = stave(&folder, ["runs", "show", &run, "--json"]).finish().await;
        let report = report.exits(0).json();
        assert_eq!(output(&report), wanted, "after a kill at {moment:?}\n{report}");
        let after = effects.counts();
        for step in known.iter().filter(|step| STEPS.contains(&step.as_str())) {
            let path = format!("/{step}");
            assert_eq!(before.get(&path), after.get(&path), "{step} was finished and was repeated");
        }
        for step in STEPS {
            assert_eq!(effects.keys_of(&format!("/{step}")), 1, "{step} must keep its key: {after:?}");
        }
    }
    assert!(interrupted >= 3, "only {interrupted} kills came in the middle of a run");
}

#[tokio::test]
async fn a_run_that_another_process_works_on_is_not_resumed() {
    let effects = Effects::default();
    let server = effects.serve().await;
    let folder = shop(server.port);
    request(&folder, 1);
    let alive = stave(&folder, RUN).killed_at(tokio::time::sleep(Duration::from_secs(30)));
    let other = async {
        let listed = loop {
            let listed = stave(&folder, ["runs", "list", "--json"]).finish().await.exits(0).json();
            if !items(&listed, "runs").is_empty() {
                break listed;
            }
        };
        let run = items(&listed, "runs").iter().next().cloned().unwrap();
        if text(&run, "status") == Some("running") {
            let id = text(&run, "run_id").unwrap().to_owned();
            let refused = stave(&folder, ["runs", "resume", &id]).finish().await;
            assert!(
                refused.stderr.contains("another process") || refused.stderr.contains("has ended"),
                "{refused}"
            );
            assert_eq!(refused.code, 2, "{refused}");
        }
    };
    tokio::join!(alive, other);
    for step in STEPS {
        assert_eq!(effects.keys_of(&format!("/{step}")), 1);
    }
}
