//! Every wire request of a model step has its blocks: rounds of tools, repairs and fallbacks, for each interface.

use std::sync::Mutex;

use serde_json::json;
use stave_canon::Value;

use super::sample::LOOPBACK;
use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::stave;
use crate::scripted::{self, Reply, Server};

/// A flow with one tool and an output schema.
fn flow(provider: &str, model: &str, endpoint: &str) -> String {
    format!(
        r#"version: "1.1"
metadata: {{name: looks}}
context: {{requires: [q]}}
nodes:
  look:
    type: transform
    inputs: [{{name: what, type: string}}]
    outputs: [{{name: seen, type: string}}]
    transform: {{mode: declarative, spec: {{op: io.format_response, args: {{template: "seen ${{what}}"}}}}}}
  answer:
    type: transform
    inputs: [{{name: q, type: string}}]
    outputs: [{{name: a, type: object}}]
    prompt:
      system: You look at things.
      template: "Question: {{{{ q }}}}"
      output_schema: {{type: object, properties: {{answer: {{type: string}}}}, required: [answer]}}
      tools:
        - name: look
          description: Looks at a thing.
          parameters: {{type: object, properties: {{what: {{type: string}}}}, required: [what]}}
          maps_to: look
      model: {{provider: {provider}, name: {model}, endpoint: "{endpoint}"}}
      FALLBACK
    runtime: {{timeout_ms: 20000, retries: 0}}
edges:
  - {{from: _input.q, to: answer.q}}
  - {{from: answer.a, to: _output}}
"#
    )
}

const CALL: &str = r#"{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"what\":\"moon\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":40,"completion_tokens":5,"total_tokens":45}}"#;

fn said(text: &str) -> String {
    json!({
        "id": "c", "object": "chat.completion", "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 50, "completion_tokens": 5, "total_tokens": 55},
    })
    .to_string()
}

fn anthropic(content: &serde_json::Value, stop: &str) -> String {
    json!({
        "id": "m", "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": stop,
        "usage": {"input_tokens": 40, "output_tokens": 5},
    })
    .to_string()
}

/// A server that gives these replies in order, then the last one again.
async fn replies(bodies: Vec<String>) -> Server {
    let bodies = std::sync::Arc::new(Mutex::new((0, bodies)));
    scripted::serve(move |_| {
        let bodies = std::sync::Arc::clone(&bodies);
        async move {
            let (number, bodies) = &mut *bodies.lock().unwrap();
            let body = bodies[(*number).min(bodies.len() - 1)].clone();
            *number += 1;
            match body.as_str() {
                "" => Reply::json(400, "{}"),
                _ => Reply::json(200, body),
            }
        }
    })
    .await
}

fn project(flow: &str, more: &str) -> Folder {
    let folder = Folder::new();
    folder.write("stave.toml", format!("{LOOPBACK}\n{more}"));
    folder.write("flow.yaml", flow.replace("      FALLBACK\n", ""));
    folder
}

