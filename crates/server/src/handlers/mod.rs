//! One file for each group of paths, and what holds for all of them.

mod health;
mod run_list;
pub(crate) mod runs;
mod v1;
mod v2;
mod watch;

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body as _, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Request, StatusCode};
use stave_canon::Value;
use stave_shape::Shape;
use tokio::sync::OwnedSemaphorePermit;

use crate::access::{Principal, same_origin};
use crate::api::{Endpoint, Operation, assert_declared};
use crate::body_weight;
use crate::connection::Seat;
use crate::log::ServerEvent;
use crate::mcp;
use crate::message::{self, Reply};
use crate::openapi;
use crate::problem::Problem;
use crate::route::Route;
use crate::server::Shared;
use crate::studio;

/// A request that was let in.
pub(crate) struct Call<'s> {
    pub(crate) shared: &'s Arc<Shared>,
    pub(crate) operation: &'static Operation,
    pub(crate) principal: Principal,
    pub(crate) headers: HeaderMap,
    pub(crate) query: Vec<(String, String)>,
    body: Incoming,
    /// The room that the body takes, for as long as the request is in progress.
    held: Held,
}

/// The room of a body, once it is taken.
pub(crate) type Held = Arc<OnceLock<OwnedSemaphorePermit>>;

impl Call<'_> {
    /// The body as JSON, within the bounds of size and time.
    pub(crate) async fn json(self) -> Result<(HeaderMap, Value), Problem> {
        let (headers, bytes) = self.bytes().await?;
        Ok((headers, message::value(&bytes)?))
    }

    /// The body as a declared type. Everything that is wrong with it is refused at once.
    pub(crate) async fn typed<T: Shape>(self) -> Result<(HeaderMap, T), Problem> {
        let (headers, body) = self.json().await?;
        let read = stave_shape::read(&body).map_err(|faults| message::does_not_fit(&faults))?;
        Ok((headers, read))
    }

    /// The body as it came, within the same bounds.
    async fn bytes(self) -> Result<(HeaderMap, Bytes), Problem> {
        let limits = self.shared.limits();
        // A body that does not say its size may take as much as one may.
        let size = self.body.size_hint().exact().and_then(|size| usize::try_from(size).ok());
        let size = size.unwrap_or(usize::MAX).min(limits.body_bytes);
        let reading = async {
            let (bodies, tenant) = (&self.shared.bodies, self.principal.tenant());
            let mut room = bodies.hold(tenant, size).await;
            let bytes = message::read(&self.headers, self.body, limits.body_bytes).await?;
            let weight = body_weight::in_memory(&bytes);
            if weight > body_weight::MOST {
                return Err(message::too_many_values());
            }
            if weight > size {
                // A request that waits for more room gives the first one back, so that two of them never wait for each
                // other.
                drop(room);
                room = bodies.hold(tenant, weight).await;
            }
            if let Some(room) = room {
                let _ = self.held.set(room);
            }
            Ok(bytes)
        };
        match tokio::time::timeout(limits.reading, reading).await {
            Ok(read) => read.map(|bytes| (self.headers, bytes)),
            Err(_) => {
                let detail = "the body did not come in time";
                Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "request-timeout", detail))
            }
        }
    }

    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Answers a request to a path that exists.
pub(crate) async fn answer(
    shared: &Arc<Shared>,
    seat: &Seat,
    route: Route,
    request: Request<Incoming>,
) -> Result<Reply, Problem> {
    let Some(operation) = route.operation(request.method()) else {
        let detail = format!("{} is not taken here", request.method());
        let allow = HeaderValue::from_str(&route.allow()).unwrap_or(HeaderValue::from_static(""));
        return Err(Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", detail)
            .with_header(header::ALLOW, allow));
    };
    let reply = handle(shared, seat, operation, route, request).await?;
    assert_declared(operation, &reply);
    Ok(reply)
}

