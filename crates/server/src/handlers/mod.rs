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
use hyper::{Method, Request, StatusCode};
use stave_canon::Value;
use tokio::sync::OwnedSemaphorePermit;

use crate::access::{Principal, same_origin};
use crate::body_weight;
use crate::connection::Seat;
use crate::log::ServerEvent;
use crate::mcp;
use crate::message::{self, Reply};
use crate::openapi;
use crate::problem::Problem;
use crate::roles;
use crate::route::Route;
use crate::server::Shared;
use crate::studio;

/// A request that was let in.
pub(crate) struct Call<'s> {
    pub(crate) shared: &'s Arc<Shared>,
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
                // Whoever waits for more room gives the first one back, so that two of them never wait for each other.
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
    let (parts, body) = request.into_parts();
    if !route.takes(&parts.method) {
        let detail = format!("{} is not taken here", parts.method);
        return Err(Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", detail)
            .with_header(header::ALLOW, HeaderValue::from_static(route.allow())));
    }
    // What the table of roles does not have is for nobody.
    let need = roles::need(&parts.method, route.template())
        .ok_or_else(|| Problem::new(StatusCode::FORBIDDEN, "role-missing", "no key may ask for this"))?;
    if matches!(route, Route::Live | Route::Ready | Route::Server) {
        return Ok(health::answer(shared, &route));
    }
    let keys = shared.options.keys.current();
    same_origin(&parts.headers, &keys)?;
    // The page holds nothing of anybody, so it needs no key; what it asks for does.
    match (&route, &shared.options.studio) {
        (Route::Page, Some(_)) => return page("/", &parts.headers),
        (Route::Asset(path), Some(_)) => return page(path, &parts.headers),
        (Route::Page, None) => return Ok(health::answer(shared, &Route::Live)),
        (Route::Asset(_), None) => {
            return Err(Problem::new(StatusCode::NOT_FOUND, "not-found", "the studio is turned off"));
        }
        _ => {}
    }
    let principal = keys.principal(&parts.headers).and_then(|principal| principal.narrowed(need));
    let principal = principal.inspect_err(|problem| {
        let route = route.template();
        shared.options.log.event(&ServerEvent::KeyRefused { route, code: problem.code() });
    })?;
    seat.take(shared, &principal)?;
    let query = crate::decoded_path::query(parts.uri.query());
    let held = Arc::new(OnceLock::new());
    if route == Route::Mcp {
        let headers = parts.headers.clone();
        let asker = principal.clone();
        let call = Call { shared, principal, headers, query, body, held: Arc::clone(&held) };
        let (_, bytes) = call.bytes().await?;
        // What is no JSON at all, the protocol answers in its own words.
        if stave_canon::parse_bytes(&bytes).is_ok() {
            message::value(&bytes)?;
        }
        return mcp::answer(shared, asker, held, Request::from_parts(parts, Full::new(bytes))).await;
    }
    let call = Call { shared, principal, headers: parts.headers, query, body, held: Arc::clone(&held) };
    match route {
        Route::V1Models => Ok(v1::list(&call)),
        Route::V1Model(name) => v1::show(&call, &name),
        Route::Predict(name) => v1::predict(call, &name).await,
        Route::V2Models => Ok(v2::list(&call)),
        Route::V2Model(name) => v2::show(&call, &name),
        Route::V2ModelReady(name) => v2::ready(&call, &name),
        Route::Infer(name) => v2::infer(call, &name).await,
        Route::Runs if parts.method == Method::POST => runs::start(call).await,
        Route::Runs => run_list::list(&call).await,
        Route::Run(run) => runs::show(&call, &run).await,
        Route::Questions(run) => runs::questions(&call, &run).await,
        Route::Events(run) => watch::events(&call, &run).await,
        Route::Cancel(run) => runs::cancel(&call, &run).await,
        Route::Resume(run) => runs::resume(call, &run).await,
        Route::Replay(run) => runs::replay(call, &run).await,
        Route::Decide(run, node) => runs::decide(call, &run, &node).await,
        Route::OpenApi => Ok(message::json(StatusCode::OK, &openapi::document(&call))),
        Route::Metrics => {
            let text = shared.metrics.text(&call.principal, shared.in_progress());
            Ok(message::reply(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text))
        }
        Route::Studio(route) => studio::answer(call, route, &parts.method).await,
        Route::Live | Route::Ready | Route::Server | Route::Page | Route::Asset(_) | Route::Mcp => {
            Ok(health::answer(shared, &route))
        }
    }
}

fn page(path: &str, headers: &HeaderMap) -> Result<Reply, Problem> {
    let file = studio::find(path).ok_or_else(|| {
        Problem::new(StatusCode::NOT_FOUND, "not-found", "this program was built without the studio's page")
    })?;
    file.answer(headers)
}
