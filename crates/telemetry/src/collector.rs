//! The HTTP client that reaches the collector: the same as every other client of Stave.

use std::time::Duration;

use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use tokio::runtime::Handle;

/// The longest a request to the collector may take, whatever the environment says.
const LONGEST: Duration = Duration::from_secs(30);
const CONNECT: Duration = Duration::from_secs(5);
/// The largest answer of a collector that is read.
const LARGEST_ANSWER: u64 = 1024 * 1024;

/// Sends on the asynchronous runtime, whichever thread asks: the SDK has threads of its own.
#[derive(Debug, Clone)]
pub(crate) struct Collector {
    client: reqwest::Client,
    runtime: Handle,
}

impl Collector {
    pub(crate) fn new(runtime: Handle) -> Result<Collector, reqwest::Error> {
        let made = stave_llm::http_client(|builder| {
            let builder = builder.connect_timeout(CONNECT).timeout(LONGEST);
            builder.redirect(reqwest::redirect::Policy::none())
        })?;
        Ok(Collector { client: made.client, runtime })
    }
}

#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        self.runtime.spawn(async move { send(&client, request).await }).await?
    }
}

async fn send(client: &reqwest::Client, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let answer = client.execute(request.try_into()?).await?;
    let mut response = Response::builder().status(answer.status());
    if let Some(headers) = response.headers_mut() {
        headers.clone_from(answer.headers());
    }
    if answer.content_length().is_some_and(|length| length > LARGEST_ANSWER) {
        return Err("the collector's answer is too large".into());
    }
    Ok(response.body(answer.bytes().await?)?)
}
