//! A transport that writes down what passes through another one.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;

use super::{Exchange, Recording, Redactor, stable_request};
use crate::{CallObserver, CallOptions, Error, Reply, Request, Target, Transport};

/// Records the exchanges of the transport inside it. Failed calls are not recorded.
#[derive(Debug)]
pub struct Recorder<T> {
    inner: T,
    redactor: Redactor,
    exchanges: Mutex<Vec<Exchange>>,
}

impl<T: Transport> Recorder<T> {
    #[must_use]
    pub fn new(inner: T, redactor: Redactor) -> Self {
        Recorder { inner, redactor, exchanges: Mutex::new(Vec::new()) }
    }

    /// What was recorded so far, in the order in which the replies arrived.
    #[must_use]
    pub fn recording(&self) -> Recording {
        let exchanges = self.exchanges.lock().unwrap_or_else(PoisonError::into_inner);
        Recording { exchanges: exchanges.clone() }
    }
}

#[async_trait]
impl<T: Transport> Transport for Recorder<T> {
    async fn send(
        &self,
        request: &Request,
        target: &Target,
        options: &CallOptions,
        observer: &dyn CallObserver,
    ) -> Result<Reply, Error> {
        let reply = self.inner.send(request, target, options, observer).await?;
        let mut asked = stable_request(request);
        if asked.model.is_empty() {
            asked.model.clone_from(&target.model);
        }
        let exchange =
            Exchange::recorded(self.redactor.request(&asked), self.redactor.response(&reply.response));
        self.exchanges.lock().unwrap_or_else(PoisonError::into_inner).push(exchange);
        Ok(reply)
    }
}
