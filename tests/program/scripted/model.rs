//! A scripted model: chat completions in the order of the script, whole or streamed.

use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use serde_json::json;
use stave_canon::Value;

use super::{Call, Log, Reply, Server, serve};
use crate::json::{count, items, text};

/// Replies in order, one per `POST /v1/chat/completions`: `{"content"}`, `{"tool_calls"}` or
/// `{"status", "message"}`, any of them with `delay_ms`, `expect_contains` and `expect_model`. When they are used up,
/// further calls get 500 and count.
#[derive(Debug)]
pub(crate) struct ModelScript {
    replies: Vec<Value>,
    pub(crate) log: Log,
}

impl ModelScript {
    pub(crate) fn new(replies: &[Value]) -> Arc<Self> {
        Arc::new(ModelScript { replies: replies.to_vec(), log: Log::default() })
    }

    /// Starts the server. The script stays with the caller, who reads its log.
    pub(crate) async fn serve(self: &Arc<Self>) -> Server {
        let script = Arc::clone(self);
        serve(move |call| {
            let script = Arc::clone(&script);
            async move { script.answer(call).await }
        })
        .await
    }

    async fn answer(&self, call: Call) -> Reply {
        if call.method != Method::POST {
            return Reply::json(404, "{}");
        }
        let number = {
            let mut log = self.log.lock();
            log.calls.push(call.clone());
            log.calls.len()
        };
        let complain = |problem: String| self.log.complain(format!("model call {number}: {problem}"));
        if call.address.path() != "/v1/chat/completions" {
            complain(format!("unexpected path {}", call.address));
            return Reply::json(404, error("unknown path"));
        }
        let request = match read(&call.body) {
            Ok(request) => request,
            Err(reason) => {
                complain(format!("bad request body: {reason}"));
                return Reply::json(400, error("bad request"));
            }
        };
        let Some(entry) = self.replies.get(number - 1) else {
            return Reply::json(500, error("script exhausted"));
        };
        for wanted in items(entry, "expect_contains").iter().filter_map(Value::as_str) {
            if !request.text.contains(wanted) {
                complain(format!("the request lacks {wanted:?}; it had {:?}", request.text));
            }
        }
        if let Some(wanted) = text(entry, "expect_model").filter(|wanted| *wanted != request.model) {
            complain(format!("model {:?}, expected {wanted:?}", request.model));
        }
        if let Some(delay) = count(entry, "delay_ms") {
            tokio::time::sleep(Duration::from_millis(delay)).await;
        }
        let status = count(entry, "status").unwrap_or(200);
        if status >= 400 {
            let message = text(entry, "message").map_or_else(|| format!("scripted {status}"), str::to_owned);
            return Reply::json(status, error(&message)).retry_after(entry);
        }
        let answer = Answer::new(number, entry);
        if request.stream { answer.streamed(&request) } else { answer.whole(&request) }
    }
}

fn error(message: &str) -> String {
    json!({"error": {"message": message, "type": "scripted"}}).to_string()
}

/// What the script looks at in a request.
struct Asked {
    model: String,
    /// The text of all messages, one after the other.
    text: String,
    stream: bool,
    include_usage: bool,
}

fn read(body: &[u8]) -> Result<Asked, String> {
    let request = stave_canon::parse_bytes(body).map_err(|error| error.to_string())?;
    let messages = items(&request, "messages");
    if messages.is_empty() {
        return Err("no messages".to_owned());
    }
    let flag = |value: Option<&Value>| value.and_then(Value::as_bool).unwrap_or(false);
    Ok(Asked {
        model: text(&request, "model").ok_or("no model")?.to_owned(),
        text: messages.iter().flat_map(texts).collect::<Vec<&str>>().join("\n"),
        stream: flag(request.get("stream")),
        include_usage: flag(request.pointer("/stream_options/include_usage")),
    })
}

