//! A hundred runs in flight while something is killed without warning: nothing is lost, no finished step is done
//! again, and every run ends once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use stave_canon::Value;

use super::cluster::{Cluster, free_ports};
use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::stave;
use crate::scripted::{Call, Reply, Server, serve};
use crate::serve::client::{Served, ask};

const RUNS: usize = 100;
/// How long all runs together may take.
const PATIENCE: Duration = Duration::from_secs(180);

/// A step, two side by side after it, and one that needs both. Each tells the host which run and which worker it is.
const FLOW: &str = r#"version: "1.0"
metadata: {name: fan}
context: {requires: [id]}
nodes:
  a:
    type: transform
    inputs: [{name: id, type: string}]
    outputs: [{name: got, type: object}]
    transform: {mode: declarative, spec: {op: http.post, args: {url: 'http://127.0.0.1:PORT/a', body: {id: '${id}'}, headers: {X-Worker: '${secrets.WORKER_NAME}'}}}}
  b:
    type: transform
    inputs: [{name: got, type: object}]
    outputs: [{name: got, type: object}]
    transform: {mode: declarative, spec: {op: http.post, args: {url: 'http://127.0.0.1:PORT/b', body: {id: '${got.id}'}, headers: {X-Worker: '${secrets.WORKER_NAME}'}}}}
  c:
    type: transform
    inputs: [{name: got, type: object}]
    outputs: [{name: got, type: object}]
    transform: {mode: declarative, spec: {op: http.post, args: {url: 'http://127.0.0.1:PORT/c', body: {id: '${got.id}'}, headers: {X-Worker: '${secrets.WORKER_NAME}'}}}}
  d:
    type: transform
    inputs: [{name: left, type: object}, {name: right, type: object}]
    outputs: [{name: got, type: object}]
    transform: {mode: declarative, spec: {op: http.post, args: {url: 'http://127.0.0.1:PORT/d', body: {id: '${left.id}'}, headers: {X-Worker: '${secrets.WORKER_NAME}'}}}}
edges:
  - {from: _input.id, to: a.id}
  - {from: a.got, to: b.got}
  - {from: a.got, to: c.got}
  - {from: b.got, to: d.left}
  - {from: c.got, to: d.right}
  - {from: d.got, to: _output.got}
"#;

/// What the host saw: how often each step of each run was done, and by whom.
#[derive(Debug, Default)]
struct Seen {
    calls: BTreeMap<(String, String), usize>,
    workers: BTreeSet<String>,
}

/// A host that takes a while and counts.
struct World {
    seen: Arc<Mutex<Seen>>,
    server: Server,
}

