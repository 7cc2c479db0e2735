//! What happens in a server, for its operator. Where it is written is the caller's business.
//!
//! Invariant: an event holds no key, no request and no value of a run.

use std::fmt;
use std::time::Duration;

use stave_runtime::journal::RunStatus;

/// One thing that happened.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ServerEvent<'e> {
    /// A request had no key that is known, or one without the role that the route needs.
    KeyRefused {
        route: &'static str,
        code: &'e str,
    },
    /// A run was started, resumed or replayed here. A queued one begins when it has its turn.
    RunStarted {
        run: RunOf<'e>,
        status: RunStatus,
    },
    /// A run ended or waits, as its status says. `code` is that of its failure.
    RunEnded {
        run: RunOf<'e>,
        status: RunStatus,
        code: Option<&'e str>,
        duration: Duration,
    },
    /// What happened in a run could not be written down, and this process gave the run back.
    RunLost {
        run: RunOf<'e>,
        code: &'e str,
    },
    RunQuarantined {
        run: RunOf<'e>,
        crashes: u32,
    },
}

/// Which run an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunOf<'e> {
    pub id: &'e str,
    pub flow: &'e str,
    pub tenant: &'e str,
}

/// Takes the events of a server. It must not wait: the threads that serve call it.
pub trait ServerLog: Send + Sync + fmt::Debug {
    fn event(&self, event: &ServerEvent<'_>);
}
