//! What a provider's cache is asked to keep of one model call, and what came of it.
//!
//! Invariant: a call that is answered by a recording has no body, so it is not planned and nothing is learned from it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use stave_llm::{Target, Usage};
use stave_request::{CachePlannedCall, ModelBody};

use crate::run::Call;

/// The cache plan of one call; all its attempts send the same bytes.
#[derive(Debug)]
pub(super) struct CacheWork<'c> {
    call: &'c Call<'c>,
    target: &'c Target,
    planned: OnceLock<CachePlannedCall>,
}

impl<'c> CacheWork<'c> {
    pub(super) fn new(call: &'c Call<'c>, target: &'c Target) -> CacheWork<'c> {
        CacheWork { call, target, planned: OnceLock::new() }
    }

    /// The body as it is sent. Whatever goes wrong, that is the body as it came.
    pub(super) fn plan(&self, body: String) -> String {
        let Some(planning) = &self.call.services.planning else { return body };
        let run = self.call.run;
        // A conversation is one execution of a node: its tool rounds and its repair.
        let session = format!("{}\0{}\0{}", run.plan.document.flow.name, run.id, self.call.path);
        let call = ModelBody { target: self.target, body: &body, session: &session, now: self.now() };
        let Ok(Some(planned)) = catch_unwind(AssertUnwindSafe(|| planning.plan(&call))) else { return body };
        let sent = planned.body.clone();
        let _ = self.planned.set(planned);
        sent
    }

    /// The reply has begun.
    pub(super) fn begun(&self) {
        if let Some(planned) = self.planned.get() {
            planned.begun(self.now());
        }
    }

    /// Reports to the planner what the provider counted. A reply that does not say teaches nothing.
    pub(super) fn learn(&self, usage: Option<&Usage>) {
        if let (Some(planned), Some(usage)) = (self.planned.get(), usage) {
            planned.learn(usage, self.now());
        }
    }

    /// Seconds since 1970.
    fn now(&self) -> f64 {
        self.call.services.clock.now().as_millisecond() as f64 / 1000.0
    }
}
