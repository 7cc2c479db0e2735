//! The services that Restate calls: one file each.

mod calls;
mod driver;
mod run;
mod session;
mod state;
mod step;
mod store;

use restate_sdk::prelude::{HandlerError, TerminalError};

use crate::error::ScaleError;

pub(crate) use calls::CallsObject;
pub(crate) use driver::{ASKED, DECIDED, HEAD, STANDING, STEPS};
pub(crate) use run::RunWorkflow;
pub(crate) use session::SessionObject;
pub(crate) use state::StateObject;
pub(crate) use step::StepService;
pub(crate) use store::StoreObject;

/// What cannot be read will not be read the next time either; everything else is tried again.
pub(super) fn failed(error: ScaleError) -> HandlerError {
    match error {
        ScaleError::Damaged(reason) => TerminalError::new(reason).into(),
        other => HandlerError::from(other),
    }
}
