//! A provider on the loopback interface that does what its script says, one act per request.

#![expect(clippy::unwrap_used, reason = "a test helper fails by panicking")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// What the provider does with one request.
pub(crate) enum Act {
    /// Answers whole.
    Answer { status: u16, headers: Vec<(&'static str, String)>, body: String },
    /// Answers in chunks with a pause before each, and ends properly.
    Chunks { content_type: &'static str, chunks: Vec<Vec<u8>>, pause: Duration },
    /// Announces more than it sends, then closes.
    CutOff { content_type: &'static str, body: Vec<u8> },
    /// Reads the request and never answers.
    Hang,
    /// Answers with a status line and never continues.
    HangAfterHead,
}

impl Act {
    pub(crate) fn ok(body: &str) -> Act {
        Act::Answer { status: 200, headers: Vec::new(), body: body.to_owned() }
    }

    pub(crate) fn status(status: u16) -> Act {
        let body = format!("{{\"error\":{{\"message\":\"scripted {status}\",\"type\":\"scripted\"}}}}");
        Act::Answer { status, headers: Vec::new(), body }
    }

    pub(crate) fn events(text: &str) -> Act {
        // Three bytes at a time cut every event, line end and character somewhere.
        let chunks = text.as_bytes().chunks(3).map(<[u8]>::to_vec).collect();
        Act::Chunks { content_type: "text/event-stream", chunks, pause: Duration::ZERO }
    }
}

/// One request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

#[derive(Default)]
pub(crate) struct Log {
    pub(crate) received: Mutex<Vec<Received>>,
    pub(crate) connections: Mutex<usize>,
    /// Told when a client goes away while the provider hangs.
    pub(crate) abandoned: Notify,
}

pub(crate) struct Provider {
    pub(crate) address: String,
    pub(crate) log: Arc<Log>,
    _tasks: JoinSet<()>,
}

impl Provider {
    pub(crate) async fn start(script: Vec<Act>) -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let log = Arc::new(Log::default());
        let script = Arc::new(Mutex::new(VecDeque::from(script)));
        let mut tasks = JoinSet::new();
        let shared = Arc::clone(&log);
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                *shared.connections.lock().unwrap() += 1;
                connections.spawn(serve(stream, Arc::clone(&script), Arc::clone(&shared)));
            }
        });
        Provider { address, log, _tasks: tasks }
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.log.received.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, script: Arc<Mutex<VecDeque<Act>>>, log: Arc<Log>) {
    while let Some(request) = read_request(&mut stream).await {
        log.received.lock().unwrap().push(request);
        let act = script.lock().unwrap().pop_front().unwrap_or_else(|| Act::status(500));
        if perform(act, &mut stream, &log).await.is_none() {
            return;
        }
    }
}

/// `None` when the connection is over.
async fn perform(act: Act, stream: &mut TcpStream, log: &Log) -> Option<()> {
    match act {
        Act::Answer { status, headers, body } => {
            let mut head = format!("HTTP/1.1 {status} Scripted\r\nContent-Type: application/json\r\n");
            for (name, value) in headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            let text = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
            stream.write_all(text.as_bytes()).await.ok()
        }
        Act::Chunks { content_type, chunks, pause } => {
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).await.ok()?;
            for chunk in chunks {
                tokio::time::sleep(pause).await;
                let mut framed = format!("{:x}\r\n", chunk.len()).into_bytes();
                framed.extend_from_slice(&chunk);
                framed.extend_from_slice(b"\r\n");
                stream.write_all(&framed).await.ok()?;
            }
            stream.write_all(b"0\r\n\r\n").await.ok()
        }
        Act::CutOff { content_type, body } => {
            let length = body.len() + 100;
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).await.ok()?;
            stream.write_all(&body).await.ok()?;
            stream.shutdown().await.ok()?;
            None
        }
        Act::Hang => wait_until_abandoned(stream, log).await,
        Act::HangAfterHead => {
            stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hello\n\n")
                .await
                .ok()?;
            wait_until_abandoned(stream, log).await
        }
    }
}

async fn wait_until_abandoned(stream: &mut TcpStream, log: &Log) -> Option<()> {
    let mut byte = [0];
    // The client has nothing more to say, so a read ends only when it closes.
    let _ = stream.read(&mut byte).await;
    log.abandoned.notify_one();
    None
}

async fn read_request(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let end = loop {
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&chunk[..count]);
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let mut lines = head.split("\r\n");
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length: usize = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).await.ok().filter(|count| *count > 0)?;
        body.extend_from_slice(&chunk[..count]);
    }
    Some(Received { path, headers, body: String::from_utf8(body).ok()? })
}
