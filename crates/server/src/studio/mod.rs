//! The studio: a page that shows, edits and runs the flows of projects, and the calls that it makes.
//!
//! The page thinks as little as possible. What is wrong with a text, what can be connected, what an edit makes
//! of it and what a run came to are answered here, by the same code that the command line uses.
//!
//! Invariants: only flow files of projects that the principal's tenant has are read or written; a text is
//! changed by nobody but the person at the page, since edits come back as proposals; every text is bounded,
//! and the work on texts cannot hold up what else the server does.

mod analysis;
mod assets;
mod compare;
mod connectable;
mod edit;
mod files;
mod findings;
mod gateway;
mod graph;
mod language;
mod layout;
mod lines;
mod node_view;
mod palette;
mod places;
mod request;
mod run;
mod run_view;
mod session;
mod workspace;

use std::sync::Arc;

use hyper::{Method, StatusCode};
use stave_canon::Value;
use stave_listen::{FairQueue, NoTurn, Waiting};

use crate::access::Principal;
use crate::handlers::Call;
use crate::message::{Reply, json};
use crate::problem::Problem;

pub(crate) use assets::find;
pub(crate) use run_view::asked;
pub use workspace::{CompiledLines, Workspace, WorkspaceError, WorkspaceFile, WorkspaceProject};

/// How many texts are worked on at the same time, and how many of each tenant may wait.
const WORKERS: usize = 4;
const WAITING: usize = 256;

/// What the studio works with.
#[derive(Debug)]
pub struct Studio {
    workspace: Arc<dyn Workspace>,
    /// Whether files are only looked at.
    is_read_only: bool,
    /// Turns for work on texts, which tenants share.
    turns: Arc<FairQueue<String>>,
}

impl Studio {
    #[must_use]
    pub fn new(workspace: Arc<dyn Workspace>, is_read_only: bool) -> Studio {
        Studio { workspace, is_read_only, turns: FairQueue::new(WORKERS, Waiting::Each(WAITING)) }
    }

    /// Divides the work on texts among tenants by their weights.
    pub(crate) fn share(&self, weights: Vec<(String, u32)>) {
        self.turns.share(weights);
    }
}

/// What a path of the studio names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StudioRoute {
    Session,
    Files,
    File,
    Analyse,
    Connectable,
    Edit,
    Chat,
    Commands,
    Hover,
    Completion,
    Definition,
    References,
    Format,
    Palette,
    Lines,
    Run,
    RunView(String),
    NodeView(String, String),
    Compare,
    Gateway,
}

impl StudioRoute {
    /// The route of the segments behind `studio`.
    pub(crate) fn of(segments: &[&str]) -> Option<StudioRoute> {
        Some(match segments {
            ["session"] => StudioRoute::Session,
            ["files"] => StudioRoute::Files,
            ["file"] => StudioRoute::File,
            ["analyse"] => StudioRoute::Analyse,
            ["connectable"] => StudioRoute::Connectable,
            ["edit"] => StudioRoute::Edit,
            ["chat"] => StudioRoute::Chat,
            ["commands"] => StudioRoute::Commands,
            ["hover"] => StudioRoute::Hover,
            ["completion"] => StudioRoute::Completion,
            ["definition"] => StudioRoute::Definition,
            ["references"] => StudioRoute::References,
            ["format"] => StudioRoute::Format,
            ["palette"] => StudioRoute::Palette,
            ["lines"] => StudioRoute::Lines,
            ["run"] => StudioRoute::Run,
            ["runs", run] => StudioRoute::RunView((*run).to_owned()),
            ["runs", run, "nodes", node] => StudioRoute::NodeView((*run).to_owned(), (*node).to_owned()),
            ["compare"] => StudioRoute::Compare,
            ["gateway"] => StudioRoute::Gateway,
            _ => return None,
        })
    }

