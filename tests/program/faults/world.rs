//! One server in the place of every host and model of a flow, which a test can make misbehave at one path or
//! prompt.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;
use stave_canon::Value;

use super::cases::Example;
use crate::json::items;
use crate::scripted::{Call, Reply, Server, serve};

/// How a call goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Misbehaviour {
    Slow,
    TooManyRequests,
    ServerError,
    BadJson,
    WrongShape,
}

/// Which calls go wrong: those of a path, or those whose prompt holds a text.
#[derive(Debug, Clone)]
pub(super) struct Trouble {
    pub(super) at: String,
    pub(super) how: Misbehaviour,
}

/// What the server saw.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub(super) calls: usize,
    /// The keys of the effects, by path.
    pub(super) effects: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Debug)]
pub(super) struct World {
    example: &'static Example,
    trouble: Option<Trouble>,
    seen: Mutex<Seen>,
}

impl World {
    pub(super) fn new(example: &'static Example, trouble: Option<Trouble>) -> Arc<Self> {
        Arc::new(World { example, trouble, seen: Mutex::default() })
    }

    pub(super) async fn serve(self: &Arc<Self>) -> Server {
        let world = Arc::clone(self);
        serve(move |call| {
            let world = Arc::clone(&world);
            async move { world.answer(call).await }
        })
        .await
    }

    pub(super) fn seen(&self) -> Seen {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn answer(&self, call: Call) -> Reply {
        let path = call.address.path().to_owned();
        {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.calls += 1;
            if let Some(key) = call.headers.get("idempotency-key") {
                let key = key.to_str().unwrap_or_default().to_owned();
                seen.effects.entry(path.clone()).or_default().insert(key);
            }
        }
        let is_model = path == "/v1/chat/completions";
        let prompt = if is_model { prompt(&call.body) } else { String::new() };
        let place = if is_model { &prompt } else { &path };
        if let Some(trouble) = self.trouble.as_ref().filter(|trouble| place.contains(&trouble.at)) {
            match trouble.how {
                Misbehaviour::Slow => tokio::time::sleep(Duration::from_millis(1500)).await,
                Misbehaviour::TooManyRequests => {
                    let mut reply = Reply::json(429, r#"{"error": {"message": "slow down"}}"#);
                    reply.retry_after = Some(0);
                    return reply;
                }
                Misbehaviour::ServerError => return Reply::json(500, r#"{"error": {"message": "broken"}}"#),
                Misbehaviour::BadJson if is_model => return completion("{oops"),
                Misbehaviour::BadJson => return Reply::json(200, "{oops"),
                Misbehaviour::WrongShape if is_model => return completion(r#"{"wrong": true}"#),
                Misbehaviour::WrongShape => return Reply::json(200, r#""a text""#),
            }
        }
        if path == "/trouble" {
            return Reply::json(200, r#""nothing that a port takes""#);
        }
        if is_model {
            let found = self.example.replies.iter().find(|(part, _)| prompt.contains(part));
            return completion(found.map_or("?", |(_, reply)| reply));
        }
        let found = self.example.hosts.iter().find(|(wanted, _)| path == *wanted);
        match found {
            Some((_, body)) => Reply::json(200, *body),
            None => Reply::json(404, "{}"),
        }
    }
}

fn prompt(body: &[u8]) -> String {
    let request = stave_canon::parse_bytes(body).unwrap_or_default();
    let texts = items(&request, "messages").iter().filter_map(|message| message.get("content"));
    texts.filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}

/// A model's answer: a text, or `name arguments` behind `CALL ` for a tool.
fn completion(reply: &str) -> Reply {
    let message = match reply.strip_prefix("CALL ").and_then(|call| call.split_once(' ')) {
        Some((name, arguments)) => json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}]}),
        None => json!({"role": "assistant", "content": reply}),
    };
    let finish = if reply.starts_with("CALL ") { "tool_calls" } else { "stop" };
    let body = json!({"id": "x", "object": "chat.completion", "created": 1, "model": "gpt-4o-mini",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}});
    Reply::json(200, body.to_string())
}
