//! Neutral model requests, responses and streams; the providers' wires; token counts; prices; the provider
//! client; recordings.
//!
//! A [`Request`] goes through a [`Transport`] to a [`Target`] and comes back as a [`Reply`]. The transport is
//! the real [`Client`], or a [`recording::Recorder`] around it, or a [`recording::Replayer`] that needs no network.
//!
//! Invariant: nothing here reads a file, the environment or a clock. Contents, keys, the clock and the seed of
//! the jitter come in from the caller.

mod client;
pub mod codec;
mod connection_limits;
mod error;
mod model;
pub mod prices;
pub mod provider_headers;
pub mod recording;
mod retry_after;
mod secret;
mod secret_search;
mod target;
pub mod tokens;
mod transport;

pub use client::{BuiltHttpClient, Client, ClientOptions, http_client};
pub use connection_limits::{CONNECT_TIMEOUT, IDLE_CONNECTIONS, IDLE_TIME};
pub use error::{Error, ErrorKind, Phase};
pub use model::{
    Accumulator, CacheMark, CacheTtl, FunctionTool, Media, MediaSource, Message, Part, PartKind, Request,
    Response, ResponseSchema, Role, StopReason, StreamEvent, Thinking, Tool, ToolChoice, ToolResult, ToolUse,
    Usage,
};
pub use retry_after::retry_after;
pub use secret::Secret;
pub use secret_search::{REPLACEMENT, SecretBeginnings, SecretSearch};
pub use stave_retry::{AttemptFailure, FaultClass, Jitter, RetryPolicy, RetrySpacing};
pub use stave_vocabulary::{Provider, UnknownProvider};
pub use target::{AZURE_API_VERSION, Target};
pub use transport::{Attempt, CallObserver, CallOptions, Reply, Timeouts, Transport};
