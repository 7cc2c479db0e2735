//! The model calls of a flow are planned for the provider's cache, with the bytes that the gateway would send.

use std::sync::{Arc, Mutex};

use stave_canon::{Value, parse};

use super::sample::LOOPBACK;
use crate::folder::Folder;
use crate::process::stave;
use crate::scripted::{self, Reply, Server};
use crate::serve::client::Served;

const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;
const OFF: &str = "\n[prompt]\ncache_planning = false\n";

/// An Anthropic server that keeps what requests mark, as the provider does, and counts four bytes as a token.
#[derive(Debug)]
pub(super) struct Provider {
    answer: &'static str,
    bodies: Mutex<Vec<String>>,
    kept: Mutex<Vec<String>>,
}

impl Default for Provider {
    fn default() -> Self {
        Provider::answering("Because.")
    }
}

impl Provider {
    pub(super) fn answering(answer: &'static str) -> Self {
        Provider { answer, bodies: Mutex::default(), kept: Mutex::default() }
    }

    pub(super) async fn serve(self: &Arc<Self>) -> Server {
        let provider = Arc::clone(self);
        scripted::serve(move |call| {
            let provider = Arc::clone(&provider);
            async move { provider.answer(&String::from_utf8_lossy(&call.body)) }
        })
        .await
    }

