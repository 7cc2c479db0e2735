//! A scripted host: answers by method, path and query.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stave_canon::Value;
use url::form_urlencoded;

use super::{Call, Log, Reply, Server, serve};
use crate::json::{count, same, shown, text};

/// Entries `{"method", "path", "status", "json" | "text", "times"}`. A request takes the first entry of its
/// method and path that is not used up; a path with a query compares that too. An entry with `"held": true` is
/// answered once the test releases it.
#[derive(Debug)]
pub(crate) struct HostScript {
    entries: Vec<Value>,
    memory: Mutex<Memory>,
    /// Whether entries that are held may be answered.
    released: tokio::sync::Semaphore,
    pub(crate) log: Log,
}

#[derive(Debug)]
struct Memory {
    /// How often each entry may still be taken.
    left: Vec<u64>,
    /// The first value of each header that must stay the same.
    stable: HashMap<String, Option<String>>,
}

impl HostScript {
    pub(crate) fn new(entries: &[Value]) -> Arc<Self> {
        let left = entries.iter().map(|entry| count(entry, "times").unwrap_or(1)).collect();
        let memory = Mutex::new(Memory { left, stable: HashMap::new() });
        let released = tokio::sync::Semaphore::new(0);
        Arc::new(HostScript { entries: entries.to_vec(), memory, released, log: Log::default() })
    }

    /// Answers the requests for entries that are held, now and later.
    pub(crate) fn release(&self) {
        self.released.add_permits(1);
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
        let number = {
            let mut log = self.log.lock();
            log.calls.push(call.clone());
            log.calls.len()
        };
        let complain = |problem: String| self.log.complain(format!("http call {number}: {problem}"));
        let Some(entry) = self.take(&call) else {
            complain(format!("nothing is scripted (any more) for {} {}", call.method, call.address));
            return Reply::json(404, r#"{"error":"not scripted"}"#);
        };
        for problem in self.problems(entry, &call) {
            complain(problem);
        }
        if let Some(delay) = count(entry, "delay_ms") {
            tokio::time::sleep(Duration::from_millis(delay)).await;
        }
        if entry.get("held").is_some() {
            drop(self.released.acquire().await);
        }
        let status = count(entry, "status").unwrap_or(200);
        let reply = match entry.get("json") {
            Some(json) => Reply::json(status, json.to_string()),
            None => Reply::text(status, "text/plain; charset=utf-8", text(entry, "text").unwrap_or_default()),
        };
        reply.retry_after(entry)
    }

    /// The entry that answers the call, which is used up by one.
    fn take(&self, call: &Call) -> Option<&Value> {
        let path = decoded(call.address.path());
        let query = pairs(call.address.query().unwrap_or_default());
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        for (entry, left) in self.entries.iter().zip(&mut memory.left) {
            let wanted = text(entry, "path").expect("a scripted reply has a path");
            let (wanted, wanted_query) = match wanted.split_once('?') {
                Some((path, query)) => (path, Some(pairs(query))),
                None => (wanted, None),
            };
            let fits = text(entry, "method").unwrap_or("GET") == call.method.as_str()
                && decoded(wanted) == path
                && wanted_query.is_none_or(|wanted| wanted == query);
            if fits && *left > 0 {
                *left -= 1;
                return Some(entry);
            }
        }
        None
    }

    fn problems(&self, entry: &Value, call: &Call) -> Vec<String> {
        let mut problems = Vec::new();
        let header = |name: &str| call.headers.get(name).and_then(|value| value.to_str().ok());
        if let Some(wanted) = entry.get("expect_json") {
            let body = stave_canon::parse_bytes(&call.body)
                .unwrap_or_else(|_| String::from_utf8_lossy(&call.body).into_owned().into());
            if !same(&body, wanted) {
                problems.push(format!("body {}, expected {}", shown(&body), shown(wanted)));
            }
        }
        for (name, wanted) in entry.get("expect_headers").and_then(Value::as_object).into_iter().flatten() {
            if header(name) != wanted.as_str() {
                problems.push(format!("header {name}: {:?}, expected {}", header(name), shown(wanted)));
            }
        }
        if let Some(name) = text(entry, "expect_stable_header") {
            let value = header(name).map(str::to_owned);
            let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
            let first = memory.stable.entry(name.to_owned()).or_insert_with(|| value.clone());
            if value.as_ref().is_none_or(String::is_empty) {
                problems.push(format!("header {name} is missing"));
            } else if value != *first {
                problems.push(format!("header {name} changed from {first:?} to {value:?}"));
            }
        }
        problems
    }
}

/// The pairs of a query in alphabetical order, decoded.
fn pairs(query: &str) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    pairs.sort();
    pairs
}

/// A path with its percent escapes read. A plus sign stays one, as paths have it.
fn decoded(path: &str) -> String {
    let escaped = path.replace('+', "%2B").replace('&', "%26").replace('=', "%3D");
    pairs(&escaped).pop().map(|(path, _)| path).unwrap_or_default()
}

#[test]
fn paths_are_compared_decoded() {
    assert_eq!(decoded("/a%20b/c+d&e=f"), "/a b/c+d&e=f");
    assert_eq!(decoded(""), "");
    assert_eq!(pairs("b=2&a=x%20y&c"), pairs("c=&a=x+y&b=2"));
}
