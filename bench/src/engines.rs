//! `engines`: a chain of ten steps that do nothing on every engine, durable, with LangGraph and its Postgres
//! checkpointer beside them, in turns.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use stave_canon::{Clock, Ids, Value};
use stave_exec::Document;
use stave_runtime::database::Database;
use stave_runtime::journal::SqliteJournal;
use stave_runtime::{EmbeddedEngine, Engine, RunLimits, Services, StepKinds};
use stave_scale::{
    Addresses, Kept, ProjectKey, Projects, RestateClient, RestateEngine, RestateRuns, Worker, WorkerOptions,
};
use tokio::runtime::Runtime;

use crate::cluster::{Cluster, free_ports};
use crate::contest::Error;
use crate::engine::{Nothing, Numbers, SystemClock, services};
use crate::folder::Folder;
use crate::machine::Machine;
use crate::workload::graph::{self, NOTHING};

const STEPS: usize = 10;

/// Times a durable chain of ten steps on each engine.
#[derive(Debug, clap::Args)]
pub(crate) struct Engines {
    /// How many runs each engine does in one turn
    #[arg(long, default_value_t = 300)]
    runs: usize,
    /// How many of them execute at the same time, in the second table
    #[arg(long, default_value_t = 32)]
    at_once: usize,
    /// How often each engine takes its turn
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

/// What one turn took: altogether, and each run, in ascending order.
struct Turn {
    seconds: f64,
    took: Vec<f64>,
}

/// Somebody who runs the chain.
enum Contender {
    Ours { engine: Arc<dyn Engine>, document: Arc<Document> },
    LangGraph { child: Child, requests: ChildStdin, replies: BufReader<ChildStdout> },
}

/// Every project has the same ports.
#[derive(Debug)]
struct SameServices;

impl Projects for SameServices {
    fn services(&self, _: &ProjectKey, _: &Document, kept: Kept) -> Result<Services, String> {
        let services = services(kept.journal).map_err(|error| error.to_string())?;
        Ok(Services { state: kept.state, ..services })
    }
}

pub(crate) fn table(arguments: &Engines, machine: &Machine) -> Result<String, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(&error))?;
    let folder = Folder::new();
    let document = graph::linear(STEPS, None);
    let (one, three) = (Cluster::start(1), Cluster::start(3));
    let postgres = Postgres::start(&folder);
    let mut contenders = vec![
        ("embedded, journal synced", Ok(embedded(&folder, &document)?)),
        ("Restate, one node", restate(&runtime, &one, &document)),
        ("Restate, three nodes, two copies", restate(&runtime, &three, &document)),
    ];
    contenders.push((
        "LangGraph, PostgresSaver, sync",
        postgres.as_ref().map_err(copied).and_then(|postgres| langgraph(machine, postgres)),
    ));
    let mut text = String::new();
    for at_once in [1, arguments.at_once] {
        let runs = if at_once == 1 { arguments.runs / 3 } else { arguments.runs };
        text.push_str(&format!(
            "{runs} runs of {STEPS} steps, {at_once} at once, median of {} turns\n\n",
            arguments.rounds
        ));
        text.push_str("| engine | runs/s | p50 ms | p99 ms |\n|---|---|---|---|\n");
        let mut turns: Vec<Vec<Turn>> = contenders.iter().map(|_| Vec::new()).collect();
        for round in 0..=arguments.rounds {
            for ((_, contender), turns) in contenders.iter_mut().zip(&mut turns) {
                let Ok(contender) = contender else { continue };
                let turn = contender.turn(&runtime, runs, at_once)?;
                // The first turn is for warming up.
                if round > 0 {
                    turns.push(turn);
                }
            }
        }
        for ((name, contender), turns) in contenders.iter().zip(&turns) {
            let row = match contender {
                Ok(_) => {
                    let rate = median(turns.iter().map(|turn| runs as f64 / turn.seconds));
                    let part =
                        |part: f64| median(turns.iter().map(|turn| quantile(&turn.took, part) * 1000.0));
                    format!("| {name} | {rate:.0} | {:.1} | {:.1} |\n", part(0.5), part(0.99))
                }
                Err(error) => format!("| {name} | {error} | | |\n"),
            };
            text.push_str(&row);
        }
        text.push('\n');
    }
    Ok(text)
}

impl Contender {
    fn turn(&mut self, runtime: &Runtime, runs: usize, at_once: usize) -> Result<Turn, Error> {
        match self {
            Contender::Ours { engine, document } => {
                let request = Value::from_iter([("n", 7_i64)]);
                let begun = Instant::now();
                let took = runtime.block_on(async {
                    let all = (0..runs).map(|_| {
                        let (engine, document, request) =
                            (Arc::clone(engine), Arc::clone(document), request.clone());
                        async move {
                            let begun = Instant::now();
                            let report = engine.run(document, &request).await;
                            let report = report.map_err(|error| failed(&error))?;
                            report.result.map_err(|failure| failed(&failure.failure))?;
                            Ok::<f64, Error>(begun.elapsed().as_secs_f64())
                        }
                    });
                    futures_util::stream::iter(all).buffer_unordered(at_once).collect::<Vec<_>>().await
                });
                let mut took = took.into_iter().collect::<Result<Vec<f64>, Error>>()?;
                took.sort_by(f64::total_cmp);
                Ok(Turn { seconds: begun.elapsed().as_secs_f64(), took })
            }
            Contender::LangGraph { requests, replies, .. } => {
                writeln!(requests, "[{runs}, {at_once}]").map_err(|error| failed(&error))?;
                requests.flush().map_err(|error| failed(&error))?;
                let mut line = String::new();
                replies.read_line(&mut line).map_err(|error| failed(&error))?;
                let reply = stave_canon::parse(&line).map_err(|error| failed(&error))?;
                let seconds = reply.get("seconds").and_then(Value::as_f64);
                let took = reply.get("took").and_then(Value::as_array).unwrap_or_default();
                let took: Vec<f64> = took.iter().filter_map(Value::as_f64).collect();
                seconds.map(|seconds| Turn { seconds, took }).ok_or_else(|| failed(&"the peer ended"))
            }
        }
    }
}

