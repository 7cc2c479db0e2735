//! Halting a run: it is cancelled, or its process shuts down.
//!
//! Invariant: what has effects and has begun is finished and written down; nothing else begins, at the top of the flow
//! or inside a step.

use stave_diag::codes::run as codes;

use crate::run::Run;
use stave_engine::{Failure, FailureKind};

impl Run<'_> {
    /// Lets nothing further begin.
    pub(crate) fn halt(&self) {
        self.halting.send_replace(true);
    }

    /// The failure of work that is not begun any more, because the run is halting. It is never kept as a
    /// result: a resume of the run begins there.
    pub(crate) fn halted(&self) -> Result<(), Failure> {
        if *self.halting.borrow() { Err(interrupted()) } else { Ok(()) }
    }

    /// The outcome of work that has no effects, unless the run halts first. A run at rest does not begin it.
    pub(crate) async fn unless_halted<T>(&self, work: impl Future<Output = T>) -> Result<T, Failure> {
        self.halted()?;
        let mut halting = self.halting.subscribe();
        tokio::select! {
            biased;
            done = work => Ok(done),
            Ok(_) = halting.wait_for(|halting| *halting) => Err(interrupted()),
        }
    }
}

fn interrupted() -> Failure {
    Failure::new(
        codes::RUN_STOPPED,
        FailureKind::Interrupted,
        "the run was asked to stop before this step was done",
    )
}
