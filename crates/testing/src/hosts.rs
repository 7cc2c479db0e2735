//! Hosts that answer from a test, or are listened to while a test is recorded.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use stave_canon::{Object, Value};
use stave_llm::recording::Redactor;
use stave_runtime::hosts::{HostReply, HostRequest, Hosts};
use url::Url;

/// How many replies a message lists.
const SHOWN: usize = 20;

/// The replies of a test: `{method, url, status, json | text, headers, times, delay_ms}` each. A request
/// takes the first that fits and is not used up.
#[derive(Debug)]
pub(super) struct Scripted {
    replies: Vec<Scripted1>,
    used: Mutex<Vec<u64>>,
    /// Requests that nothing answered, and how many were made.
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    calls: u64,
    unanswered: Vec<String>,
}

#[derive(Debug)]
struct Scripted1 {
    method: String,
    url: String,
    times: Option<u64>,
    reply: HostReply,
}

impl Scripted {
    /// Reads the replies of a test; otherwise says what is wrong with one.
    pub(super) fn read(replies: &[Value]) -> Result<Self, String> {
        let replies: Vec<Scripted1> = replies
            .iter()
            .enumerate()
            .map(|(index, reply)| read(reply).map_err(|reason| format!("http reply {}: {reason}", index + 1)))
            .collect::<Result<_, _>>()?;
        let used = Mutex::new(vec![0; replies.len()]);
        Ok(Scripted { replies, used, seen: Mutex::default() })
    }

    pub(super) fn calls(&self) -> u64 {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).calls
    }

    /// The first of these many replies that no request took, as the test has them: number, method and address.
    pub(super) fn unused(&self, count: usize) -> Vec<String> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let replies = self.replies.iter().zip(used.iter()).take(count).enumerate();
        let unused = replies.filter(|(_, (reply, used))| **used == 0 && reply.times != Some(0));
        unused.map(|(index, (reply, _))| format!("{} ({} {})", index + 1, reply.method, reply.url)).collect()
    }

    /// The replies that a request can take, for a message.
    pub(super) fn listed(&self) -> String {
        let listed: Vec<String> =
            self.replies.iter().take(SHOWN).map(|reply| format!("{} {}", reply.method, reply.url)).collect();
        match (listed.is_empty(), self.replies.len().saturating_sub(SHOWN)) {
            (true, _) => "it has none".to_owned(),
            (false, 0) => format!("it has {}", listed.join(", ")),
            (false, more) => format!("it has {} and {more} more", listed.join(", ")),
        }
    }

    /// What was asked for and had no reply.
    pub(super) fn unanswered(&self) -> Vec<String> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).unanswered.clone()
    }
}

impl Hosts for Scripted {
    fn answer(&self, asked: &HostRequest) -> Option<HostReply> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.calls += 1;
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        for (entry, used) in self.replies.iter().zip(used.iter_mut()) {
            let is_left = entry.times.is_none_or(|times| *used < times);
            if is_left && entry.method == asked.method && fits(&entry.url, &asked.url) {
                *used += 1;
                return Some(entry.reply.clone());
            }
        }
        seen.unanswered.push(format!("{} {}", asked.method, asked.url));
        Some(HostReply::new(404, "text/plain", b"the test has no reply for this request".to_vec()))
    }

    fn heard(&self, _: &HostRequest, _: &HostReply) {}
}

fn read(reply: &Value) -> Result<Scripted1, String> {
    let object =
        reply.as_object().ok_or_else(|| format!("a mapping is wanted, and this is {}", reply.kind()))?;
    const KNOWN: [&str; 8] = ["method", "url", "status", "json", "text", "headers", "times", "delay_ms"];
    if let Some(unknown) = object.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return Err(format!("`{unknown}` is not one of {}", KNOWN.join(", ")));
    }
    let text = |key: &str| object.get(key).map(|value| value.as_str().ok_or(format!("`{key}` is no text")));
    let count = |key: &str| {
        let count = object.get(key).map(|value| value.as_i64().and_then(|count| u64::try_from(count).ok()));
        count.map(|count| count.ok_or(format!("`{key}` is no whole number"))).transpose()
    };
    let status = u16::try_from(count("status")?.unwrap_or(200)).map_err(|_| "`status` is too large")?;
    let mut answer = match (object.get("json"), text("text").transpose()?) {
        (Some(_), Some(_)) => return Err("it has `json` and `text`".to_owned()),
        (Some(json), None) => HostReply::new(status, "application/json", json.to_string().into_bytes()),
        (None, said) => {
            HostReply::new(status, "text/plain; charset=utf-8", said.unwrap_or_default().as_bytes().to_vec())
        }
    };
    if let Some(headers) = object.get("headers") {
        let headers = headers.as_object().ok_or("`headers` is no mapping")?;
        for (name, value) in headers {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            answer.header(name, &value);
        }
    }
    answer.delay = Duration::from_millis(count("delay_ms")?.unwrap_or(0));
    Ok(Scripted1 {
        method: text("method").transpose()?.unwrap_or("GET").to_ascii_uppercase(),
        url: text("url").transpose()?.ok_or("it has no `url`")?.to_owned(),
        times: count("times")?,
        reply: answer,
    })
}

/// An address fits when scheme, host and path are the same, and the query too if the test names one. A
/// path alone fits every host.
fn fits(wanted: &str, asked: &Url) -> bool {
    let (address, query) = match wanted.split_once('?') {
        Some((address, query)) => (address, Some(query)),
        None => (wanted, None),
    };
    if query.is_some_and(|query| asked.query() != Some(query)) {
        return false;
    }
    if address.starts_with('/') {
        return asked.path() == address;
    }
    Url::parse(address).is_ok_and(|url| {
        url.scheme() == asked.scheme()
            && url.host() == asked.host()
            && url.port_or_known_default() == asked.port_or_known_default()
            && url.path() == asked.path()
    })
}

/// Listens to real hosts and keeps what they answer, with secrets taken out.
#[derive(Debug)]
pub(super) struct Listening {
    redactor: Redactor,
    heard: Mutex<Vec<Value>>,
}

impl Listening {
    pub(super) fn new(redactor: Redactor) -> Self {
        Listening { redactor, heard: Mutex::default() }
    }

    /// The exchanges, in the form that tests have.
    pub(super) fn replies(&self) -> Vec<Value> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Hosts for Listening {
    fn answer(&self, _: &HostRequest) -> Option<HostReply> {
        None
    }

    fn heard(&self, asked: &HostRequest, reply: &HostReply) {
        let mut object = Object::new();
        object.insert("method".into(), asked.method.as_str().into());
        object.insert("url".into(), self.redactor.text(asked.url.as_str()).into());
        object.insert("status".into(), u32::from(reply.status).into());
        let body = self.redactor.text(&String::from_utf8_lossy(&reply.body));
        match stave_canon::parse(&body) {
            Ok(json) if !body.trim().is_empty() => object.insert("json".into(), json),
            _ => object.insert("text".into(), body.into()),
        };
        object.insert("times".into(), 1_i64.into());
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).push(Value::Object(object));
    }
}