async fn run(folder: &Folder) -> String {
    let run = stave(folder, ["run", "flow.yaml", "--input", "-", "--json"]);
    let run = run.env("OPENAI_API_KEY", "test").env("ANTHROPIC_API_KEY", "test");
    let finished = run.input(r#"{"q": "What is up?"}"#).finish().await.exits(0);
    text(&finished.json(), "run_id").expect("a run has an id").to_owned()
}

async fn json(folder: &Folder, arguments: &[&str]) -> Value {
    stave(folder, arguments.iter().copied().chain(["--json"])).finish().await.exits(0).json()
}

async fn request(folder: &Folder, run: &str, number: &str) -> Value {
    let show = ["block", "show", "--run", run, "--step", "answer", "--request", number];
    let blocks = json(folder, &show).await;
    folder.write("blocks.json", blocks.to_string());
    stave(folder, ["block", "check", "blocks.json"]).finish().await.exits(0);
    blocks
}

/// Role, content type and name of every block.
fn outline(blocks: &Value) -> Vec<String> {
    let row = |block: &Value| {
        let word = |key: &str| text(block, key).unwrap_or("-").to_owned();
        format!("{} {} {}", word("role"), word("content_type"), word("name"))
    };
    items(blocks, "blocks").iter().map(row).collect()
}

fn contents(blocks: &Value) -> Vec<&str> {
    items(blocks, "blocks").iter().map(|block| text(block, "content").unwrap_or_default()).collect()
}

const PROMPT: [&str; 5] = [
    "system text system",
    "system tool_schema look",
    "system structured_output output_schema",
    "user text template",
    "user text q",
];

#[tokio::test]
async fn every_round_of_tools_over_chat_completions_has_its_blocks() {
    let server = replies(vec![CALL.to_owned(), said("Up."), said(r#"{"answer": "the moon"}"#)]).await;
    let endpoint = format!("http://127.0.0.1:{}/v1", server.port);
    let folder = project(&flow("openai", "gpt-4o-mini", &endpoint), "");
    let run = run(&folder).await;

    let first = request(&folder, &run, "1").await;
    assert_eq!(first.get("requests"), Some(&3.into()), "{first}");
    assert_eq!(outline(&first), PROMPT, "{first}");
    let second = request(&folder, &run, "2").await;
    let mut expected = PROMPT.to_vec();
    expected.extend(["assistant text -", "tool tool_result look"]);
    assert_eq!(outline(&second), expected, "{second}");
    assert_eq!(contents(&second)[6], "seen moon", "{second}");
    assert!(contents(&second)[5].contains(r#""what"#), "{second}");
    // The answer is no JSON, so the model is asked once more.
    let third = request(&folder, &run, "3").await;
    expected.extend(["assistant text -", "user text repair"]);
    assert_eq!(outline(&third), expected, "{third}");
    assert_eq!(contents(&third)[7], "Up.", "{third}");
    let tools = items(&third, "tool_schema_hashes");
    assert_eq!((tools.len(), text(&tools[0], "tool_name")), (1, Some("look")), "{third}");
    assert!(text(&third, "structured_output_schema_id").is_some(), "{third}");
    let tokens = |blocks: &Value| -> i64 {
        let counts = items(blocks, "blocks").iter().map(|block| block.pointer("/token_metadata/token_count"));
        counts.map(|count| count.and_then(Value::as_i64).expect("a count")).sum()
    };
    assert!(tokens(&first) > 40 && tokens(&third) > tokens(&second), "{first}");
    let spans = |blocks: &Value| -> Vec<String> {
        let spans = items(blocks, "blocks").iter().filter_map(|block| text(block, "span_id"));
        spans.map(str::to_owned).collect()
    };
    assert_eq!(spans(&first), spans(&third)[..5], "a request keeps the spans of the one before it");

    let diff = ["block", "diff", "--run", &run, "--step", "answer", "--request", "1", "--request", "2"];
    let diff = stave(&folder, diff.iter().copied().chain(["--json"])).finish().await.exits(1).json();
    let changes: Vec<_> =
        items(&diff, "changes").iter().filter_map(|change| text(change, "change")).collect();
    assert_eq!((diff.get("common_blocks"), changes), (Some(&5.into()), vec!["added", "added"]), "{diff}");
    // Without a number, the last request is shown.
    let last = json(&folder, &["block", "show", "--run", &run, "--step", "answer"]).await;
    assert_eq!(last, third);
    let told = stave(&folder, ["runs", "show", &run]).finish().await.exits(0).stdout;
    assert!(told.contains("`answer` request 3: openai gpt-4o-mini at 20"), "{told}");
    assert!(told.contains("9 blocks (7 of them as before)"), "{told}");
    let report = json(&folder, &["prompt", "report"]).await;
    assert_eq!(report.pointer("/flows/requests"), Some(&3.into()), "{report}");
    // A request is kept as what it adds to the one before it.
    let shown = json(&folder, &["runs", "show", &run]).await;
    let asked = &items(shown.get("requests").unwrap(), "answer")[0];
    let later = items(asked, "later_requests");
    assert_eq!(later[1].get("shared_blocks"), Some(&7.into()), "{asked}");
    assert_eq!((items(asked, "blocks").len(), items(&later[1], "blocks").len()), (5, 2), "{asked}");
    let wrong = ["block", "show", "--run", &run, "--step", "answer", "--request", "4"];
    let wrong = stave(&folder, wrong).finish().await.exits(2);
    assert!(wrong.stderr.contains("3 requests are kept"), "{wrong}");
    let exported = stave(&folder, ["runs", "export", &run]).finish().await.exits(0).stdout;
    assert!(exported.contains("seen moon") && exported.contains("shared_blocks"), "{exported}");
}

#[tokio::test]
async fn every_round_of_tools_over_messages_has_its_blocks() {
    let call = json!([
        {"type": "thinking", "thinking": "Let me look.", "signature": "c2ln"},
        {"type": "text", "text": "Looking."},
        {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"what": "moon"}},
    ]);
    let done = json!([{"type": "text", "text": "{\"answer\": \"the moon\"}"}]);
    let server = replies(vec![anthropic(&call, "tool_use"), anthropic(&done, "end_turn")]).await;
    let endpoint = format!("http://127.0.0.1:{}", server.port);
    let folder = project(&flow("anthropic", "claude-sonnet-4-5", &endpoint), "");
    let run = run(&folder).await;
    let second = request(&folder, &run, "2").await;
    assert_eq!(second.get("requests"), Some(&2.into()), "{second}");
    let rows = outline(&second);
    let said: Vec<&str> = rows.iter().map(String::as_str).skip(6).collect();
    // The schema is in the text of this interface as well.
    let mut expected = PROMPT.to_vec();
    expected.insert(1, "system text output_schema");
    assert_eq!(rows[..6], expected, "{second}");
    assert_eq!(
        said,
        ["assistant thinking -", "assistant text -", "assistant text -", "tool tool_result look"],
        "{second}"
    );
    assert_eq!(contents(&second)[6..8], ["Let me look.", "Looking."], "{second}");
}

#[tokio::test]
async fn a_fallback_has_requests_of_its_own() {
    let server = replies(vec![String::new(), said(r#"{"answer": "the moon"}"#)]).await;
    let endpoint = format!("http://127.0.0.1:{}/v1", server.port);
    let other = format!(
        "      fallback: {{on: [error], model: {{provider: openai, name: gpt-4o, endpoint: \"{endpoint}\"}}}}\n"
    );
    let flow = flow("openai", "gpt-4o-mini", &endpoint).replace("      FALLBACK\n", &other);
    let folder = project(&flow, "");
    let run = run(&folder).await;
    let (first, second) = (request(&folder, &run, "1").await, request(&folder, &run, "2").await);
    assert_eq!((text(&first, "model"), text(&second, "model")), (Some("gpt-4o-mini"), Some("gpt-4o")));
    assert_eq!(outline(&second), PROMPT, "{second}");
    assert_eq!(contents(&first), contents(&second));
}

#[tokio::test]
async fn requests_are_not_kept_where_the_project_says_so() {
    let server = replies(vec![CALL.to_owned(), said(r#"{"answer": "the moon"}"#)]).await;
    let endpoint = format!("http://127.0.0.1:{}/v1", server.port);
    let folder = project(&flow("openai", "gpt-4o-mini", &endpoint), "[journal]\nprompts = false\n");
    let run = run(&folder).await;
    let show = ["block", "show", "--run", &run, "--step", "answer"];
    let refused = stave(&folder, show).finish().await.exits(2);
    assert!(refused.stderr.contains("nothing is kept"), "{refused}");
    let report = json(&folder, &["prompt", "report"]).await;
    assert_eq!(report.pointer("/flows/requests"), Some(&2.into()), "{report}");
}