async fn handle(
    shared: &Arc<Shared>,
    seat: &Seat,
    operation: &'static Operation,
    route: Route,
    request: Request<Incoming>,
) -> Result<Reply, Problem> {
    let (parts, body) = request.into_parts();
    let endpoint = operation.endpoint;
    match endpoint {
        Endpoint::Live => return Ok(health::live()),
        Endpoint::Ready => return Ok(health::ready(shared)),
        Endpoint::Server => return Ok(health::server(shared)),
        _ => {}
    }
    let keys = shared.options.keys.current();
    same_origin(&parts.headers, &keys)?;
    // The page holds nothing of anybody, so it needs no key; what it asks for does.
    match (endpoint, &shared.options.studio) {
        (Endpoint::Page, Some(_)) => return page("/", &parts.headers),
        (Endpoint::Asset, Some(_)) => return page(route.argument(0), &parts.headers),
        (Endpoint::Page, None) => return Ok(health::live()),
        (Endpoint::Asset, None) => {
            return Err(Problem::new(StatusCode::NOT_FOUND, "not-found", "the studio is turned off"));
        }
        _ => {}
    }
    let principal = keys.principal(&parts.headers).and_then(|principal| principal.narrowed(operation.need));
    let principal = principal.inspect_err(|problem| {
        let route = route.template();
        shared.options.log.event(&ServerEvent::KeyRefused { route, code: problem.code() });
    })?;
    seat.take(shared, &principal)?;
    let query = crate::decoded_path::query(parts.uri.query());
    let held = Arc::new(OnceLock::new());
    if endpoint == Endpoint::Mcp {
        let headers = parts.headers.clone();
        let asker = principal.clone();
        let call = Call { shared, operation, principal, headers, query, body, held: Arc::clone(&held) };
        let (_, bytes) = call.bytes().await?;
        // What is no JSON at all, the protocol answers in its own words.
        if stave_canon::parse_bytes(&bytes).is_ok() {
            message::value(&bytes)?;
        }
        return mcp::answer(shared, asker, held, Request::from_parts(parts, Full::new(bytes))).await;
    }
    let call =
        Call { shared, operation, principal, headers: parts.headers, query, body, held: Arc::clone(&held) };
    let (first, second) = (route.argument(0), route.argument(1));
    match endpoint {
        Endpoint::V1Models | Endpoint::V2Models => Ok(v1::models(&call)),
        Endpoint::V1Model => v1::show(&call, first),
        Endpoint::Predict => v1::predict(call, first).await,
        Endpoint::V2Model => v2::show(&call, first),
        Endpoint::V2ModelReady => v2::ready(&call, first),
        Endpoint::Infer => v2::infer(call, first).await,
        Endpoint::StartRun => runs::start(call).await,
        Endpoint::Runs => run_list::list(&call).await,
        Endpoint::Run => runs::show(&call, first).await,
        Endpoint::Questions => runs::questions(&call, first).await,
        Endpoint::Events => watch::events(&call, first).await,
        Endpoint::Cancel => runs::cancel(&call, first).await,
        Endpoint::Resume => runs::resume(call, first).await,
        Endpoint::Replay => runs::replay(call, first).await,
        Endpoint::Decide => runs::decide(call, first, second).await,
        Endpoint::OpenApi => Ok(message::json(StatusCode::OK, &openapi::document(&call))),
        Endpoint::Metrics => {
            let text = shared.metrics.text(&call.principal, shared.in_progress());
            Ok(message::reply(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text))
        }
        Endpoint::Studio(endpoint) => studio::answer(call, endpoint, first, second).await,
        // These were answered above, before a key was asked for.
        Endpoint::Live
        | Endpoint::Ready
        | Endpoint::Server
        | Endpoint::Page
        | Endpoint::Asset
        | Endpoint::Mcp => Ok(health::live()),
    }
}

fn page(path: &str, headers: &HeaderMap) -> Result<Reply, Problem> {
    let file = studio::find(path).ok_or_else(|| {
        Problem::new(StatusCode::NOT_FOUND, "not-found", "this program was built without the studio's page")
    })?;
    file.answer(headers)
}
