//! The support example over ten turns of one conversation, asked of an Anthropic server: what cache planning saves,
//! and that a gateway in between sends the same bytes.

use std::sync::Arc;

use stave_canon::Value;

use super::cache_planning::Provider;
use super::sample::LOOPBACK;
use crate::folder::Folder;
use crate::process::stave;
use crate::scripted::Server;
use crate::serve::client::Served;

const TURNS: usize = 10;
const OFF: &str = "\n[prompt]\ncache_planning = false\n";
const SETTINGS: &str = "[project]\ntenant = \"local\"\nrepo = \"support\"\n\n";
const ANSWER: &str =
    r#"{"answer": "Your order ships on Monday.", "confidence": 0.9, "citations": ["shipping/schedule"]}"#;

/// The example with its model at `port`, and with `handbook` at the end of its instructions.
fn support(port: u16, handbook: &str, settings: &str) -> Folder {
    let folder = Folder::copy_of("examples/support");
    let flow = folder.read("flows/support.yaml");
    let asked = "provider: openai\n        name: gpt-4o-mini\n";
    let instructions = "        Be concise and professional.\n";
    assert!(flow.contains(asked) && flow.contains(instructions), "the example has changed");
    let flow = flow.replace(
        asked,
        &format!(
            "provider: anthropic\n        name: claude-sonnet-4-6\n        endpoint: \"http://127.0.0.1:{port}\"\n"
        ),
    );
    // A machine that is busy with other tests answers late.
    let flow = flow.replace("timeout_ms: 5000", "timeout_ms: 30000");
    folder.write("flows/support.yaml", flow.replace(instructions, &format!("{instructions}{handbook}")));
    folder.write("stave.toml", format!("{SETTINGS}{LOOPBACK}{settings}"));
    let turns: String = (0..TURNS)
        .map(|turn| {
            format!(
                "{{\"user_id\": \"u-1001\", \"session_id\": \"s-42\", \"query\": \"Question {turn}: when does my order ship?\", \"event_time\": \"2026-04-01T10:{turn:02}:00Z\"}}\n"
            )
        })
        .collect();
    folder.write("requests/turns.jsonl", turns);
    folder
}

/// The handbook of a support desk, of some 16 kB.
fn handbook() -> String {
    let rule = |number: usize| {
        format!(
            "        Rule {number}: a parcel of class {number} that is late by {} days is refunded to the card that paid for it, and the customer is told so.\n",
            number % 9 + 1
        )
    };
    (0..120).map(rule).collect()
}

/// Runs the ten turns, and gives what they cost.
async fn cost(folder: &Folder) -> f64 {
    let arguments = ["run", "flows/support.yaml", "--input", "requests/turns.jsonl", "--json"];
    let finished = stave(folder, arguments).env("ANTHROPIC_API_KEY", "test-key-1").finish().await.exits(0);
    let report = finished.json();
    let reports = report.get("runs").and_then(Value::as_array).unwrap_or_default();
    assert_eq!(reports.len(), TURNS, "{finished}");
    let cost = |report: &Value| {
        report
            .pointer("/usage/cost_micros")
            .and_then(Value::as_f64)
            .unwrap_or_else(|| panic!("a cost: {report}"))
    };
    reports.iter().map(cost).sum()
}

async fn provider() -> (Arc<Provider>, Server) {
    let provider = Arc::new(Provider::answering(ANSWER));
    let server = provider.serve().await;
    (provider, server)
}

#[tokio::test]
async fn the_support_example_with_a_handbook_pays_a_third_and_is_sent_alike_by_the_gateway() {
    let (provider, server) = provider().await;
    let handbook = handbook();
    let without = cost(&support(server.port, &handbook, OFF)).await;
    let plain = provider.take();
    assert_eq!(plain.len(), TURNS);
    assert!(plain.iter().all(|body| !body.contains("cache_control")), "{plain:?}");

    let with = cost(&support(server.port, &handbook, "")).await;
    let by_flow = provider.take();
    assert!(by_flow.iter().all(|body| body.contains("cache_control")), "{by_flow:?}");
    assert!(with <= 0.35 * without, "{with} micros with planning, {without} without");

    let gateway = Folder::new();
    let upstream = format!(
        "[gateway.upstreams.one]\nprovider = \"anthropic\"\nendpoint = \"http://127.0.0.1:{}\"\n",
        server.port
    );
    gateway.write("stave.toml", upstream);
    let served = Served::of(stave(&gateway, ["gateway", "--listen", "127.0.0.1:0"])).await;
    let through = cost(&support(served.port, &handbook, OFF)).await;
    served.end().await.exits(0);
    assert_eq!(provider.take(), by_flow, "through the gateway");
    assert_eq!(through, with);
}

/// The example's own prompt has some 200 tokens. No provider caches so few, so nothing is marked and nothing is lost.
#[tokio::test]
async fn the_support_example_as_it_is_is_too_short_for_any_cache_and_is_sent_unchanged() {
    let (provider, server) = provider().await;
    let without = cost(&support(server.port, "", OFF)).await;
    let plain = provider.take();
    assert!(plain.iter().all(|body| body.len() < 4 * 1024), "{plain:?}");
    let with = cost(&support(server.port, "", "")).await;
    assert_eq!(provider.take(), plain);
    assert_eq!(with, without);
}
