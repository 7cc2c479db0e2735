//! Set up by `stave.toml`, read again when asked, and ended in order.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::folder::Folder;
use crate::process::stave;
use crate::serve::client::Served;

/// An upstream that says who it is and which key it was given.
struct Named {
    port: u16,
    _accepting: JoinSet<()>,
}

impl Named {
    async fn start(name: &'static str) -> Named {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut bytes = [0; 65536];
                let count = stream.read(&mut bytes).await.unwrap_or_default();
                let head = String::from_utf8_lossy(&bytes[..count]).to_ascii_lowercase();
                let key = head.lines().find_map(|line| line.strip_prefix("x-api-key: ")).unwrap_or("none");
                let body = format!("{{\"name\":\"{name}\",\"key\":\"{key}\"}}");
                let reply = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                );
                let _ = stream.write_all(reply.as_bytes()).await;
            }
        });
        Named { port, _accepting: accepting }
    }
}

const ASK: &str = r#"{"model":"claude-x","max_tokens":8,"messages":[{"role":"user","content":"hi"}]}"#;

fn settings(port: u16, more: &str) -> String {
    format!(
        "[gateway.upstreams.one]\nprovider = \"anthropic\"\nendpoint = \"http://127.0.0.1:{port}\"\nkey = \"${{secrets.HOUSE_KEY}}\"\n{more}"
    )
}

#[tokio::test]
async fn what_was_learned_of_caches_is_there_for_the_next_process() {
    let upstream = Named::start("one").await;
    let folder = Folder::new();
    folder.write("stave.toml", settings(upstream.port, ""));
    let prefixes = || -> i64 {
        let file = folder.path().join(".stave/planner-one.sqlite");
        let file = rusqlite::Connection::open(file).expect("a file");
        file.query_row("SELECT count(*) FROM cache_prefix", [], |row| row.get(0)).expect("a count")
    };
    let mut known = 0;
    for turn in 0..2 {
        let process =
            stave(&folder, ["gateway", "--listen", "127.0.0.1:0"]).env("HOUSE_KEY", "house-secret-1");
        let gateway = Served::of(process).await;
        let system = "Rule: be terse. ".repeat(600);
        let ask = format!(
            r#"{{"model":"claude-opus-5","max_tokens":8,"system":"{system}","messages":[{{"role":"user","content":"question {turn}"}}]}}"#
        );
        gateway.post("/v1/messages", &ask).await.is(200);
        gateway.end().await.exits(0);
        assert!(prefixes() > known, "{} after turn {turn}", prefixes());
        known = prefixes();
    }
}

#[tokio::test]
async fn the_project_file_is_read_again_on_a_hangup() {
    let (first, second) = (Named::start("first").await, Named::start("second").await);
    let folder = Folder::new();
    folder.write("stave.toml", settings(first.port, ""));
    let process = stave(&folder, ["gateway", "--listen", "127.0.0.1:0"]).env("HOUSE_KEY", "house-secret-1");
    let mut gateway = Served::of(process).await;
    let answer = gateway.post("/v1/messages", ASK).await.is(200);
    // The upstream repeats the key that it was sent, and the client sees only how long it is.
    assert_eq!(answer.body, r#"{"name":"first","key":"**************"}"#);
    folder.write("stave.toml", settings(second.port, ""));
    gateway.process.hang_up();
    gateway.process.wait_for_stderr("stave.toml was read again").await;
    assert!(gateway.post("/v1/messages", ASK).await.is(200).body.contains("second"));
    folder.write("stave.toml", settings(first.port, "wieght = 1\nprovider = \"x\"\n"));
    gateway.process.hang_up();
    let said = gateway.process.wait_for_stderr("the gateway continues as it was").await;
    assert!(said.contains("stave.toml"), "{said}");
    assert!(gateway.post("/v1/messages", ASK).await.is(200).body.contains("second"));
    let ended = gateway.end().await;
    assert_eq!(ended.code, 0, "{ended}");
    assert!(!ended.stderr.contains("house-secret-1"), "{ended}");
    for (path, bytes) in folder.files() {
        let holds = bytes.windows(14).any(|window| window == b"house-secret-1");
        assert!(!holds, "{} holds the upstream's key", path.display());
    }
}

#[tokio::test]
async fn beyond_this_machine_keys_are_needed() {
    let folder = Folder::new();
    let refused = stave(&folder, ["gateway", "--listen", "0.0.0.0:0"]).finish().await.exits(3);
    assert!(refused.stderr.contains("there are no keys"), "{refused}");
    folder.write("stave.toml", settings(1, ""));
    let missing = stave(&folder, ["gateway", "--listen", "127.0.0.1:0"]).finish().await.exits(2);
    assert!(missing.stderr.contains("HOUSE_KEY"), "{missing}");
}

#[tokio::test]
async fn mistakes_in_the_gateways_table_are_found_at_their_place() {
    let folder = Folder::new();
    folder.write(
        "stave.toml",
        "[gateway]\nlisten = \"here\"\ngovernance = \"maybe\"\n[gateway.upstreams.a]\nprovider = \"llama\"\nkey = \"plain\"\n\
         [gateway.models.m]\ntargets = [1]\nfallback_on = [\"rain\"]\n[gateway.limits]\nbodies = 1\n",
    );
    folder.write("flow.yaml", "name: f\nversion: \"1\"\nnodes: []\n");
    let found = stave(&folder, ["gateway"]).finish().await.exits(2);
    assert!(found.stderr.contains("stave.toml"), "{found}");
    let checked = stave(&folder, ["check", "--format", "json", "stave.toml"]).finish().await;
    for word in [
        "`listen`",
        "`governance`",
        "`provider`",
        "`targets[0]`",
        "`fallback_on[0]`",
        "gateway.limits.bodies",
    ] {
        assert!(checked.stdout.contains(word), "{word}: {checked}");
    }
}
