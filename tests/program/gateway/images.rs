//! Images in a key's budget: five thousand tokens each are set aside, and what the provider counts is charged.

use std::sync::Arc;

use stave_canon::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::stave;
use crate::serve::client::Served;

/// What the upstream counts for two images and a question.
const REPLY: &str = r#"{"id":"c","object":"chat.completion","created":1,"model":"gpt-4o","choices":[{"index":0,"message":{"role":"assistant","content":"two cats"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1700,"completion_tokens":5,"total_tokens":1705}}"#;

/// An upstream that answers each request once the test permits it.
async fn upstream(let_go: Arc<Semaphore>, asked: Arc<Semaphore>) -> (u16, JoinSet<()>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let mut accepting = JoinSet::new();
    accepting.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut bytes = [0; 65536];
            let mut seen = Vec::new();
            while !seen.ends_with(b"]}") {
                let count = stream.read(&mut bytes).await.unwrap_or_default();
                if count == 0 {
                    break;
                }
                seen.extend_from_slice(&bytes[..count]);
            }
            asked.add_permits(1);
            let_go.acquire().await.expect("it is open").forget();
            let reply = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{REPLY}",
                REPLY.len()
            );
            let _ = stream.write_all(reply.as_bytes()).await;
        }
    });
    (port, accepting)
}

fn ask(images: usize) -> String {
    let image = r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB"}}"#;
    let parts: Vec<&str> =
        std::iter::repeat_n(image, images).chain([r#"{"type":"text","text":"what?"}"#]).collect();
    format!(
        r#"{{"model":"gpt-4o","max_tokens":10,"messages":[{{"role":"user","content":[{}]}}]}}"#,
        parts.join(",")
    )
}

async fn spent(folder: &Folder) -> f64 {
    let listed = stave(folder, ["keys", "list", "--json"]).finish().await.exits(0).json();
    let key = items(&listed, "keys").first().expect("one key").clone();
    text(&key, "spent_today_usd").and_then(|spent| spent.parse().ok()).expect("an amount")
}

#[tokio::test]
async fn images_are_set_aside_by_their_number_and_charged_by_the_providers_count() {
    let (let_go, asked) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (port, _accepting) = upstream(Arc::clone(&let_go), Arc::clone(&asked)).await;
    let folder = Folder::new();
    folder.write(
        "stave.toml",
        format!("[gateway.upstreams.one]\nprovider = \"openai\"\nendpoint = \"http://127.0.0.1:{port}\"\nkey = \"${{secrets.HOUSE_KEY}}\"\n"),
    );
    let issued = stave(&folder, ["keys", "issue", "ada", "--budget-day", "0.03", "--json"])
        .finish()
        .await
        .exits(0)
        .json();
    let key = issued.get("key").and_then(Value::as_str).expect("a key").to_owned();
    let process = stave(&folder, ["gateway", "--listen", "127.0.0.1:0"]).env("HOUSE_KEY", "house-secret-1");
    let mut gateway = Served::of(process).await;
    gateway.with_key(Some(&key));
    // Three images are 15,000 tokens, and at $2.50 for a million of them they may cost more than the budget of any day.
    let refused = gateway.post("/v1/chat/completions", &ask(3)).await.is(403);
    assert!(refused.body.contains("beyond_limit"), "{refused:?}");
    assert!(!refused.head.to_lowercase().contains("retry-after"), "waiting does not help: {refused:?}");
    assert_eq!(spent(&folder).await, 0.0);
    for turn in 1..=2_u8 {
        let before = f64::from(turn - 1) * 0.0043;
        let body = ask(2);
        let waiting = gateway.post("/v1/chat/completions", &body);
        let looking = async {
            asked.acquire().await.expect("it is open").forget();
            let held = spent(&folder).await - before;
            // Two images are 10,000 tokens; text and ten tokens of output come on top.
            assert!((0.025..0.0265).contains(&held), "{held}");
            // A second request at the same time would go beyond the budget with the first.
            let second = gateway.post("/v1/chat/completions", &ask(2)).await;
            assert!(second.status == 429 && second.body.contains("day_budget"), "{second:?}");
            assert!(second.head.to_lowercase().contains("retry-after"), "{second:?}");
            let_go.add_permits(1);
        };
        let (answer, ()) = tokio::join!(waiting, looking);
        assert!(answer.is(200).body.contains("two cats"));
        // 1,700 tokens of input and 5 of output, as the provider counts.
        let mut charged = spent(&folder).await;
        while charged > before + 0.01 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            charged = spent(&folder).await;
        }
        assert!((charged - before - 0.0043).abs() < 0.0002, "{charged}");
    }
    gateway.end().await.exits(0);
}
