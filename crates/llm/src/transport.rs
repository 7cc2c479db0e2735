//! The port through which a request reaches a model: the real client, a recorder or a replay.

use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use stave_retry::RetryPolicy;

use crate::codec::Note;
use crate::{Error, ErrorKind, Request, Response, StreamEvent, Target};

/// Something that can answer requests. Dropping the future cancels the call and closes its connection.
#[async_trait]
pub trait Transport: Send + Sync + std::fmt::Debug {
    /// Sends `request` and waits for the whole reply. When the request streams, `observer` sees each event
    /// as it arrives, and the reply is all of them folded together.
    async fn send(
        &self,
        request: &Request,
        target: &Target,
        options: &CallOptions,
        observer: &dyn CallObserver,
    ) -> Result<Reply, Error>;
}

#[async_trait]
impl<T: Transport + ?Sized> Transport for Arc<T> {
    async fn send(
        &self,
        request: &Request,
        target: &Target,
        options: &CallOptions,
        observer: &dyn CallObserver,
    ) -> Result<Reply, Error> {
        T::send(self, request, target, options, observer).await
    }
}

/// A whole reply and what it took to get it.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub response: Response,
    pub attempts: Vec<Attempt>,
    /// What the provider's wire could not carry as asked.
    pub notes: Vec<Note>,
}

/// One try. The last one has no wait, and no error when the call succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub error: Option<ErrorKind>,
    /// How long the caller then waited before the next try.
    pub wait: Option<Duration>,
}

/// Time limits, retries and the seed of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallOptions {
    pub timeouts: Timeouts,
    pub retry: RetryPolicy,
    /// Seeds the jitter of the waits, so that the same seed waits the same.
    pub jitter_seed: u64,
}

/// Limits of each attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From the start of the attempt to the first byte of the reply, connecting included.
    pub first_byte: Duration,
    /// From the start of the attempt to the end of the reply.
    pub attempt: Duration,
}

/// Watches a call. `()` watches nothing.
pub trait CallObserver: Send + Sync {
    /// An event of a streamed reply. Breaking cancels the call.
    fn event(&self, event: &StreamEvent) -> ControlFlow<()> {
        let _ = event;
        ControlFlow::Continue(())
    }

    /// The body as the provider's codec wrote it, before the first attempt. What comes back is sent by every attempt.
    fn body(&self, body: String) -> String {
        body
    }

    /// The provider has begun to answer, and not with an error.
    fn begun(&self) {}

    /// An attempt failed and another one follows after its wait.
    fn retry(&self, attempt: &Attempt) {
        let _ = attempt;
    }

    /// Whether another attempt may be made, asked right before it. The call fails with its last error when not.
    fn permits_retry(&self) -> Pin<Box<dyn Future<Output = bool> + Send + '_>> {
        Box::pin(std::future::ready(true))
    }

    /// Whether the call may start over although parts of the reply were already seen. An observer that
    /// shows text as it arrives says no; one that can take back what it has seen says yes and does so.
    fn restart(&self) -> bool {
        false
    }
}

impl CallObserver for () {
    fn restart(&self) -> bool {
        true
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts { first_byte: Duration::from_secs(60), attempt: Duration::from_secs(300) }
    }
}

impl Timeouts {
    /// One limit for the whole attempt.
    #[must_use]
    pub fn within(limit: Duration) -> Self {
        Timeouts { first_byte: limit, attempt: limit }
    }
}
