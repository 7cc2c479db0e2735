//! Connections of clients, accepted within a bound.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

/// How long accepting pauses when the machine has no more sockets to give.
const PAUSE: Duration = Duration::from_millis(50);

/// Accepts connections until the end, each with one of so many places, which it holds while it is served. Gives the
/// connections that are still served then; nobody listens any more.
pub async fn accept<S>(
    listener: TcpListener,
    places: usize,
    end: impl Future<Output = ()>,
    serve: impl Fn(TcpStream, OwnedSemaphorePermit) -> S,
) -> JoinSet<()>
where
    S: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    let places = Arc::new(Semaphore::new(places));
    let mut end = std::pin::pin!(end);
    loop {
        // Clients beyond the bound wait in the system's own queue.
        let place = tokio::select! {
            () = &mut end => break,
            place = Arc::clone(&places).acquire_owned() => place,
        };
        let Ok(place) = place else { break };
        let accepted = tokio::select! {
            () = &mut end => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                connections.spawn(serve(stream, place));
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
        while connections.try_join_next().is_some() {}
    }
    connections
}