    pub(crate) fn allow(&self) -> &'static str {
        match self {
            StudioRoute::File => "GET, HEAD, PUT",
            StudioRoute::Session
            | StudioRoute::Files
            | StudioRoute::Commands
            | StudioRoute::Palette
            | StudioRoute::RunView(_)
            | StudioRoute::NodeView(..)
            | StudioRoute::Compare
            | StudioRoute::Gateway => "GET, HEAD",
            _ => "POST",
        }
    }

    /// The path as metrics name it.
    pub(crate) fn template(&self) -> &'static str {
        match self {
            StudioRoute::Session => "/studio/session",
            StudioRoute::Files => "/studio/files",
            StudioRoute::File => "/studio/file",
            StudioRoute::Analyse => "/studio/analyse",
            StudioRoute::Connectable => "/studio/connectable",
            StudioRoute::Edit => "/studio/edit",
            StudioRoute::Chat => "/studio/chat",
            StudioRoute::Commands => "/studio/commands",
            StudioRoute::Hover => "/studio/hover",
            StudioRoute::Completion => "/studio/completion",
            StudioRoute::Definition => "/studio/definition",
            StudioRoute::References => "/studio/references",
            StudioRoute::Format => "/studio/format",
            StudioRoute::Palette => "/studio/palette",
            StudioRoute::Lines => "/studio/lines",
            StudioRoute::Run => "/studio/run",
            StudioRoute::RunView(_) => "/studio/runs/{run}",
            StudioRoute::NodeView(..) => "/studio/runs/{run}/nodes/{node}",
            StudioRoute::Compare => "/studio/compare",
            StudioRoute::Gateway => "/studio/gateway",
        }
    }
}

/// Answers a call of the page.
pub(crate) async fn answer(call: Call<'_>, route: StudioRoute, method: &Method) -> Result<Reply, Problem> {
    let Some(studio) = call.shared.options.studio.as_ref() else {
        return Err(Problem::new(StatusCode::NOT_FOUND, "not-found", "the studio is turned off"));
    };
    let value = match route {
        StudioRoute::Session => session::session(&call, studio),
        StudioRoute::Files => files::list(&call, studio).await?,
        StudioRoute::File if method == Method::PUT => files::write(call, studio).await?,
        StudioRoute::File => files::read(&call, studio).await?,
        StudioRoute::Analyse => analysis::analyse(call, studio).await?,
        StudioRoute::Connectable => connectable::connectable(call, studio).await?,
        StudioRoute::Edit => edit::edit(call, studio).await?,
        StudioRoute::Chat => edit::chat(call, studio).await?,
        StudioRoute::Commands => stave_flow::edit::request_schema(),
        StudioRoute::Hover => language::hover(call, studio).await?,
        StudioRoute::Completion => language::completion(call, studio).await?,
        StudioRoute::Definition => language::definition(call, studio).await?,
        StudioRoute::References => language::references(call, studio).await?,
        StudioRoute::Format => language::format(call, studio).await?,
        StudioRoute::Palette => palette::palette(),
        StudioRoute::Lines => lines::lines(call, studio).await?,
        StudioRoute::Run => return run::start(call, studio).await,
        StudioRoute::RunView(run) => run_view::show(&call, studio, &run).await?,
        StudioRoute::NodeView(run, node) => node_view::show(&call, &run, &node).await?,
        StudioRoute::Compare => compare::compare(&call).await?,
        StudioRoute::Gateway => gateway::gateway(&call, studio).await?,
    };
    Ok(json(StatusCode::OK, &value))
}

impl Studio {
    /// Does work on a text where it holds up nobody, within the time of a request.
    async fn work<T: Send + 'static>(
        &self,
        principal: &Principal,
        limit: std::time::Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let busy = |status| Problem::busy(status, "busy", "too many texts are being worked on; try again");
        let late = || busy(StatusCode::SERVICE_UNAVAILABLE);
        let tenant = principal.tenant().unwrap_or_default().to_owned();
        let done = async {
            let turn = self.turns.enter(tenant, limit).await.map_err(|refused| match refused {
                NoTurn::Full => busy(StatusCode::TOO_MANY_REQUESTS),
                NoTurn::Late => late(),
            })?;
            let done = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                work()
            });
            done.await.map_err(|_| {
                let detail = "the text could not be worked on";
                Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
            })
        };
        tokio::time::timeout(limit, done).await.map_err(|_| late())?
    }
}

/// Members of an object, in order.
fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::from_iter(members)
}
