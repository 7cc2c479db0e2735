//! Connections of clients: accepted within a bound, and ended in order.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use hyper::body::Incoming;
use hyper::header;
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::gateway::{Core, Phase};
use super::interface::{Fault, Route};
use super::reply::Reply;
use super::{exchange, pages, stats};

/// How many headers the HTTP library takes by itself, which is also the gateway's usual bound.
const USUAL_HEADERS: usize = 100;

pub(crate) async fn accept(core: &Arc<Core>, listener: TcpListener, end: impl Future<Output = ()>) -> usize {
    let places = core.setup().config.limits.connections;
    let serve = |stream, place| serve(Arc::clone(core), stream, place);
    let mut connections = stave_listen::accept(listener, places, end, serve).await;
    core.drain();
    let drained = async { while connections.join_next().await.is_some() {} };
    let drain = core.setup().config.limits.drain;
    // What is left then is broken off, and its records are written as it goes.
    let _ = tokio::time::timeout(drain, drained).await;
    let left = core.metrics.in_progress();
    connections.shutdown().await;
    left
}

async fn serve(core: Arc<Core>, stream: TcpStream, _place: OwnedSemaphorePermit) {
    let _ = stream.set_nodelay(true);
    let mut phase = core.phase();
    let limits = core.setup().config.limits;
    let service = service_fn(move |request| {
        let core = Arc::clone(&core);
        async move { Ok::<Reply, Infallible>(answer(&core, request).await) }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_reading)
        .max_buf_size(limits.header_bytes.max(8192));
    // A number that is set is allocated for with each request, even when it is the one that holds anyway.
    if limits.headers != USUAL_HEADERS {
        builder.max_headers(limits.headers);
    }
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    // A client that broke the connection off is no failure of ours.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = draining(&mut phase) => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

async fn draining(phase: &mut watch::Receiver<Phase>) {
    // Without a gateway there is nothing to wait for.
    let _ = phase.wait_for(|phase| *phase == Phase::Draining).await;
}

async fn answer(core: &Arc<Core>, request: Request<Incoming>) -> Reply {
    let (parts, body) = request.into_parts();
    let Some(route) = Route::of(parts.uri.path()) else {
        core.metrics.page("other", 404);
        let fault = Fault::new(StatusCode::NOT_FOUND, "not_found", "there is nothing here");
        return fault.into_reply(Route::Models.surface(&parts.headers));
    };
    if !route.takes(&parts.method) {
        core.metrics.page(route.template(), 405);
        let message = format!("{} is not taken here", parts.method);
        let fault = Fault::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message);
        let mut reply = fault.into_reply(route.surface(&parts.headers));
        reply.headers_mut().insert(header::ALLOW, route.allow());
        return reply;
    }
    let surface = route.surface(&parts.headers);
    let answering = AssertUnwindSafe(answer_route(core, route, parts, body)).catch_unwind();
    answering.await.unwrap_or_else(|_| {
        let message = "the gateway failed at this request";
        Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "internal_error", message).into_reply(surface)
    })
}

/// Whatever panics in here costs its request and not the connection.
async fn answer_route(core: &Arc<Core>, route: Route, parts: Parts, body: Incoming) -> Reply {
    match route {
        Route::Ask(endpoint) => exchange::answer(core, endpoint, parts, body).await,
        Route::Stats => {
            let reply = stats::stats(core, &parts.headers, parts.uri.query()).await;
            core.metrics.page(route.template(), reply.status().as_u16());
            reply
        }
        route => {
            let reply = pages::answer(core, &route, &parts.headers);
            core.metrics.page(route.template(), reply.status().as_u16());
            reply
        }
    }
}
