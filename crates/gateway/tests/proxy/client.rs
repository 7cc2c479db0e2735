//! A client that sends bytes and reads what comes back.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How long a test waits for anything.
pub(crate) const LONG: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(crate) struct Client {
    stream: TcpStream,
    bytes: Vec<u8>,
}

#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// Whether the body is complete.
    pub(crate) is_whole: bool,
}

impl Client {
    pub(crate) async fn connect(port: u16) -> Client {
        Client { stream: TcpStream::connect(("127.0.0.1", port)).await.unwrap(), bytes: Vec::new() }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).await.is_ok()
    }

    pub(crate) async fn post(&mut self, path: &str, headers: &str, body: &str) -> Answer {
        self.send(request(path, headers, body).as_bytes()).await;
        self.answer().await.expect("there is an answer")
    }

    /// Reads one answer; `None` when the connection ends before there is one.
    pub(crate) async fn answer(&mut self) -> Option<Answer> {
        tokio::time::timeout(LONG, self.read_answer()).await.expect("an answer comes in time")
    }

    async fn read_answer(&mut self) -> Option<Answer> {
        let end = loop {
            if let Some(end) = self.bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                break end;
            }
            self.more().await?;
        };
        let head = String::from_utf8_lossy(&self.bytes[..end]).to_ascii_lowercase();
        self.bytes.drain(..end + 4);
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        let length: Option<usize> =
            head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        let mut body = Vec::new();
        let mut is_whole = true;
        if head.contains("transfer-encoding: chunked") {
            is_whole = self.chunks(&mut body).await.is_some();
        } else {
            let length = length.unwrap_or(0);
            while self.bytes.len() < length {
                if self.more().await.is_none() {
                    is_whole = false;
                    break;
                }
            }
            let length = length.min(self.bytes.len());
            body = self.bytes.drain(..length).collect();
        }
        Some(Answer { status, head, body, is_whole })
    }

    async fn chunks(&mut self, body: &mut Vec<u8>) -> Option<()> {
        loop {
            let end = loop {
                if let Some(end) = self.bytes.windows(2).position(|window| window == b"\r\n") {
                    break end;
                }
                self.more().await?;
            };
            let size =
                usize::from_str_radix(std::str::from_utf8(&self.bytes[..end]).ok()?.trim(), 16).ok()?;
            while self.bytes.len() < end + 2 + size + 2 {
                self.more().await?;
            }
            body.extend_from_slice(&self.bytes[end + 2..end + 2 + size]);
            self.bytes.drain(..end + 2 + size + 2);
            if size == 0 {
                return Some(());
            }
        }
    }

    /// Reads until a text has come.
    pub(crate) async fn read_until(&mut self, text: &str) {
        let reading = async {
            while !String::from_utf8_lossy(&self.bytes).contains(text) {
                self.more().await.expect("the text comes before the end");
            }
        };
        tokio::time::timeout(LONG, reading).await.expect("the text comes in time");
    }

    /// Whether the other side has closed the connection.
    pub(crate) async fn is_closed(&mut self) -> bool {
        tokio::time::timeout(LONG, async { while self.more().await.is_some() {} }).await.is_ok()
    }

    async fn more(&mut self) -> Option<()> {
        let mut piece = [0; 16384];
        let count = self.stream.read(&mut piece).await.ok().filter(|count| *count > 0)?;
        self.bytes.extend_from_slice(&piece[..count]);
        Some(())
    }
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> stave_canon::Value {
        stave_canon::parse_bytes(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// A text of the body by its pointer.
    pub(crate) fn at(&self, pointer: &str) -> String {
        let value = self.json();
        match value.pointer(pointer) {
            Some(stave_canon::Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => panic!("nothing at {pointer} in {value}"),
        }
    }
}

pub(crate) fn request(path: &str, headers: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}