impl Drop for Contender {
    fn drop(&mut self) {
        if let Contender::LangGraph { child, .. } = self {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn embedded(folder: &Folder, document: &Arc<Document>) -> Result<Contender, Error> {
    let database =
        Database::open(&folder.path().join("stave.sqlite"), "bench").map_err(|error| failed(&error))?;
    let services = services(Arc::new(SqliteJournal::new(database)))?;
    let engine =
        EmbeddedEngine::new(services).with_step(NOTHING, Arc::new(Nothing { lets_others_go_on: true }));
    Ok(Contender::Ours { engine: Arc::new(engine), document: Arc::clone(document) })
}

/// A worker in this process, and the engine that hands runs to it through a cluster.
fn restate(runtime: &Runtime, cluster: &Cluster, document: &Arc<Document>) -> Result<Contender, Error> {
    let list = |text: String| text.split(',').map(str::to_owned).collect();
    let addresses = Addresses { admin: list(cluster.admin()), ingress: list(cluster.ingress()) };
    let client = Arc::new(RestateClient::new(addresses).map_err(|error| failed(&error))?);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock(Instant::now()));
    let mut kinds = StepKinds::default();
    kinds.add(NOTHING, Arc::new(Nothing { lets_others_go_on: true }));
    let options = WorkerOptions { kinds, ..WorkerOptions::default() };
    let worker = Worker::new(Arc::clone(&client), Arc::new(SameServices), Arc::clone(&clock), options);
    let port = free_ports(1).first().copied().unwrap_or_default();
    runtime.block_on(async {
        let listener = stave_scale::listen(([127, 0, 0, 1], port).into()).map_err(|error| failed(&error))?;
        let serving = worker.clone();
        // It ends with this program.
        tokio::spawn(async move { serving.serve(listener, std::future::pending(), Duration::ZERO).await });
        worker.register(&format!("http://127.0.0.1:{port}")).await.map_err(|error| failed(&error))
    })?;
    let runs = RestateRuns::new(client, ProjectKey::new("bench", "bench"));
    let ids: Arc<dyn Ids> = Arc::new(Numbers(AtomicU64::new(0), u64::from(std::process::id())));
    let engine = RestateEngine::new(runs, ids, clock, RunLimits::default());
    Ok(Contender::Ours { engine: Arc::new(engine), document: Arc::clone(document) })
}

/// PostgreSQL in a folder of its own, with its own settings.
struct Postgres {
    address: String,
    data: std::path::PathBuf,
}

impl Postgres {
    fn start(folder: &Folder) -> Result<Postgres, Error> {
        let data = folder.path().join("postgres");
        std::fs::create_dir_all(&data).map_err(|error| failed(&error))?;
        let port = free_ports(1).first().copied().unwrap_or_default();
        if is_root() {
            // The server refuses to run as root.
            call(Command::new("chmod").arg("755").arg(folder.path()))?;
            call(Command::new("chown").args(["-R", "postgres"]).arg(&data))?;
        }
        call(as_postgres("initdb").arg("-D").arg(&data).args(["-U", "postgres", "-A", "trust"]))?;
        let options = format!(
            "-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=200"
        );
        let log = data.join("log");
        call(
            as_postgres("pg_ctl")
                .arg("-D")
                .arg(&data)
                .arg("-l")
                .arg(log)
                .args(["-w", "-o", &options, "start"]),
        )?;
        Ok(Postgres { address: format!("postgresql://postgres@127.0.0.1:{port}/postgres"), data })
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let _ = call(as_postgres("pg_ctl").arg("-D").arg(&self.data).args(["-m", "immediate", "stop"]));
    }
}

fn is_root() -> bool {
    nix::unistd::Uid::effective().is_root()
}

fn as_postgres(program: &str) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--", program]);
    command
}

fn call(command: &mut Command) -> Result<(), Error> {
    let output = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match output {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Error::Missing(format!("{command:?}: {status}"))),
        Err(error) => Err(Error::Missing(format!("{command:?}: {error}"))),
    }
}

fn langgraph(machine: &Machine, postgres: &Postgres) -> Result<Contender, Error> {
    let mut child = Command::new(&machine.python)
        .args(["-c", include_str!("peers/engines.py"), &postgres.address, &STEPS.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| Error::Missing(error.to_string()))?;
    match (child.stdin.take(), child.stdout.take()) {
        (Some(requests), Some(replies)) => {
            Ok(Contender::LangGraph { child, requests, replies: BufReader::new(replies) })
        }
        _ => Err(Error::Failed("the peer has no pipes".to_owned())),
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5)
}

/// The value below which this part of the values lies; they are in ascending order.
fn quantile(values: &[f64], part: f64) -> f64 {
    let place = (values.len().saturating_sub(1)) as f64 * part;
    values.get(place.round() as usize).copied().unwrap_or_default()
}

fn failed(error: &dyn std::fmt::Display) -> Error {
    Error::Failed(error.to_string())
}

fn copied(error: &Error) -> Error {
    Error::Missing(error.to_string())
}
