//! LLM proxy: governance and cache planning for any client that speaks OpenAI's or Anthropic's interfaces.
//!
//! A [`Gateway`] answers on connections that the caller accepts for it. A client's bytes are judged, planned
//! for the provider's cache and sent on with every other byte as it came; the reply's bytes pass as they are.
//!
//! Invariant: every request is bounded in size, time and number, leaves exactly one record, and no secret of
//! an upstream is in it, in an answer or in a log.

mod config;
pub mod database;
pub mod keys;
mod proxy;
pub mod records;
pub mod trace;

pub use config::{
    BreakerConfig, Enforcement, GatewayConfig, GatewayLimits, GatewayTimeouts, ModelRoute, Planning,
    RequestLabels, RequestPolicy, Retries, RouteTarget, UpstreamConfig,
};
pub use proxy::{BadSetup, BadUpstream, Gateway, GatewayOptions};
pub use stave_llm::FaultClass;
