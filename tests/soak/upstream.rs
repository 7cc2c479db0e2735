//! The upstream: does with every request what its script says.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::script::{Ending, Script};

/// The header that identifies a request to the upstream.
pub(crate) const NUMBER: &str = "x-soak-request";

/// How long a stall lasts when nobody ends it.
const STALL: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Upstream {
    address: SocketAddr,
    is_faulty: bool,
    /// How often each request came that is still under way.
    attempts: Mutex<HashMap<u64, u32>>,
    connections: Mutex<Option<JoinSet<()>>>,
}

impl Upstream {
    pub(crate) async fn faulty() -> Arc<Upstream> {
        Upstream::start(true).await
    }

    pub(crate) async fn steady() -> Arc<Upstream> {
        Upstream::start(false).await
    }

    async fn start(is_faulty: bool) -> Arc<Upstream> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let upstream = Arc::new(Upstream {
            address: listener.local_addr().expect("an address"),
            is_faulty,
            attempts: Mutex::default(),
            connections: Mutex::new(None),
        });
        let mut accepting = JoinSet::new();
        let serving = Arc::downgrade(&upstream);
        accepting.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let Some(upstream) = serving.upgrade() else { return };
                connections.spawn(async move { upstream.serve(socket).await });
                while connections.try_join_next().is_some() {}
            }
        });
        *upstream.connections.lock().expect("no panic holds it") = Some(accepting);
        upstream
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// How often a request came, and forgets it.
    pub(crate) fn attempts_of(&self, request: u64) -> u32 {
        self.attempts.lock().expect("no panic holds it").remove(&request).unwrap_or(0)
    }

    async fn serve(&self, mut socket: TcpStream) {
        let _ = socket.set_nodelay(true);
        let mut bytes = Vec::new();
        while let Some((request, is_stream)) = read_request(&mut socket, &mut bytes).await {
            let script = if self.is_faulty {
                let attempt = {
                    let mut attempts = self.attempts.lock().expect("no panic holds it");
                    let attempt = attempts.entry(request).or_default();
                    *attempt += 1;
                    *attempt
                };
                Script::faulty(request, attempt, is_stream)
            } else {
                Script::steady(request, is_stream)
            };
            if !play(&mut socket, &script).await {
                match script.ending {
                    Ending::Reset => {
                        let _ = socket.set_zero_linger();
                    }
                    Ending::Stalled => {
                        // Until the other side gives up.
                        let _ = tokio::time::timeout(STALL, socket.read(&mut [0])).await;
                    }
                    Ending::Whole | Ending::Closed => {}
                }
                return;
            }
        }
    }
}

/// Sends what the script says. `false` when the connection is not to be used again.
async fn play(socket: &mut TcpStream, script: &Script) -> bool {
    let body_length: usize = script.pieces.iter().map(Vec::len).sum();
    let head = match script.status {
        None => return false,
        Some(_) if script.garbage => String::new(),
        Some(status) if script.is_stream => {
            format!(
                "HTTP/1.1 {status} x\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            )
        }
        Some(status) => {
            let length = body_length + script.missing + usize::from(script.ending == Ending::Reset);
            let wait = if status == 429 { "retry-after: 0\r\n" } else { "" };
            format!(
                "HTTP/1.1 {status} x\r\n{wait}content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
            )
        }
    };
    if socket.write_all(head.as_bytes()).await.is_err() {
        return false;
    }
    let is_chunked = script.is_stream && !script.garbage;
    for (index, piece) in script.pieces.iter().enumerate() {
        let sent = if is_chunked {
            let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
            chunk.extend_from_slice(piece);
            chunk.extend_from_slice(b"\r\n");
            socket.write_all(&chunk).await
        } else {
            socket.write_all(piece).await
        };
        if sent.is_err() {
            return false;
        }
        if index % 5 == 0 {
            tokio::task::yield_now().await;
        }
    }
    if script.ending != Ending::Whole {
        return false;
    }
    !is_chunked || socket.write_all(b"0\r\n\r\n").await.is_ok()
}

/// The next request's number, and whether it asks for a stream.
async fn read_request(socket: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<(u64, bool)> {
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
            let field = |name: &str| {
                let line = head.lines().find(|line| line.starts_with(name))?;
                line.split_once(':').map(|(_, value)| value.trim().to_owned())
            };
            let length: usize = field("content-length").and_then(|text| text.parse().ok()).expect("a length");
            let whole = end + 4 + length;
            if bytes.len() >= whole {
                let number = field(NUMBER).and_then(|text| text.parse().ok()).expect("a number");
                let body = String::from_utf8_lossy(&bytes[end + 4..whole]);
                let is_stream = body.contains("\"stream\":true");
                drop(body);
                bytes.drain(..whole);
                return Some((number, is_stream));
            }
        }
        if !matches!(socket.read_buf(bytes).await, Ok(1..)) {
            return None;
        }
    }
}
