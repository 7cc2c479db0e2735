//! Hosts that answer from a test, or are listened to while a test is recorded.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use stave_canon::{Object, Value};
use stave_llm::recording::Redactor;
use stave_runtime::hosts::{HostReply, HostRequest, Hosts};
use stave_shape::{FaultKind, Faults, Ordered, Place, Reader, Shape, ValueNode};
use url::Url;

/// How many replies a message lists.
const SHOWN: usize = 20;

/// One reply of a host, as a test writes it.
#[derive(Debug, Shape)]
#[shape(not_null, check = one_body)]
pub(super) struct ScriptedReply {
    #[shape(default = "GET".to_owned())]
    method: String,
    /// The address, or a path that fits every host.
    url: String,
    #[shape(default = 200)]
    status: u16,
    /// The body as JSON; `text` in its place.
    json: Option<Value>,
    text: Option<String>,
    #[shape(default)]
    headers: Ordered<Value>,
    /// How many requests it answers; all when absent.
    times: Option<u64>,
    #[shape(default)]
    delay_ms: u64,
}

fn one_body<N: ValueNode>(_: Option<&ScriptedReply>, node: N, at: &Place<'_>, reader: &mut Reader) {
    if let (Some(_), Some(text)) = (node.member("json"), node.member("text")) {
        reader.fault(&at.key("text"), text.span(), FaultKind::rule("body", "is beside `json`; keep one"));
    }
}

/// What is wrong with a reply, with its place if the source has places.
pub(super) type ReplyFault = (Option<Range<usize>>, String);

/// Reads the replies of a test, or says everything that is wrong with them.
pub(super) fn read_replies(node: impl ValueNode) -> Result<Vec<ScriptedReply>, Vec<ReplyFault>> {
    stave_shape::read(node).map_err(|Faults(faults)| {
        let told = |fault: stave_shape::Fault| (fault.span.clone(), message(&fault));
        faults.into_iter().map(told).collect()
    })
}

/// A fault with the number of the reply and the key, as people count and write them.
fn message(fault: &stave_shape::Fault) -> String {
    let mut way = fault.pointer.as_str().split('/').skip(1);
    let index = way.next().and_then(|index| index.parse::<usize>().ok());
    let keys: Vec<&str> = way.collect();
    let reply = index.map_or_else(|| "`http`".to_owned(), |index| format!("http reply {}", index + 1));
    match &fault.kind {
        FaultKind::MissingKey(_) | FaultKind::UnknownKey { .. } => {
            format!("{reply}: {}", fault.kind.explained())
        }
        kind if keys.is_empty() => format!("{reply} {}", kind.explained()),
        kind => format!("{reply}: `{}` {}", keys.join("."), kind.explained()),
    }
}

/// The replies of a test. A request takes the first that fits and is not used up.
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
    /// The replies in the order in which they are tried.
    pub(super) fn new(replies: Vec<ScriptedReply>) -> Self {
        let replies: Vec<Scripted1> = replies.into_iter().map(Scripted1::from).collect();
        let used = Mutex::new(vec![0; replies.len()]);
        Scripted { replies, used, seen: Mutex::default() }
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

impl From<ScriptedReply> for Scripted1 {
    fn from(written: ScriptedReply) -> Scripted1 {
        let ScriptedReply { method, url, status, json, text, headers, times, delay_ms } = written;
        let mut reply = match json {
            Some(json) => HostReply::new(status, "application/json", json.to_string().into_bytes()),
            None => {
                HostReply::new(status, "text/plain; charset=utf-8", text.unwrap_or_default().into_bytes())
            }
        };
        for (name, value) in headers.0 {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            reply.header(&name, &value);
        }
        reply.delay = Duration::from_millis(delay_ms);
        Scripted1 { method: method.to_ascii_uppercase(), url, times, reply }
    }
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
