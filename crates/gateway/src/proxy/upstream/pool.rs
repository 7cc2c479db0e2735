//! Connections to one upstream, kept for the next request.
//!
//! A connection is driven by the task that uses it: nothing is handed between tasks while a reply
//! passes through, and who lets go of a reply closes its connection.
//!
//! Invariant: a connection is in the pool only when its last reply was read to the end.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use stave_canon::Clock;
use stave_llm::{IDLE_CONNECTIONS, IDLE_TIME};

use super::socket::{Place, Socket};

#[derive(Debug)]
pub(crate) struct Pool {
    clock: Arc<dyn Clock>,
    idle: Mutex<Vec<(Connection, Duration)>>,
}

type Driver = Pin<Box<http1::Connection<TokioIo<Socket>, Full<Bytes>>>>;

/// One connection and what drives it.
#[derive(Debug)]
pub(crate) struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
    /// Gone when the connection has ended.
    driver: Option<Driver>,
    /// Whether it served a request before.
    pub(super) is_reused: bool,
}

/// Why no reply came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Broken {
    #[error("no connection could be made")]
    Connect,
    #[error("the connection broke before the reply began")]
    Exchange,
}

impl Pool {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Pool { clock, idle: Mutex::default() }
    }

    /// A connection that is ready, kept or new.
    pub(super) async fn take(&self, place: &Place) -> Result<Connection, Broken> {
        if let Some(connection) = self.kept() {
            return Ok(connection);
        }
        // Seldom needed, and large: every request would carry the room for it about.
        Box::pin(Pool::fresh(place)).await
    }

    pub(super) async fn fresh(place: &Place) -> Result<Connection, Broken> {
        let socket = Socket::open(place).await.map_err(|_| Broken::Connect)?;
        let (sender, driver) = http1::Builder::new()
            .max_buf_size(256 * 1024)
            .handshake(TokioIo::new(socket))
            .await
            .map_err(|_| Broken::Connect)?;
        Ok(Connection { sender, driver: Some(Box::pin(driver)), is_reused: false })
    }

    fn kept(&self) -> Option<Connection> {
        let now = self.clock.elapsed();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // The one that was used last is the least likely to be closed.
        while let Some((mut connection, since)) = idle.pop() {
            if now.saturating_sub(since) > IDLE_TIME {
                idle.clear();
                return None;
            }
            // An end that the other side made is seen only by looking.
            connection.drive(&mut Context::from_waker(Waker::noop()));
            if connection.is_ready() {
                connection.is_reused = true;
                return Some(connection);
            }
        }
        None
    }

    fn keep(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_CONNECTIONS {
            idle.push((connection, self.clock.elapsed()));
        }
    }

    pub(crate) fn idle_count(&self) -> usize {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Connection {
    pub(super) async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Broken> {
        let Connection { sender, driver, .. } = self;
        let mut reply = pin!(sender.send_request(request));
        let reply = poll_fn(|context| {
            drive(driver, context);
            reply.as_mut().poll(context)
        });
        reply.await.map_err(|_| Broken::Exchange)
    }

    fn drive(&mut self, context: &mut Context<'_>) {
        drive(&mut self.driver, context);
    }

    fn is_ready(&self) -> bool {
        self.driver.is_some() && self.sender.is_ready()
    }
}

fn drive(driver: &mut Option<Driver>, context: &mut Context<'_>) {
    if driver.as_mut().is_some_and(|driver| driver.as_mut().poll(context).is_ready()) {
        *driver = None;
    }
}

/// The body of a reply, with the connection that it comes over.
#[derive(Debug)]
pub(crate) struct UpstreamBody {
    incoming: Incoming,
    connection: Option<Connection>,
    pool: Arc<Pool>,
}

/// The reply broke off.
#[derive(Debug, thiserror::Error)]
#[error("the upstream's reply broke off")]
pub(crate) struct BrokenOff;

impl UpstreamBody {
    pub(super) fn new(incoming: Incoming, connection: Connection, pool: Arc<Pool>) -> Self {
        let mut body = UpstreamBody { incoming, connection: Some(connection), pool };
        if body.incoming.is_end_stream() {
            body.release(&mut Context::from_waker(Waker::noop()));
        }
        body
    }

    /// Gives the connection back once the reply is whole.
    fn release(&mut self, context: &mut Context<'_>) {
        if let Some(mut connection) = self.connection.take() {
            connection.drive(context);
            if connection.is_ready() {
                self.pool.keep(connection);
            }
        }
    }
}

impl Body for UpstreamBody {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        let body = self.get_mut();
        // Asking for a piece may be what lets the connection read it, so there are two rounds.
        for _ in 0..2 {
            if let Some(connection) = &mut body.connection {
                connection.drive(context);
            }
            match Pin::new(&mut body.incoming).poll_frame(context) {
                Poll::Pending => {}
                Poll::Ready(Some(Ok(frame))) => {
                    if body.incoming.is_end_stream() {
                        body.release(context);
                    }
                    return Poll::Ready(Some(Ok(frame)));
                }
                Poll::Ready(Some(Err(_))) => {
                    body.connection = None;
                    return Poll::Ready(Some(Err(BrokenOff)));
                }
                Poll::Ready(None) => {
                    body.release(context);
                    return Poll::Ready(None);
                }
            }
        }
        Poll::Pending
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
