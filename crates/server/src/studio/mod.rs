//! The studio: a page that shows, edits and runs the flows of projects, and the calls that it makes.
//!
//! The page thinks as little as possible. What is wrong with a text, what can be connected, what an edit makes
//! of it and what a run shows are answered here, by the same code that the command line uses.
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
mod work;
mod workspace;

use std::sync::Arc;

use hyper::StatusCode;
use stave_listen::{FairQueue, Waiting};
use stave_shape::Shape;

use crate::access::Principal;
use crate::api::StudioEndpoint;
use crate::handlers::Call;
use crate::message::{Reply, typed};
use crate::problem::Problem;

use work::Wanted;

pub(crate) use assets::find;
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

/// Answers a call of the page; `run` and `node` are what its path names.
pub(crate) async fn answer(
    call: Call<'_>,
    endpoint: StudioEndpoint,
    run: &str,
    node: &str,
) -> Result<Reply, Problem> {
    let Some(studio) = call.shared.options.studio.as_ref() else {
        return Err(Problem::new(StatusCode::NOT_FOUND, "not-found", "the studio is turned off"));
    };
    match endpoint {
        StudioEndpoint::Session => ok(Ok(session::session(&call, studio))),
        StudioEndpoint::Files => ok(files::list(&call, studio).await),
        StudioEndpoint::WriteFile => ok(files::write(call, studio).await),
        StudioEndpoint::File => ok(files::read(&call, studio).await),
        StudioEndpoint::Analyse => ok(analysis::analyse(call, studio).await),
        StudioEndpoint::Connectable => ok(connectable::connectable(call, studio).await),
        StudioEndpoint::Edit => ok(edit::edit(call, studio).await),
        StudioEndpoint::Chat => ok(edit::chat(call, studio).await),
        StudioEndpoint::Commands => ok(Ok(stave_flow::edit::request_schema())),
        StudioEndpoint::Hover => ok(language::hover(call, studio).await),
        StudioEndpoint::Completion => ok(language::completion(call, studio).await),
        StudioEndpoint::Definition => ok(language::definition(call, studio).await),
        StudioEndpoint::References => ok(language::references(call, studio).await),
        StudioEndpoint::Format => ok(language::format(call, studio).await),
        StudioEndpoint::Palette => ok(Ok(palette::palette())),
        StudioEndpoint::Lines => ok(lines::lines(call, studio).await),
        StudioEndpoint::Run => run::start(call, studio).await,
        StudioEndpoint::RunView => ok(run_view::show(&call, studio, run).await),
        StudioEndpoint::NodeView => ok(node_view::show(&call, run, node).await),
        StudioEndpoint::Compare => ok(compare::compare(&call).await),
        StudioEndpoint::Gateway => ok(gateway::gateway(&call, studio).await),
    }
}

fn ok<T: Shape>(answer: Result<T, Problem>) -> Result<Reply, Problem> {
    answer.map(|body| typed(StatusCode::OK, &body))
}

impl Studio {
    /// Does work on a text where it holds up nobody, within the time of a request.
    async fn work<T: Send + 'static>(
        &self,
        principal: &Principal,
        limit: std::time::Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        self.work_while_wanted(principal, limit, move |_| work()).await
    }
    /// The same for work in several passes, which looks between them whether anybody still waits.
    async fn work_while_wanted<T: Send + 'static>(
        &self,
        principal: &Principal,
        limit: std::time::Duration,
        work: impl FnOnce(&Wanted) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        work::in_turn(&self.turns, principal, limit, work).await
    }
}
