//! `serve`: runs begun at a steady rate through the run API, each watched from its beginning to its end, for as
//! long as is asked.
//!
//! The load does not wait for the server: a run is begun when its time has come, whatever became of those before.
//! Faults are counted and reported; durations are reported and never judged.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::{Duration, Instant};

use stave_canon::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

use crate::contest::Error;
use crate::folder::Folder;
use crate::proxies::clients::Connection;
use crate::proxies::process::{Running, free_address};
use crate::proxies::upstream::find;

/// How many of the mistakes are reported in full.
const TOLD: usize = 5;

/// Begins runs at a steady rate while each of them is watched
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Serve {
    /// The program that serves
    #[arg(long, default_value = "target/release/stave")]
    program: PathBuf,
    /// How many runs are begun in a second
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rate: u32,
    /// How many watch at the same time; runs last so long that this many are watched
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=2000))]
    watchers: u32,
    /// For how many seconds runs are begun
    #[arg(long, default_value_t = 60)]
    seconds: u32,
}

/// What is counted.
#[derive(Debug, Default)]
struct Counts {
    begun: AtomicUsize,
    watched: AtomicUsize,
    /// Those who watch at the moment, and the most there were.
    watching: AtomicUsize,
    most_watching: AtomicUsize,
    wrong: Lock<Vec<String>>,
    wrong_count: AtomicUsize,
    /// How long the server took to answer that a run has begun, in milliseconds.
    took: Lock<Vec<f64>>,
}

impl Counts {
    fn wrong(&self, what: String) {
        self.wrong_count.fetch_add(1, Ordering::Relaxed);
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        if wrong.len() < TOLD {
            wrong.push(what);
        }
    }
}

/// The text that says what happened, and whether nothing went wrong.
pub(crate) fn table(arguments: &Serve) -> Result<(String, bool), Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    runtime.map_err(|error| failed(&error))?.block_on(measured(arguments))
}

async fn measured(arguments: &Serve) -> Result<(String, bool), Error> {
    let lasting = Duration::from_secs_f64(f64::from(arguments.watchers) / f64::from(arguments.rate));
    let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| failed(&error))?;
    let host = listener.local_addr().map_err(|error| failed(&error))?;
    let mut hosting = JoinSet::new();
    hosting.spawn(host_of(listener, lasting));
    let folder = Folder::new();
    folder.write("stave.toml", "[http]\nallow = [\"127.0.0.1\"]\n");
    folder.write("flows/lasting.yaml", flow(host));
    let address = free_address()?;
    // Beyond those that are watched, as many again, so that no run waits for its turn.
    let most = (2 * arguments.watchers).to_string();
    let mut command = Command::new(std::path::absolute(&arguments.program).map_err(|error| failed(&error))?);
    command.current_dir(folder.path()).env("NO_PROXY", "127.0.0.1");
    command.args(["serve", "--port", &address.port().to_string(), "--max-runs", &most]);
    let server = Running::start(command, address, &folder.path().join("said.txt"))?;

    let counts = Arc::new(Counts::default());
    let (begun, waiting) = mpsc::unbounded_channel();
    let waiting = Arc::new(Mutex::new(waiting));
    let mut watchers = JoinSet::new();
    for _ in 0..arguments.watchers {
        watchers.spawn(watch(address, Arc::clone(&waiting), Arc::clone(&counts)));
    }
    let (cpu, started) = (server.cpu(), Instant::now());
    begin_all(arguments, address, begun, &counts).await;
    let begun_in = started.elapsed();
    while watchers.join_next().await.is_some() {}
    let (whole, cpu) = (started.elapsed(), server.cpu().saturating_sub(cpu));
    Ok(report(arguments, &counts, (begun_in, whole, cpu)))
}

/// Begins runs, each at its time. Ends when all of them were answered.
async fn begin_all(
    arguments: &Serve,
    address: SocketAddr,
    begun: mpsc::UnboundedSender<String>,
    counts: &Arc<Counts>,
) {
    let idle: Arc<Lock<Vec<Connection>>> = Arc::default();
    let started = tokio::time::Instant::now();
    let mut asking = JoinSet::new();
    for number in 0..arguments.rate * arguments.seconds {
        tokio::time::sleep_until(started + Duration::from_secs(1) * number / arguments.rate).await;
        while asking.try_join_next().is_some() {}
        let (idle, begun, counts) = (Arc::clone(&idle), begun.clone(), Arc::clone(counts));
        asking.spawn(async move {
            match begin(address, number, &idle, &counts).await {
                Ok(run) => {
                    counts.begun.fetch_add(1, Ordering::Relaxed);
                    // The watchers continue until the last run has been begun.
                    let _ = begun.send(run);
                }
                Err(error) => counts.wrong(format!("run {number} was not begun: {error}")),
            }
        });
    }
    while asking.join_next().await.is_some() {}
}

