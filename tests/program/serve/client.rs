//! A plain HTTP client for one request a connection, and a server to ask.

use std::time::Duration;

use stave_canon::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::folder::Folder;
use crate::process::{Finished, Stave, Watched, stave};

/// A `stave serve` that runs until the test is done.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) process: Watched,
    pub(crate) port: u16,
    key: Option<String>,
}

/// What the server answered.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Served {
    /// Serves on a free port, with these further arguments.
    pub(crate) async fn start(folder: &Folder, arguments: &[&str]) -> Served {
        let all = ["serve", "--port", "0"].iter().chain(arguments);
        Served::of(stave(folder, all)).await
    }

    pub(crate) async fn of(process: Stave) -> Served {
        let mut process = process.start();
        let mut said = process.wait_for_stderr("on http://").await;
        while !said.ends_with('\n') {
            said.push_str(&process.wait_for_stderr("\n").await);
        }
        let port = said.trim_end().rsplit(':').next().and_then(|port| port.parse().ok());
        Served { process, port: port.unwrap_or_else(|| panic!("no port in {said}")), key: None }
    }

    /// The same server, asked with a key.
    pub(crate) fn with_key(&mut self, key: Option<&str>) -> &Self {
        self.key = key.map(str::to_owned);
        self
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], None).await
    }

    pub(crate) async fn post(&self, path: &str, body: &str) -> Answer {
        self.ask("POST", path, &[("content-type", "application/json")], Some(body)).await
    }

    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> Answer {
        let key = self.key.clone();
        ask(self.port, method, path, headers, key.as_deref(), body).await
    }

    /// Asks the process to end, and waits until it has.
    pub(crate) async fn end(self) -> Finished {
        self.process.terminate();
        self.process.finish().await
    }
}

/// One request on a connection of its own.
pub(crate) async fn ask(
    port: u16,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    key: Option<&str>,
    body: Option<&str>,
) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.expect("the server listens");
    let mut request = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "host") {
        request.push_str(&format!("host: 127.0.0.1:{port}\r\n"));
    }
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(key) = key {
        request.push_str(&format!("authorization: Bearer {key}\r\n"));
    }
    let body = body.unwrap_or_default();
    request.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    // A server that refuses a large body may close before it has read all of it.
    let _ = stream.write_all(request.as_bytes()).await;
    let mut bytes = Vec::new();
    let reading = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut bytes)).await;
    assert!(reading.is_ok(), "{method} {path} was not answered in time");
    Answer::parse(&String::from_utf8_lossy(&bytes))
}

impl Answer {
    fn parse(text: &str) -> Answer {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        let head = head.to_ascii_lowercase();
        let body =
            if head.contains("transfer-encoding: chunked") { dechunked(body) } else { body.to_owned() };
        Answer { status: status.unwrap_or_else(|| panic!("no answer: {text}")), head, body }
    }

    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Answer {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    pub(crate) fn json(&self) -> Value {
        stave_canon::parse(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The problem document of a refusal.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        assert!(self.head.contains("content-type: application/problem+json"), "{self:?}");
        let problem = self.json();
        assert_eq!(problem.get("type"), Some(&format!("urn:stave:{code}").into()), "{problem}");
        assert_eq!(problem.get("status"), Some(&u32::from(status).into()), "{problem}");
        problem
    }
}

fn dechunked(mut body: &str) -> String {
    let mut text = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let Ok(size) = usize::from_str_radix(size.trim(), 16) else { break };
        if size == 0 {
            break;
        }
        text.push_str(rest.get(..size).unwrap_or(rest));
        body = rest.get(size + 2..).unwrap_or_default();
    }
    text
}
