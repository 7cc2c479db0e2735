//! REP: this runtime for an orchestrator, as JSON-RPC over lines. One file per method or noun.
//!
//! Invariants: every request that has an id is answered once; a line that is no request is answered with an
//! error and nothing else happens; only `pending`, `running`, `completed` and `failed` are ever reported, and
//! a run that has reached one of the last two stays there; a poll that reports the end reports every event; a run that
//! was accepted is written down before its peer learns of it.

mod cancel;
mod capabilities;
mod environment;
mod events;
mod fault;
mod health;
mod lines;
mod message;
mod poll;
mod runs;
mod start_run;

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use stave_canon::{Object, Value};
use stave_exec::Document;
use tokio::sync::mpsc;

use self::fault::Fault;
use self::message::{Message, Request};
use self::runs::Runs;
use self::start_run::Started;
use crate::Services;
use crate::opcua::Opcua;

pub use environment::OrchestratorEnvironment;
pub use lines::{Incoming, MAX_LINE_BYTES, read_lines};

/// The version of the protocol.
pub const VERSION: &str = "0.1";

/// What the server needs from outside.
pub trait Host: Send + Sync {
    /// The world of a run of this document, or why there is none.
    fn services(&self, document: &Document) -> Result<Services, String>;

    /// The document as the host's project lets it run.
    fn held(&self, document: Document) -> Document {
        document
    }

    /// How many steps of a run work at the same time.
    fn concurrency(&self) -> usize;

    /// What the orchestrator says through variables of the process, or which of them has no meaning.
    fn orchestrator(&self) -> Result<OrchestratorEnvironment, String> {
        Ok(OrchestratorEnvironment::default())
    }

    /// The plants that runs may reach, in builds that have them.
    fn opcua(&self) -> Option<Arc<dyn Opcua>> {
        None
    }
}

/// What becomes of a request.
enum Handled<'h> {
    Reply(Result<Value, Fault>),
    /// A run was accepted; the reply waits until it is written down, and then it has to be driven.
    Starting(BoxFuture<'h, Started<'h>>),
    /// The reply takes its time.
    Later(BoxFuture<'h, Value>),
}

/// Answers requests until there are no more, and every answer that is owed has been given. Runs that are
/// still in progress then are left to be resumed.
pub async fn serve(host: &dyn Host, mut requests: mpsc::Receiver<Incoming>, replies: mpsc::Sender<String>) {
    let runs = Runs::default();
    let mut driven: FuturesUnordered<BoxFuture<'_, ()>> = FuturesUnordered::new();
    let mut starting: FuturesUnordered<BoxFuture<'_, (Option<Value>, Started<'_>)>> = FuturesUnordered::new();
    let mut owed: FuturesUnordered<BoxFuture<'_, String>> = FuturesUnordered::new();
    let mut is_open = true;
    while is_open || !owed.is_empty() || !starting.is_empty() {
        let reply = tokio::select! {
            incoming = requests.recv(), if is_open => match incoming {
                None => {
                    is_open = false;
                    None
                }
                Some(incoming) => match message::read(incoming) {
                    Message::Nothing => None,
                    Message::Malformed(id, fault) => Some(message::error(&id, &fault)),
                    Message::Request(request) => {
                        let Request { id, method, params } = request;
                        match handle(host, &runs, &method, &params) {
                            Handled::Reply(result) => id.map(|id| message::reply(&id, result)),
                            Handled::Starting(run) => {
                                starting.push(Box::pin(async move { (id, run.await) }));
                                None
                            }
                            Handled::Later(answer) => {
                                if let Some(id) = id {
                                    owed.push(Box::pin(async move { message::reply(&id, Ok(answer.await)) }));
                                }
                                None
                            }
                        }
                    }
                },
            },
            Some((id, (result, run))) = starting.next() => {
                driven.extend(run);
                id.map(|id| message::reply(&id, result))
            }
            Some(reply) = owed.next() => Some(reply),
            Some(()) = driven.next() => None,
        };
        if let Some(reply) = reply
            && replies.send(reply).await.is_err()
        {
            // Nobody reads the answers any more.
            return;
        }
    }
}

fn handle<'h>(host: &'h dyn Host, runs: &Runs, method: &str, params: &Object) -> Handled<'h> {
    match method {
        "Runtime.Capabilities" => Handled::Reply(Ok(capabilities::capabilities(host))),
        "Runtime.StartRun" => match start_run::start_run(host, runs, params) {
            Ok(run) => Handled::Starting(run),
            Err(fault) => Handled::Reply(Err(fault)),
        },
        "Runtime.Poll" => match poll::poll(runs, params) {
            Ok(answer) => Handled::Later(answer),
            Err(fault) => Handled::Reply(Err(fault)),
        },
        "Runtime.Cancel" => Handled::Reply(cancel::cancel(runs, params)),
        "Runtime.Health" => Handled::Reply(Ok(health::health(runs))),
        other => Handled::Reply(Err(Fault::internal(format!("there is no method `{other}`")))),
    }
}

/// The run that a request is about.
fn run_id(params: &Object) -> Result<&str, Fault> {
    params
        .get("run_id")
        .and_then(Value::as_str)
        .ok_or_else(|| Fault::schema("`run_id` is missing or no text".to_owned(), Value::Null))
}
