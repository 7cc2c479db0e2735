//! A model that always says the same, at once.

use std::net::SocketAddr;
use std::thread::JoinHandle;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::contest::Error;

/// What the model says.
pub(super) const WORDS: &str = "the answer of the bench";

/// A server on a thread of its own.
#[derive(Debug)]
pub(crate) struct Upstream {
    address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Upstream {
    pub(crate) fn start() -> Result<Upstream, Error> {
        let failed = |error: std::io::Error| Error::Failed(error.to_string());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let (end, ended) = oneshot::channel();
        let thread = std::thread::Builder::new().name("upstream".to_owned()).spawn(move || {
            runtime.block_on(async {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
                let mut connections = tokio::task::JoinSet::new();
                let accepting = async {
                    while let Ok((socket, _)) = listener.accept().await {
                        connections.spawn(answer(socket));
                    }
                };
                tokio::select! {
                    () = accepting => {}
                    _ = ended => {}
                }
            });
        });
        Ok(Upstream { address, end: Some(end), thread: Some(thread.map_err(failed)?) })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Answers every request of a connection until it is closed.
async fn answer(mut socket: TcpStream) {
    let _ = socket.set_nodelay(true);
    let (chat, messages) = (chat(), messages());
    let mut bytes = Vec::with_capacity(256 * 1024);
    loop {
        let (head, length) = loop {
            if let Some(end) = find(&bytes, b"\r\n\r\n") {
                break (end + 4, body_length(&bytes[..end]));
            }
            if !matches!(socket.read_buf(&mut bytes).await, Ok(1..)) {
                return;
            }
        };
        let is_messages = bytes.starts_with(b"POST /v1/messages");
        let whole = match length {
            Length::Bytes(length) => head + length,
            Length::Chunked => loop {
                if let Some(end) = find(&bytes[head..], b"\r\n0\r\n\r\n") {
                    break head + end + 7;
                }
                if !matches!(socket.read_buf(&mut bytes).await, Ok(1..)) {
                    return;
                }
            },
        };
        while bytes.len() < whole {
            if !matches!(socket.read_buf(&mut bytes).await, Ok(1..)) {
                return;
            }
        }
        bytes.drain(..whole);
        let reply = if is_messages { &messages } else { &chat };
        if socket.write_all(reply).await.is_err() {
            return;
        }
    }
}

pub(super) enum Length {
    Bytes(usize),
    Chunked,
}

/// How long the body behind a head is.
pub(super) fn body_length(head: &[u8]) -> Length {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let field =
        |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim));
    if field("transfer-encoding").is_some() {
        return Length::Chunked;
    }
    Length::Bytes(field("content-length").and_then(|text| text.parse().ok()).unwrap_or(0))
}

pub(crate) fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn reply(body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn chat() -> Vec<u8> {
    reply(&format!(
        "{{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion\",\"created\":1700000000,\"model\":\"gpt-4o-mini\",\
         \"choices\":[{{\"index\":0,\"message\":{{\"role\":\"assistant\",\"content\":\"{WORDS}\"}},\
         \"logprobs\":null,\"finish_reason\":\"stop\"}}],\
         \"usage\":{{\"prompt_tokens\":512,\"completion_tokens\":7,\"total_tokens\":519}}}}"
    ))
}

fn messages() -> Vec<u8> {
    reply(&format!(
        "{{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-sonnet-4-6\",\
         \"content\":[{{\"type\":\"text\",\"text\":\"{WORDS}\"}}],\"stop_reason\":\"end_turn\",\
         \"stop_sequence\":null,\"usage\":{{\"input_tokens\":12,\"cache_creation_input_tokens\":200,\
         \"cache_read_input_tokens\":28000,\"output_tokens\":7}}}}"
    ))
}