    fn answer(&self, body: &str) -> Reply {
        self.bodies.lock().unwrap().push(body.to_owned());
        let plain = |text: &str| text.replace(MARK, "").replace(r#"[{"type":"text","text":"#, "");
        let (whole, tokens) = (plain(body), |text: &str| text.len() as u64 / 4);
        let mut kept = self.kept.lock().unwrap();
        let read =
            kept.iter().filter(|prefix| whole.starts_with(prefix.as_str())).map(|prefix| tokens(prefix));
        let read = if body.contains(MARK) { read.max().unwrap_or(0) } else { 0 };
        let marked: Vec<String> = body.match_indices(MARK).map(|(at, _)| plain(&body[..at])).collect();
        let last = marked.last().map_or(0, |prefix| tokens(prefix));
        kept.extend(marked);
        let written = last.saturating_sub(read);
        let uncached = tokens(&whole) - read - written;
        let answer = Value::from(self.answer);
        Reply::json(
            200,
            format!(
                r#"{{"id":"m","type":"message","role":"assistant","model":"claude-sonnet-4-6","content":[{{"type":"text","text":{answer}}}],"stop_reason":"end_turn","usage":{{"input_tokens":{uncached},"output_tokens":5,"cache_read_input_tokens":{read},"cache_creation_input_tokens":{written}}}}}"#
            ),
        )
    }

    /// The bodies that came since the last call; what was kept is forgotten.
    pub(super) fn take(&self) -> Vec<String> {
        self.kept.lock().unwrap().clear();
        std::mem::take(&mut self.bodies.lock().unwrap())
    }
}

/// A flow that asks as many times as it has nodes, one after the other, with the same long instructions.
fn flow(port: u16, names: &[&str]) -> String {
    let system = "Answer every question about the parcel in one sentence. ".repeat(250);
    let mut text = "version: \"1.0\"\nmetadata: {name: asks}\ncontext: {requires: [q]}\nnodes:\n".to_owned();
    let mut edges = String::from("edges:\n");
    let mut from = "_input.q".to_owned();
    for name in names {
        text.push_str(&format!(
            r#"  {name}:
    type: transform
    inputs:
      - {{name: q, type: string}}
    outputs:
      - {{name: a, type: string}}
    prompt:
      system: "{system}"
      template: "{name} asks: {{{{ q }}}}"
      model: {{provider: anthropic, name: claude-sonnet-4-6, endpoint: "http://127.0.0.1:{port}"}}
    runtime: {{timeout_ms: 20000}}
"#
        ));
        edges.push_str(&format!("  - {{from: {from}, to: {name}.q}}\n"));
        from = format!("{name}.a");
    }
    format!("{text}{edges}  - {{from: {from}, to: _output.a}}\n")
}

async fn run(folder: &Folder, question: &str) -> Value {
    let request = Value::from_iter([("q", question)]).to_string();
    let finished = stave(folder, ["run", "flow.yaml", "--input", "-", "--json"])
        .env("ANTHROPIC_API_KEY", "test-key-1")
        .input(&request)
        .finish()
        .await;
    finished.exits(0).json()
}

#[tokio::test]
async fn a_flow_the_gateway_and_cache_rewrite_send_the_same_bytes() {
    let provider = Arc::new(Provider::default());
    let server = provider.serve().await;
    let names = ["first", "second", "third"];
    let folder = Folder::new();
    folder.write("flow.yaml", flow(server.port, &names));
    folder.write("stave.toml", format!("{LOOPBACK}{OFF}"));
    run(&folder, "Where is it?").await;
    let plain = provider.take();
    assert_eq!(plain.len(), names.len());
    assert!(plain.iter().all(|body| !body.contains("cache_control")), "{plain:?}");

    folder.write("stave.toml", LOOPBACK);
    run(&folder, "Where is it?").await;
    let by_flow = provider.take();
    assert!(by_flow.iter().all(|body| body.contains(MARK)), "{by_flow:?}");

    let gateway = Folder::new();
    gateway.write(
        "stave.toml",
        format!(
            "[gateway.upstreams.one]\nprovider = \"anthropic\"\nendpoint = \"http://127.0.0.1:{}\"\n",
            server.port
        ),
    );
    let served = Served::of(stave(&gateway, ["gateway", "--listen", "127.0.0.1:0"])).await;
    for body in &plain {
        served.post("/v1/messages", body).await.is(200);
    }
    served.end().await.exits(0);
    assert_eq!(provider.take(), by_flow, "the gateway");

    let lines: String = plain
        .iter()
        .enumerate()
        .map(|(turn, body)| format!("{{\"t\":{},\"body\":{body}}}\n", turn * 20))
        .collect();
    let rewritten =
        stave(&folder, ["cache", "rewrite", "--provider", "anthropic"]).input(&lines).finish().await;
    let rewritten = rewritten.exits(0);
    for (line, sent) in rewritten.stdout.lines().zip(&by_flow) {
        assert!(line.ends_with(&format!("\"body\":{sent}}}")), "cache rewrite: {line}");
    }
}

#[tokio::test]
async fn runs_of_a_flow_read_what_earlier_runs_wrote_and_pay_less() {
    let provider = Arc::new(Provider::default());
    let server = provider.serve().await;
    let mut costs = Vec::new();
    for settings in [OFF, ""] {
        let folder = Folder::new();
        folder.write("flow.yaml", flow(server.port, &["only"]));
        folder.write("stave.toml", format!("{LOOPBACK}{settings}"));
        let (mut cost, mut read) = (0.0, 0);
        for turn in 0..10 {
            let ran = run(&folder, &format!("Question {turn}?")).await;
            let number = |name: &str| ran.pointer(name).and_then(Value::as_f64);
            cost += number("/usage/cost_micros").unwrap_or_else(|| panic!("a cost: {ran}"));
            read += number("/usage/cache_read_tokens").unwrap_or(0.0) as u64;
        }
        provider.take();
        assert_eq!(read > 0, settings.is_empty(), "{read}");
        assert_learned(&folder, settings.is_empty());
        costs.push(cost);
    }
    // Nine of ten runs read the instructions at a tenth of their price.
    let ratio = costs[1] / costs[0];
    assert!(ratio <= 0.35, "{ratio}");
}

/// What planners learned is in a file of its owner's alone.
fn assert_learned(folder: &Folder, is_planned: bool) {
    let is_planner = |path: &std::path::PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("planner-"))
            && path.extension().is_some_and(|extension| extension == "sqlite")
    };
    let files: Vec<_> = folder.files().into_iter().map(|(path, _)| path).filter(is_planner).collect();
    assert_eq!(files.len(), usize::from(is_planned), "{files:?}");
    for file in files {
        let path = folder.path().join(file);
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
        let file = rusqlite::Connection::open(path).unwrap();
        let rows =
            file.query_row("SELECT count(*) FROM cache_prefix", [], |row| row.get::<_, i64>(0)).unwrap();
        assert!(rows > 0, "nothing was kept");
    }
}

#[tokio::test]
async fn a_recorded_call_is_not_planned() {
    let provider = Arc::new(Provider::default());
    let server = provider.serve().await;
    let folder = Folder::new();
    folder.write("flow.yaml", flow(server.port, &["only"]));
    folder.write("stave.toml", LOOPBACK);
    let recorded = stave(&folder, ["run", "flow.yaml", "--input", "-", "--json", "--record", "r.yaml"])
        .env("ANTHROPIC_API_KEY", "test-key-1")
        .input(r#"{"q":"Where is it?"}"#)
        .finish()
        .await;
    recorded.exits(0);
    let bodies = provider.take();
    assert_eq!(bodies.len(), 1);
    assert!(!bodies[0].contains("cache_control"), "{bodies:?}");
    let read = parse(&bodies[0]).unwrap();
    assert!(read.get("system").is_some(), "{read}");
}