impl World {
    async fn start() -> World {
        let seen: Arc<Mutex<Seen>> = Arc::default();
        let counting = Arc::clone(&seen);
        let server = serve(move |call: Call| {
            let seen = Arc::clone(&counting);
            async move {
                let body = stave_canon::parse_bytes(&call.body).unwrap_or_default();
                let id = text(&body, "id").unwrap_or_default().to_owned();
                let node = call.address.path().trim_start_matches('/').to_owned();
                let worker = call.headers.get("x-worker").and_then(|worker| worker.to_str().ok());
                {
                    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                    *seen.calls.entry((id, node)).or_default() += 1;
                    seen.workers.extend(worker.map(str::to_owned));
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
                Reply::json(200, body.to_string())
            }
        })
        .await;
        World { seen, server }
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn calls(&self) -> usize {
        self.seen().calls.values().sum()
    }
}

/// The project, served by workers that share one address.
struct Project {
    folder: Folder,
    cluster: Cluster,
    world: World,
    worker_port: u16,
}

impl Project {
    async fn start(nodes: usize) -> Project {
        let cluster = Cluster::start(nodes);
        let world = World::start().await;
        let folder = Folder::new();
        folder.write("flows/fan.yaml", FLOW.replace("PORT", &world.server.port.to_string()));
        folder.write(
            "stave.toml",
            "[project]\nrepo = \"fan\"\n[http]\nallow = [\"127.0.0.1\"]\n\
             [secrets.WORKER_NAME]\nhosts = [\"127.0.0.1\"]\n",
        );
        Project { folder, cluster, world, worker_port: free_ports(1)[0] }
    }

    async fn worker(&self, name: &str) -> Served {
        let listen = format!("127.0.0.1:{}", self.worker_port);
        let mut arguments: Vec<String> =
            ["serve", "--port", "0", "--no-reload", "--max-runs", "200", "--worker-listen", &listen]
                .map(str::to_owned)
                .to_vec();
        arguments.extend(self.cluster.arguments());
        Served::of(stave(&self.folder, arguments).env("WORKER_NAME", name)).await
    }

    /// Begins all runs, and gives the run of each request.
    async fn begin(&self, port: u16) -> BTreeMap<String, String> {
        let mut runs = BTreeMap::new();
        let mut under_way = tokio::task::JoinSet::new();
        for number in 0..RUNS {
            under_way.spawn(async move {
                let id = format!("r{number}");
                let body = format!(r#"{{"flow": "fan", "input": {{"id": "{id}"}}}}"#);
                let headers = [("content-type", "application/json")];
                let answer = ask(port, "POST", "/runs", &headers, None, Some(&body)).await.is(202).json();
                (id, text(&answer, "run_id").unwrap_or_default().to_owned())
            });
        }
        while let Some(begun) = under_way.join_next().await {
            let (id, run) = begun.expect("a run begins");
            runs.insert(run, id);
        }
        assert_eq!(runs.len(), RUNS, "every run has an id of its own");
        runs
    }

    /// Waits until the host has seen so many calls.
    async fn under_way(&self, calls: usize) {
        let begun = Instant::now();
        while self.world.calls() < calls {
            assert!(begun.elapsed() < PATIENCE, "only {} calls were made", self.world.calls());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The steps that have a result, by request and node, as Restate knows them at this moment, with how often each was
    /// done on the way to it: before there is a result, a step may be done again.
    async fn finished(&self, runs: &BTreeMap<String, String>) -> BTreeMap<(String, String), usize> {
        let query = r#"{"query": "SELECT service_key, value_utf8 FROM state WHERE service_name = 'StaveRun' AND key LIKE 'step/%'"}"#;
        let headers = [("content-type", "application/json"), ("accept", "application/json")];
        let answer =
            ask(self.cluster.admin_port(0), "POST", "/query", &headers, None, Some(query)).await.is(200);
        let steps = answer.json();
        let finished = items(&steps, "rows").iter().filter_map(|row| {
            let key = stave_canon::parse(text(row, "service_key")?).ok()?;
            let step = stave_canon::parse(text(row, "value_utf8")?).ok()?;
            let run = key.as_array()?.last()?.as_str()?.to_owned();
            Some((runs.get(&run)?.clone(), text(&step, "node")?.to_owned()))
        });
        let finished: BTreeSet<(String, String)> = finished.collect();
        let seen = self.world.seen();
        finished.into_iter().map(|step| (step.clone(), seen.calls.get(&step).copied().unwrap_or(0))).collect()
    }

    /// Waits until all runs have ended, and compares everything.
    async fn judge(
        &self,
        port: u16,
        runs: &BTreeMap<String, String>,
        finished: &BTreeMap<(String, String), usize>,
    ) {
        let begun = Instant::now();
        loop {
            let listed = ask(port, "GET", "/runs?limit=1000", &[], None, None).await.is(200).json();
            let statuses: Vec<(&str, &str)> = items(&listed, "runs")
                .iter()
                .filter_map(|run| Some((text(run, "run_id")?, text(run, "status")?)))
                .collect();
            assert!(
                statuses.iter().all(|(run, _)| runs.contains_key(*run)),
                "there are runs that nobody began"
            );
            let ended = statuses.iter().filter(|(_, status)| *status != "running").count();
            if ended == RUNS {
                let ok = statuses.iter().filter(|(_, status)| *status == "ok").count();
                assert_eq!(ok, RUNS, "every run ends well: {statuses:?}");
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "only {ended} runs have ended: {statuses:?}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        for (run, id) in runs {
            let shown = ask(port, "GET", &format!("/runs/{run}"), &[], None, None).await.is(200).json();
            let output = shown.pointer("/output/got/id").and_then(Value::as_str);
            assert_eq!(output, Some(id.as_str()), "{shown}");
        }
        let seen = self.world.seen();
        assert_eq!(seen.calls.len(), 4 * RUNS, "every step of every run was done");
        let again: Vec<_> = seen
            .calls
            .iter()
            .filter(|(step, calls)| finished.get(*step).is_some_and(|before| *calls > before))
            .collect();
        assert!(again.is_empty(), "steps that had a result were done again: {again:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_workers_share_the_load_and_nothing_is_lost_when_both_are_killed() {
    let project = Project::start(1).await;
    let (one, other) = (project.worker("one").await, project.worker("other").await);
    let runs = project.begin(one.port).await;
    project.under_way(RUNS).await;
    // Dropping a process kills it without warning.
    drop((one, other));
    let workers = project.world.seen().workers.clone();
    assert_eq!(workers.len(), 2, "both workers did some of the steps: {workers:?}");
    let finished = project.finished(&runs).await;
    assert!(
        !finished.is_empty() && finished.len() < 4 * RUNS,
        "some steps have a result: {}",
        finished.len()
    );
    let again = project.worker("again").await;
    project.judge(again.port, &runs, &finished).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_the_server_is_killed() {
    let mut project = Project::start(1).await;
    let worker = project.worker("one").await;
    let runs = project.begin(worker.port).await;
    project.under_way(RUNS).await;
    let finished = project.finished(&runs).await;
    project.cluster.kill_node(0);
    project.cluster.start_node(0);
    project.cluster.await_node(0);
    project.judge(worker.port, &runs, &finished).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_one_node_of_three_is_killed() {
    let mut project = Project::start(3).await;
    let worker = project.worker("one").await;
    let runs = project.begin(worker.port).await;
    project.under_way(RUNS).await;
    let finished = project.finished(&runs).await;
    project.cluster.kill_node(1);
    project.judge(worker.port, &runs, &finished).await;
}
