//! Servers on this machine that answer from a script and complain about what they did not expect.

pub(crate) mod host;
pub(crate) mod model;

use std::convert::Infallible;
use std::sync::{Mutex, MutexGuard, PoisonError};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use stave_canon::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::json;

/// A running server. Dropping it ends it, with every answer that is still being waited for.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) port: u16,
    _accepting: JoinSet<()>,
}

/// One request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) address: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// What goes back.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u64,
    pub(crate) content_type: &'static str,
    pub(crate) retry_after: Option<u64>,
    /// Further headers.
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(status: u64, body: impl Into<String>) -> Self {
        Reply {
            status,
            content_type: "application/json",
            retry_after: None,
            headers: Vec::new(),
            body: body.into(),
        }
    }

    pub(crate) fn text(status: u64, content_type: &'static str, body: impl Into<String>) -> Self {
        Reply { status, content_type, retry_after: None, headers: Vec::new(), body: body.into() }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// With the `Retry-After` that the script's entry asks for.
    pub(crate) fn retry_after(mut self, entry: &Value) -> Self {
        self.retry_after = json::count(entry, "retry_after");
        self
    }

    fn into_response(self) -> Response<Full<Bytes>> {
        let status = u16::try_from(self.status).ok().and_then(|status| StatusCode::from_u16(status).ok());
        let mut response = Response::new(Full::new(Bytes::from(self.body)));
        *response.status_mut() = status.expect("a script names statuses that exist");
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, self.content_type.parse().expect("a content type is a header value"));
        headers.extend(self.retry_after.map(|seconds| (RETRY_AFTER, seconds.into())));
        for (name, value) in self.headers {
            headers.append(name, value.parse().expect("a script names headers that can be sent"));
        }
        response
    }
}

/// What a script saw, for the comparison after the run.
#[derive(Debug, Default)]
pub(crate) struct Log(Mutex<Entries>);

#[derive(Debug, Default)]
pub(crate) struct Entries {
    pub(crate) calls: Vec<Call>,
    pub(crate) problems: Vec<String>,
}

impl Log {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn complain(&self, problem: String) {
        self.lock().problems.push(problem);
    }
}

/// Answers every request with what `answer` gives for it.
pub(crate) async fn serve<A, F>(answer: A) -> Server
where
    A: Fn(Call) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Reply> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port of this machine can be bound");
    let port = listener.local_addr().expect("a bound port has an address").port();
    let mut accepting = JoinSet::new();
    accepting.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            while connections.try_join_next().is_some() {}
            let answer = answer.clone();
            connections.spawn(async move {
                let service = service_fn(|request: Request<Incoming>| {
                    let answer = answer.clone();
                    async move {
                        let reply = match receive(request).await {
                            Ok(call) => answer(call).await,
                            Err(error) => Reply::text(400, "text/plain", error.to_string()),
                        };
                        Ok::<_, Infallible>(reply.into_response())
                    }
                });
                // A client that goes away in the middle is the client's affair.
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    Server { port, _accepting: accepting }
}

async fn receive(request: Request<Incoming>) -> Result<Call, hyper::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    Ok(Call { method: head.method, address: head.uri, headers: head.headers, body })
}
