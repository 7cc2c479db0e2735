//! One table of what a provider or a host answers first, and whether and when it is asked again. It holds for a
//! flow's model step, for a flow's `http.get` and for a request to the gateway.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::folder::Folder;
use crate::process::{Finished, stave};
use crate::serve::client::Served;

/// How the first attempt ends.
#[derive(Debug, Clone, Copy)]
enum First {
    /// With a status and these headers.
    Says(u16, &'static str),
    /// The connection is closed.
    Closes,
    /// Nothing comes.
    Silent,
}

/// What is answered first, whether another attempt follows, and after how many milliseconds at the least.
const TABLE: [(First, Option<u64>); 21] = [
    (First::Says(200, ""), None),
    (First::Says(400, ""), None),
    (First::Says(401, ""), None),
    (First::Says(403, ""), None),
    (First::Says(404, ""), None),
    (First::Says(413, ""), None),
    (First::Says(422, ""), None),
    (First::Says(408, ""), Some(0)),
    (First::Says(409, ""), Some(0)),
    (First::Says(425, ""), Some(0)),
    (First::Says(429, ""), Some(0)),
    (First::Says(500, ""), Some(0)),
    (First::Says(502, ""), Some(0)),
    (First::Says(503, ""), Some(0)),
    (First::Says(529, ""), Some(0)),
    (First::Says(429, "retry-after-ms: 300\r\n"), Some(300)),
    (First::Says(503, "retry-after: 1\r\n"), Some(1000)),
    (First::Says(429, "retry-after: 3600\r\n"), None),
    (First::Says(400, "retry-after: 0\r\n"), None),
    (First::Closes, Some(0)),
    (First::Silent, Some(0)),
];

/// How long an attempt may take. Only [`First::Silent`] waits for its end.
const ATTEMPT_MS: u32 = 5000;

const COMPLETION: &str = r#"{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}"#;

/// When each row of the table was asked.
type Asked = Arc<Mutex<BTreeMap<usize, Vec<Instant>>>>;

/// A server that fails the first request of each row as the table says, and answers the others.
struct Failing {
    port: u16,
    asked: Asked,
    _accepting: JoinSet<()>,
}

impl Failing {
    async fn start() -> Failing {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let asked = Asked::default();
        let mut accepting = JoinSet::new();
        let seen = Arc::clone(&asked);
        accepting.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(answer(stream, Arc::clone(&seen)));
            }
        });
        Failing { port, asked, _accepting: accepting }
    }

    /// Compares what was asked with the table.
    fn check(&self, entry: &str) {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        for (row, (first, again)) in TABLE.iter().enumerate() {
            let times = asked.get(&row).map(Vec::as_slice).unwrap_or_default();
            assert_eq!(times.len(), if again.is_some() { 2 } else { 1 }, "{entry}: attempts after {first:?}");
            if let (Some(least), [before, after]) = (again, times) {
                let waited = after.duration_since(*before);
                assert!(waited >= Duration::from_millis(*least), "{entry}: {waited:?} after {first:?}");
            }
        }
    }
}