fn texts(message: &Value) -> Vec<&str> {
    match message.get("content") {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| text(part, "text")).collect(),
        _ => Vec::new(),
    }
}

/// One scripted answer in the provider's form.
struct Answer {
    number: usize,
    content: Option<String>,
    /// Id, name and arguments of each call.
    calls: Vec<(String, String, String)>,
}

impl Answer {
    fn new(number: usize, entry: &Value) -> Self {
        let calls = items(entry, "tool_calls").iter().enumerate().map(|(index, call)| {
            let arguments = match call.get("arguments") {
                None => "{}".to_owned(),
                Some(Value::String(text)) => text.clone(),
                Some(value) => value.to_string(),
            };
            let name = text(call, "name").expect("a scripted tool call has a name");
            (format!("call_{number}_{index}"), name.to_owned(), arguments)
        });
        Answer { number, content: text(entry, "content").map(str::to_owned), calls: calls.collect() }
    }

    fn finish_reason(&self) -> &'static str {
        if self.calls.is_empty() { "stop" } else { "tool_calls" }
    }

    fn usage(&self, asked: &Asked) -> serde_json::Value {
        let tokens = |text: &str| (text.chars().count() / 4).max(1);
        let (prompt, completion) = (tokens(&asked.text), tokens(self.content.as_deref().unwrap_or_default()));
        json!({"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion})
    }

    fn head(&self, asked: &Asked, object: &str) -> serde_json::Value {
        let id = format!("chatcmpl-{}", self.number);
        json!({"id": id, "created": 1_767_225_600, "model": asked.model, "object": object})
    }

    fn whole(&self, asked: &Asked) -> Reply {
        let mut message = json!({"role": "assistant", "content": self.content});
        if !self.calls.is_empty() {
            let calls = self.calls.iter().map(|(id, name, arguments)| {
                json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
            });
            message["tool_calls"] = calls.collect();
        }
        let mut body = self.head(asked, "chat.completion");
        body["choices"] = json!([{"index": 0, "message": message, "finish_reason": self.finish_reason(), "logprobs": null}]);
        body["usage"] = self.usage(asked);
        Reply::json(200, body.to_string())
    }

    /// The same answer as server-sent events, with the content in thirds and the arguments in halves.
    fn streamed(&self, asked: &Asked) -> Reply {
        let mut deltas = vec![json!({"role": "assistant", "content": self.content.as_ref().map(|_| "")})];
        let letters: Vec<char> = self.content.iter().flat_map(|content| content.chars()).collect();
        for piece in letters.chunks((letters.len() / 3).max(1)) {
            deltas.push(json!({"content": piece.iter().collect::<String>()}));
        }
        for (index, (id, name, arguments)) in self.calls.iter().enumerate() {
            let middle = arguments.chars().count() / 2;
            let head: String = arguments.chars().take(middle).collect();
            let tail: String = arguments.chars().skip(middle).collect();
            let opening = json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": head}});
            deltas.push(json!({"tool_calls": [opening]}));
            deltas.push(json!({"tool_calls": [{"index": index, "function": {"arguments": tail}}]}));
        }
        let mut choices: Vec<serde_json::Value> = deltas
            .into_iter()
            .map(|delta| json!([{"index": 0, "delta": delta, "finish_reason": null}]))
            .collect();
        choices.push(json!([{"index": 0, "delta": {}, "finish_reason": self.finish_reason()}]));
        let mut body = String::new();
        for choices in choices {
            let mut event = self.head(asked, "chat.completion.chunk");
            event["choices"] = choices;
            body.push_str(&format!("data: {event}\n\n"));
        }
        if asked.include_usage {
            let mut event = self.head(asked, "chat.completion.chunk");
            event["choices"] = json!([]);
            event["usage"] = self.usage(asked);
            body.push_str(&format!("data: {event}\n\n"));
        }
        body.push_str("data: [DONE]\n\n");
        Reply::text(200, "text/event-stream", body)
    }
}