async fn begin(
    address: SocketAddr,
    number: u32,
    idle: &Lock<Vec<Connection>>,
    counts: &Counts,
) -> Result<String, Error> {
    let known = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let mut connection = match known {
        Some(connection) => connection,
        None => Connection::open(address).await.map_err(|error| failed(&error))?,
    };
    let body = format!(r#"{{"flow": "lasting", "input": {{"page": "p{number}"}}}}"#);
    let request = format!(
        "POST /runs HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let asked = Instant::now();
    let answer = connection.ask(request.as_bytes()).await?;
    let took = asked.elapsed().as_secs_f64() * 1000.0;
    counts.took.lock().unwrap_or_else(PoisonError::into_inner).push(took);
    idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    let answer = stave_canon::parse(&answer).map_err(|error| failed(&error))?;
    let run = answer.get("run_id").and_then(Value::as_str);
    run.map(str::to_owned).ok_or_else(|| failed(&format!("no run in {answer}")))
}

/// Watches one run after the other, each to its end.
async fn watch(
    address: SocketAddr,
    waiting: Arc<Mutex<mpsc::UnboundedReceiver<String>>>,
    counts: Arc<Counts>,
) {
    let mut connection = None;
    while let Some(run) = { waiting.lock().await.recv().await } {
        let watching = counts.watching.fetch_add(1, Ordering::Relaxed) + 1;
        counts.most_watching.fetch_max(watching, Ordering::Relaxed);
        let seen = events(address, &run, &mut connection).await;
        counts.watching.fetch_sub(1, Ordering::Relaxed);
        match seen {
            Ok(seen) if is_whole(&seen) => {
                counts.watched.fetch_add(1, Ordering::Relaxed);
            }
            Ok(seen) => counts.wrong(format!("{run} was seen as {seen:?}")),
            Err(error) => {
                connection = None;
                counts.wrong(format!("{run} was not watched: {error}"));
            }
        }
    }
}

async fn events(
    address: SocketAddr,
    run: &str,
    connection: &mut Option<Connection>,
) -> Result<String, Error> {
    let connection = match connection {
        Some(connection) => connection,
        None => connection.insert(Connection::open(address).await.map_err(|error| failed(&error))?),
    };
    let request = format!("GET /runs/{run}/events HTTP/1.1\r\nhost: {address}\r\n\r\n");
    connection.ask(request.as_bytes()).await
}

/// Whether the events are those of a run that began, did both its steps and went well.
fn is_whole(events: &str) -> bool {
    let names: Vec<&str> = events.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    names == ["started", "step", "step", "ended"] && events.contains(r#""status":"ok"}"#)
}

fn report(arguments: &Serve, counts: &Counts, times: (Duration, Duration, Duration)) -> (String, bool) {
    let (begun_in, whole, cpu) = times;
    let mut took = counts.took.lock().unwrap_or_else(PoisonError::into_inner).clone();
    took.sort_by(f64::total_cmp);
    let at = |part: f64| {
        let place = took.len().saturating_sub(1) as f64 * part;
        took.get(place.round() as usize).copied().unwrap_or_default()
    };
    let (begun, watched) = (counts.begun.load(Ordering::Relaxed), counts.watched.load(Ordering::Relaxed));
    let wrong = counts.wrong_count.load(Ordering::Relaxed);
    let wanted = arguments.rate as usize * arguments.seconds as usize;
    let mut text = format!(
        "| | |\n|---|---|\n| runs that were to begin | {wanted}, {} a second |\n| begun | {begun} in {:.1} s |\n\
         | watched from beginning to end | {watched} in {:.1} s |\n| watchers at the same time, at most | {} |\n\
         | mistakes | {wrong} |\n| answer to a start, ms | p50 {:.1}, p99 {:.1}, longest {:.1} |\n\
         | CPU of the server | {:.1} s, {:.2} ms a run |",
        arguments.rate,
        begun_in.as_secs_f64(),
        whole.as_secs_f64(),
        counts.most_watching.load(Ordering::Relaxed),
        at(0.5),
        at(0.99),
        at(1.0),
        cpu.as_secs_f64(),
        cpu.as_secs_f64() * 1000.0 / begun.max(1) as f64,
    );
    for what in counts.wrong.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        text.push_str(&format!("\n{what}"));
    }
    (text, wrong == 0 && watched == wanted)
}

/// Two steps: one asks a host that takes its time, one is code.
fn flow(host: SocketAddr) -> String {
    format!(
        r#"version: "1.0"
metadata: {{name: lasting}}
context: {{requires: [page]}}
nodes:
  fetch:
    type: transform
    inputs: [{{name: page, type: string}}]
    outputs: [{{name: reply, type: object}}]
    transform:
      mode: declarative
      spec: {{op: http.get, args: {{url: "http://{host}/${{page}}"}}}}
    runtime: {{timeout_ms: 60000, retries: 0}}
  say:
    type: transform
    inputs: [{{name: reply, type: object}}]
    outputs: [{{name: said, type: boolean}}]
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            return {{"said": inputs["reply"]["ok"]}}
edges:
  - {{from: _input.page, to: fetch.page}}
  - {{from: fetch.reply, to: say.reply}}
  - {{from: say.said, to: _output.said}}
"#
    )
}

/// Answers every request after a while.
async fn host_of(listener: TcpListener, after: Duration) {
    let mut connections = JoinSet::new();
    while let Ok((socket, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        connections.spawn(answer(socket, after));
    }
}

async fn answer(mut socket: TcpStream, after: Duration) {
    const REPLY: &[u8] =
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{\"ok\":true}";
    let mut bytes = Vec::with_capacity(4096);
    loop {
        while let Some(end) = find(&bytes, b"\r\n\r\n") {
            bytes.drain(..end + 4);
            tokio::time::sleep(after).await;
            if socket.write_all(REPLY).await.is_err() {
                return;
            }
        }
        if !matches!(socket.read_buf(&mut bytes).await, Ok(1..)) {
            return;
        }
    }
}

fn failed(error: &dyn std::fmt::Display) -> Error {
    Error::Failed(error.to_string())
}
