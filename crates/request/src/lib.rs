//! The road for one model request. A flow's model step, the gateway and `stave cache rewrite` call [`plan_body`] for a
//! body that is ready to be sent, so that the same body with the same history gives the same bytes.
//!
//! - [`planning`]: the planners of upstreams, shared by requests and kept between processes.
//! - [`plan_body`]: a provider's body with the marks that pay.
//! - [`ModelPlanning`]: the planning of a flow's own model calls.
//!
//! Invariant: planning never changes what a model is asked, and nothing that goes wrong with it keeps a request from
//! being sent.

mod model_planning;
mod plan_body;
pub mod planning;

pub use model_planning::{CachePlannedCall, ModelBody, ModelPlanning};
pub use plan_body::{BodyToPlan, PlannedBody, counters, plan_body};