/// Answers one request and closes, so that an attempt is a connection.
async fn answer(mut stream: TcpStream, asked: Asked) {
    let mut request = Vec::new();
    let row = loop {
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).await.unwrap_or_default();
        if count == 0 {
            return;
        }
        request.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&request);
        let row = text.split_once("row-").and_then(|(_, rest)| rest.get(..2)?.parse::<usize>().ok());
        if let Some(row) = row.filter(|_| is_whole(&text)) {
            break row;
        }
    };
    let is_first = {
        let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
        let times = asked.entry(row).or_default();
        times.push(Instant::now());
        times.len() == 1
    };
    let (status, headers) = match TABLE[row].0 {
        First::Says(status, headers) if is_first => (status, headers),
        First::Closes if is_first => return,
        First::Silent if is_first => {
            // The end of the connection is the end of the attempt.
            let _ = stream.read(&mut [0]).await;
            return;
        }
        _ => (200, ""),
    };
    let body = if status == 200 { COMPLETION } else { r#"{"error":{"message":"no"}}"# };
    let reply = format!(
        "HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\nconnection: close\r\n{headers}\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(reply.as_bytes()).await;
}

fn is_whole(request: &str) -> bool {
    let Some((head, body)) = request.split_once("\r\n\r\n") else { return false };
    let head = head.to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
    body.len() >= length.unwrap_or(0)
}

/// How many flows run at the same time: most of them wait for nothing but a process.
const RUNS: usize = 4;

/// Runs a flow for each row of the table.
async fn run_flows(entry: &str, flow: impl Fn(u16, usize) -> String) {
    let failing = Failing::start().await;
    let folder = Arc::new(Folder::new());
    folder.write("stave.toml", "[http]\nallow = [\"127.0.0.1\"]\n");
    let mut runs = JoinSet::new();
    for row in 0..TABLE.len() {
        if runs.len() == RUNS {
            judge(entry, runs.join_next().await.expect("a run is under way").expect("a run ends"));
        }
        let file = format!("row{row}.yaml");
        folder.write(&file, flow(failing.port, row));
        let folder = Arc::clone(&folder);
        runs.spawn(async move {
            let state = format!("state{row}");
            let run = stave(&folder, ["run", &file, "--state-dir", &state, "--json"]);
            (row, run.input("{}").finish().await)
        });
    }
    runs.join_all().await.into_iter().for_each(|ended| judge(entry, ended));
    failing.check(entry);
}

/// A run succeeds when its last attempt does.
fn judge(entry: &str, (row, finished): (usize, Finished)) {
    let (first, again) = TABLE[row];
    let succeeds = again.is_some() || matches!(first, First::Says(200, _));
    assert_eq!(finished.code == 0, succeeds, "{entry}: {first:?}: {finished}");
}

#[tokio::test]
async fn a_model_step_is_tried_again_as_the_table_says() {
    let flow = |port: u16, row: usize| {
        format!(
            r#"version: "1.0"
metadata: {{name: row{row}}}
context: {{requires: []}}
nodes:
  ask:
    type: transform
    inputs: []
    outputs: [{{name: a, type: string}}]
    prompt:
      template: Say hello.
      model: {{provider: openai, name: row-{row:02}, endpoint: "http://127.0.0.1:{port}/v1"}}
    runtime: {{retries: 1, retry_backoff_ms: 1, timeout_ms: {ATTEMPT_MS}}}
edges:
  - {{from: ask.a, to: _output.a}}
"#
        )
    };
    run_flows("a model step", flow).await;
}

#[tokio::test]
async fn a_request_to_a_host_is_tried_again_as_the_table_says() {
    let flow = |port: u16, row: usize| {
        format!(
            r#"version: "1.0"
metadata: {{name: row{row}}}
context: {{requires: []}}
nodes:
  look:
    type: transform
    inputs: []
    outputs: [{{name: a, type: object}}]
    transform:
      mode: declarative
      spec: {{op: http.get, args: {{url: "http://127.0.0.1:{port}/row-{row:02}"}}}}
    runtime: {{retries: 1, retry_backoff_ms: 1, timeout_ms: {ATTEMPT_MS}}}
edges:
  - {{from: look.a, to: _output.a}}
"#
        )
    };
    run_flows("http.get", flow).await;
}

#[tokio::test]
async fn a_gateway_request_is_tried_again_as_the_table_says() {
    let failing = Failing::start().await;
    let folder = Folder::new();
    folder.write(
        "stave.toml",
        format!(
            "[gateway]\ngovernance = \"off\"\ngate = false\nplanning = false\n\
             [gateway.upstreams.one]\nprovider = \"openai\"\nendpoint = \"http://127.0.0.1:{}/v1\"\n\
             key = \"${{secrets.HOUSE_KEY}}\"\n\
             [gateway.retries]\nattempts = 1\nbackoff_ms = 1\nburst = 100\n\
             [gateway.timeouts]\nfirst_byte_ms = {ATTEMPT_MS}\n",
            failing.port
        ),
    );
    let process = stave(&folder, ["gateway", "--listen", "127.0.0.1:0"]).env("HOUSE_KEY", "house-secret-1");
    let gateway = Served::of(process).await;
    for (row, (first, again)) in TABLE.iter().enumerate() {
        let body =
            format!(r#"{{"model":"row-{row:02}","messages":[{{"role":"user","content":"Say hello."}}]}}"#);
        let expected = match first {
            First::Says(status, _) if again.is_none() => *status,
            _ => 200,
        };
        gateway.post("/v1/chat/completions", &body).await.is(expected);
    }
    gateway.end().await.exits(0);
    failing.check("the gateway");
}
