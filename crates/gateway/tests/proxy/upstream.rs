//! An upstream that answers byte for byte from a script.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// One request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The first line and the headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

/// What the upstream does next.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Write(Vec<u8>),
    Wait(Duration),
    /// The connection ends here; otherwise it takes another request.
    Close,
}

type Script = dyn Fn(usize, &Call) -> Vec<Step> + Send + Sync;

/// A running upstream. Dropping it ends it.
pub(crate) struct Upstream {
    pub(crate) port: u16,
    calls: Arc<Mutex<Vec<Call>>>,
    /// Connections that were made, and those that the gateway closed in the middle of a reply.
    counts: Arc<Mutex<(usize, usize)>>,
    _accepting: JoinSet<()>,
}

impl Upstream {
    /// Answers the request number `n` with what the script says for it.
    pub(crate) async fn start(
        script: impl Fn(usize, &Call) -> Vec<Step> + Send + Sync + 'static,
    ) -> Upstream {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let calls = Arc::new(Mutex::new(Vec::new()));
        let counts = Arc::new(Mutex::new((0, 0)));
        let script: Arc<Script> = Arc::new(script);
        let mut accepting = JoinSet::new();
        let (seen, counted) = (Arc::clone(&calls), Arc::clone(&counts));
        accepting.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                counted.lock().unwrap().0 += 1;
                connections.spawn(talk(stream, Arc::clone(&script), Arc::clone(&seen), Arc::clone(&counted)));
            }
        });
        Upstream { port, calls, counts, _accepting: accepting }
    }

    /// Always the same answer.
    pub(crate) async fn always(answer: Vec<Step>) -> Upstream {
        Upstream::start(move |_, _| answer.clone()).await
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.counts.lock().unwrap().0
    }

    pub(crate) fn broken_off(&self) -> usize {
        self.counts.lock().unwrap().1
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

async fn talk(
    mut stream: TcpStream,
    script: Arc<Script>,
    calls: Arc<Mutex<Vec<Call>>>,
    counts: Arc<Mutex<(usize, usize)>>,
) {
    let mut bytes = Vec::new();
    while let Some(call) = read(&mut stream, &mut bytes).await {
        let number = {
            let mut calls = calls.lock().unwrap();
            calls.push(call.clone());
            calls.len() - 1
        };
        for step in script(number, &call) {
            match step {
                Step::Write(bytes) => {
                    if stream.write_all(&bytes).await.is_err() {
                        counts.lock().unwrap().1 += 1;
                        return;
                    }
                }
                Step::Wait(time) => {
                    // A gateway that closes while it waits is noticed.
                    let mut byte = [0];
                    if let Ok(Ok(0) | Err(_)) = tokio::time::timeout(time, stream.peek(&mut byte)).await {
                        counts.lock().unwrap().1 += 1;
                        return;
                    }
                }
                Step::Close => return,
            }
        }
    }
}

async fn read(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<Call> {
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        let mut piece = [0; 65536];
        let count = stream.read(&mut piece).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    while bytes.len() < end + 4 + length {
        let mut piece = [0; 65536];
        let count = stream.read(&mut piece).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
    }
    let body = String::from_utf8_lossy(&bytes[end + 4..end + 4 + length]).into_owned();
    bytes.drain(..end + 4 + length);
    Some(Call { head, body })
}

/// A whole answer.
pub(crate) fn whole(status: u16, headers: &str, body: &str) -> Vec<Step> {
    let head = format!(
        "HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    );
    vec![Step::Write(head.into_bytes())]
}

/// A stream of server-sent events, cut as the pieces are.
pub(crate) fn events(pieces: &[&[u8]]) -> Vec<Step> {
    let mut steps = vec![Step::Write(STREAM_HEAD.to_vec())];
    for piece in pieces {
        let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
        chunk.extend_from_slice(piece);
        chunk.extend_from_slice(b"\r\n");
        steps.push(Step::Write(chunk));
        steps.push(Step::Wait(Duration::from_millis(2)));
    }
    steps.push(Step::Write(b"0\r\n\r\n".to_vec()));
    steps
}

const STREAM_HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";
