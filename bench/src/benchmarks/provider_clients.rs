//! The gateway's own connection pool beside the provider client's, on loopback, one request after the other.
//!
//! The gateway drives a connection in the task that uses it. The provider client hands each request to a task of the
//! connection and gets the reply back from there. Both send the same bytes and read the reply to its end; counted is
//! the CPU time of the thread that does so.

#[expect(dead_code, reason = "the gateway also counts the connections that it keeps")]
#[path = "../../../crates/gateway/src/proxy/upstream/pool.rs"]
mod pool;
#[path = "../../../crates/gateway/src/proxy/upstream/socket.rs"]
mod socket;

use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use stave_canon::{FixedClock, Timestamp};
use tokio::runtime::Runtime;

use self::pool::{Pool, UpstreamBody};
use self::socket::Place;
use super::Benchmark;
use crate::contest::{Comparison, Contestant, Entrant, Error, InProcess, Work};
use crate::machine::Machine;
use crate::proxies::Upstream;

pub(super) const BENCHMARK: Benchmark = Benchmark {
    name: "provider-clients",
    about: "the gateway's connection pool beside the provider client's, CPU of the thread that asks",
    prepare,
};

const PATH: &str = "/v1/chat/completions";

fn prepare(_: &Machine) -> Vec<Comparison> {
    let comparison = |title, bytes| Comparison {
        title,
        work: Work::Calls(1),
        entrants: vec![
            Entrant { name: "the gateway's pool", contestant: own_pool(bytes) },
            Entrant { name: "the provider client's pool", contestant: provider_client(bytes) },
        ],
    };
    vec![comparison("2 kB body", 2_000), comparison("115 kB body", 115_000)]
}

/// A server and a thread's own executor.
fn scene() -> Result<(Rc<Upstream>, Runtime), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    Ok((Rc::new(Upstream::start()?), runtime))
}

fn own_pool(bytes: usize) -> Result<Box<dyn Contestant>, Error> {
    let (upstream, runtime) = scene()?;
    let address = upstream.address();
    let place = Place { host: address.ip().to_string(), port: address.port(), is_encrypted: false };
    let pool = Arc::new(Pool::new(Arc::new(FixedClock(Timestamp::UNIX_EPOCH))));
    let (host, body) = (address.to_string(), Bytes::from(vec![b'x'; bytes]));
    let ask = move || {
        // The client keeps the server.
        let _ = &upstream;
        runtime.block_on(async {
            let request = hyper::Request::post(PATH)
                .header("host", host.as_str())
                .header("content-type", "application/json")
                .header("authorization", "Bearer sk-upstream")
                .body(Full::new(body.clone()))
                .map_err(failed)?;
            let mut connection = pool.take(&place).await.map_err(failed)?;
            let (_, incoming) = connection.send(request).await.map_err(failed)?.into_parts();
            let reply = UpstreamBody::new(incoming, connection, Arc::clone(&pool));
            Ok(reply.collect().await.map_err(failed)?.to_bytes())
        })
    };
    contestant(ask)
}

fn provider_client(bytes: usize) -> Result<Box<dyn Contestant>, Error> {
    let (upstream, runtime) = scene()?;
    let client = stave_llm::http_client(|builder| builder).map_err(failed)?.client;
    let url = format!("http://{}{PATH}", upstream.address());
    let body = Bytes::from(vec![b'x'; bytes]);
    let ask = move || {
        // The client keeps the server.
        let _ = &upstream;
        runtime.block_on(async {
            let request = client
                .post(&url)
                .header("content-type", "application/json")
                .header("authorization", "Bearer sk-upstream")
                .body(body.clone());
            let reply = request.send().await.map_err(failed)?;
            reply.bytes().await.map_err(failed)
        })
    };
    contestant(ask)
}

fn contestant(ask: impl Fn() -> Result<Bytes, Error> + 'static) -> Result<Box<dyn Contestant>, Error> {
    let answer = String::from_utf8_lossy(&ask()?).into_owned();
    let work = move || {
        let _ = std::hint::black_box(ask());
    };
    Ok(InProcess::boxed(answer, work))
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Failed(error.to_string())
}
