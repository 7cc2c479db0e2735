//! A client: asks, compares every byte with what the upstream sent, and sometimes goes away.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::random::Random;
use crate::script::{Ending, Script};
use crate::upstream::{NUMBER, Upstream};

/// The longest that an answer may take.
const LONGEST: Duration = Duration::from_secs(30);

/// What came of requests.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    whole: AtomicU64,
    broken_off: AtomicU64,
    errors: AtomicU64,
    cancelled: AtomicU64,
    bytes: AtomicU64,
}

impl Tally {
    pub(crate) fn asked(&self) -> u64 {
        [&self.whole, &self.broken_off, &self.errors, &self.cancelled]
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .sum()
    }

    /// A run in which something never happened shows nothing about it.
    pub(crate) fn is_varied(&self) {
        for count in [&self.whole, &self.broken_off, &self.errors, &self.cancelled] {
            assert!(count.load(Ordering::Relaxed) > 0, "{self:?}");
        }
    }
}

#[derive(Debug)]
pub(crate) struct Client {
    address: SocketAddr,
    faulty: Arc<Upstream>,
    tally: Arc<Tally>,
    /// A connection on which the last answer was whole.
    kept: Option<TcpStream>,
}

/// An answer as it came.
#[derive(Debug)]
struct Answer {
    status: u16,
    body: Vec<u8>,
    is_whole: bool,
    is_kept: bool,
}

impl Client {
    pub(crate) fn new(address: SocketAddr, faulty: Arc<Upstream>, tally: Arc<Tally>) -> Client {
        Client { address, faulty, tally, kept: None }
    }

    pub(crate) async fn ask(&mut self, number: u64) {
        let mut random = Random::new(number.wrapping_mul(7919));
        let is_stream = random.below(3) > 0;
        let cancels = random.below(15) == 0;
        let model = if random.below(3) == 0 { "safe" } else { "gpt-4o-mini" };
        let mut socket = match self.kept.take() {
            Some(socket) => socket,
            None => TcpStream::connect(self.address).await.expect("the gateway accepts"),
        };
        let size = 60 + random.below(900);
        let body = format!(
            "{{\"model\":\"{model}\",\"stream\":{is_stream},\"messages\":[{{\"role\":\"user\",\"content\":\"{number} {}\"}}]}}",
            random.words(size)
        );
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {}\r\n{NUMBER}: {number}\r\nx-stave-session: soak-{number}\r\n\
             authorization: Bearer sk-client\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        socket.write_all(request.as_bytes()).await.expect("the gateway reads");
        let reading = Reader::new(&mut socket).read(cancels.then(|| 1 + random.below(3000)));
        let answer = tokio::time::timeout(LONGEST, reading).await;
        let answer = answer.unwrap_or_else(|_| panic!("request {number} has no end after {LONGEST:?}"));
        let Some(answer) = answer else {
            self.tally.cancelled.fetch_add(1, Ordering::Relaxed);
            drop(socket);
            self.faulty.attempts_of(number);
            return;
        };
        self.compare(number, is_stream, &answer);
        if answer.is_whole && answer.is_kept {
            self.kept = Some(socket);
        }
    }

    fn compare(&self, number: u64, is_stream: bool, answer: &Answer) {
        self.tally.bytes.fetch_add(answer.body.len() as u64, Ordering::Relaxed);
        let attempts = self.faulty.attempts_of(number);
        if answer.status != 200 && answer.status != 0 {
            assert!(answer.is_whole, "request {number}: an error that broke off: {answer:?}");
            assert!(answer.status >= 400, "request {number}: {answer:?}");
            self.tally.errors.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let scripts = (1..=attempts).map(|attempt| Script::faulty(number, attempt, is_stream));
        let scripts: Vec<Script> = scripts.chain([Script::steady(number, is_stream)]).collect();
        let fits = |script: &Script| {
            let sent = script.body();
            match (answer.is_whole, script.ending) {
                (true, Ending::Whole) | (false, Ending::Closed | Ending::Stalled) => sent == answer.body,
                (false, Ending::Reset) => sent.starts_with(&answer.body),
                (true, _) | (false, Ending::Whole) => false,
            }
        };
        let found = scripts.iter().any(|script| script.status == Some(200) && fits(script));
        assert!(
            found,
            "request {number}: {} bytes came (status {}, whole: {}), but {attempts} attempts were {}",
            answer.body.len(),
            answer.status,
            answer.is_whole,
            scripts.iter().map(Script::told).collect::<Vec<_>>().join("; ")
        );
        let count = if answer.is_whole { &self.tally.whole } else { &self.tally.broken_off };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

struct Reader<'s> {
    socket: &'s mut TcpStream,
    bytes: Vec<u8>,
}

impl<'s> Reader<'s> {
    fn new(socket: &'s mut TcpStream) -> Reader<'s> {
        Reader { socket, bytes: Vec::new() }
    }

    /// Reads an answer to its end; `None` when the client goes away after so many bytes of a body.
    async fn read(mut self, cancel_after: Option<usize>) -> Option<Answer> {
        let end = loop {
            if let Some(end) = self.bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                break end;
            }
            if !self.more().await {
                return Some(Answer { status: 0, body: Vec::new(), is_whole: false, is_kept: false });
            }
        };
        let head = String::from_utf8_lossy(&self.bytes[..end]).to_ascii_lowercase();
        let status = head.get(9..12).and_then(|text| text.parse().ok()).expect("a status");
        let is_kept = !head.contains("connection: close");
        let is_chunked = head.contains("transfer-encoding: chunked");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
        self.bytes.drain(..end + 4);
        let mut body = Vec::new();
        let is_whole = loop {
            let is_over =
                if is_chunked { self.take_chunks(&mut body) } else { self.take_bytes(&mut body, length) };
            if cancel_after.is_some_and(|limit| body.len() >= limit) {
                return None;
            }
            if is_over {
                break true;
            }
            if !self.more().await {
                break false;
            }
        };
        assert!(!is_whole || self.bytes.is_empty(), "bytes after the end of an answer: {:?}", self.bytes);
        Some(Answer { status, body, is_whole, is_kept })
    }

    /// Takes whole and partial chunks; whether the last one was there.
    fn take_chunks(&mut self, body: &mut Vec<u8>) -> bool {
        loop {
            let Some(line) = self.bytes.windows(2).position(|window| window == b"\r\n") else { return false };
            let size = String::from_utf8_lossy(&self.bytes[..line]).into_owned();
            let size = usize::from_str_radix(size.trim(), 16).expect("a chunk's size");
            let whole = line + 2 + size + 2;
            if self.bytes.len() < whole {
                return false;
            }
            body.extend_from_slice(&self.bytes[line + 2..line + 2 + size]);
            self.bytes.drain(..whole);
            if size == 0 {
                return true;
            }
        }
    }

    fn take_bytes(&mut self, body: &mut Vec<u8>, length: Option<usize>) -> bool {
        body.append(&mut self.bytes);
        length.is_some_and(|length| body.len() >= length)
    }

    /// Reads more; `false` at the end of the connection, however it came.
    async fn more(&mut self) -> bool {
        matches!(self.socket.read_buf(&mut self.bytes).await, Ok(1..))
    }
}
