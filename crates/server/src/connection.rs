//! Connections: accepted within a bound, and ended in order.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use stave_listen::Turn;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OwnedSemaphorePermit;

use crate::access::Principal;
use crate::handlers;
use crate::message::Reply;
use crate::problem::Problem;
use crate::route::Route;
use crate::server::{Phase, Shared, reach};

/// How long runs may take to reach the end of their step.
const LAST: std::time::Duration = std::time::Duration::from_secs(5);

pub(crate) async fn accept(
    shared: &Arc<Shared>,
    listener: TcpListener,
    end: impl Future<Output = ()>,
) -> usize {
    let serve = |stream, place| serve(Arc::clone(shared), stream, place);
    let mut connections = stave_listen::accept(listener, shared.limits().connections, end, serve).await;
    drain(shared, async { while connections.join_next().await.is_some() {} }).await;
    shared.in_progress()
}

/// Takes nothing more, and waits for runs and for those who asked for them, within the bound.
pub(crate) async fn drain(shared: &Shared, clients: impl Future<Output = ()>) {
    shared.enter(Phase::Draining);
    let mut drained = std::pin::pin!(async {
        finish_runs(shared).await;
        clients.await;
    });
    if tokio::time::timeout(shared.limits().drain, drained.as_mut()).await.is_err() {
        shared.enter(Phase::Ending);
        // What is left then ends with this process; the journal has it.
        let _ = tokio::time::timeout(LAST, drained).await;
    }
}

/// Waits until no run is in progress.
async fn finish_runs(shared: &Shared) {
    shared.turns.idle().await;
}

async fn serve(shared: Arc<Shared>, stream: TcpStream, _place: OwnedSemaphorePermit) {
    let _ = stream.set_nodelay(true);
    let mut phase = shared.phase();
    let reading = shared.limits().reading;
    let seat = Seat::default();
    let service = service_fn(move |request| {
        let (shared, seat) = (Arc::clone(&shared), seat.clone());
        async move { Ok::<Reply, Infallible>(answer(&shared, &seat, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(reading)
        .max_buf_size(64 * 1024)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    // A client that broke the connection off is no failure of ours.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = reach(&mut phase, Phase::Draining) => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

/// A connection's place among those of its tenant. It is taken by the first request that has a valid key, since nobody
/// knows earlier whose the connection is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seat(Arc<OnceLock<Turn<String>>>);

impl Seat {
    /// Takes the place, or refuses the request and ends its connection, so that the other tenants find theirs.
    pub(crate) fn take(&self, shared: &Shared, principal: &Principal) -> Result<(), Problem> {
        let Some(tenant) = principal.tenant().filter(|_| self.0.get().is_none()) else { return Ok(()) };
        let Some(turn) = shared.seats.try_enter(tenant.to_owned()) else {
            let detail = "the tenant has too many connections open; close some and try again";
            return Err(Problem::busy(StatusCode::TOO_MANY_REQUESTS, "too-many-connections", detail)
                .with_header(header::CONNECTION, HeaderValue::from_static("close")));
        };
        let _ = self.0.set(turn);
        Ok(())
    }
}

async fn answer(shared: &Arc<Shared>, seat: &Seat, request: Request<Incoming>) -> Reply {
    let clock = Arc::clone(&shared.options.clock);
    let started = clock.elapsed();
    let method = request.method().clone();
    let route = Route::of(request.uri().path());
    let template = route.as_ref().map_or("other", Route::template);
    let reply = match route {
        Some(route) => {
            handlers::answer(shared, seat, route, request).await.unwrap_or_else(Problem::into_reply)
        }
        None => Problem::new(StatusCode::NOT_FOUND, "not-found", "there is nothing here").into_reply(),
    };
    let took = clock.elapsed().saturating_sub(started);
    shared.metrics.request(template, method.as_str(), reply.status().as_u16(), took);
    reply
}
