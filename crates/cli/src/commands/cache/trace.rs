//! Lines of a trace, read one by one with the body's bytes as they are.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use stave_block::{PrefixHash, TracedRequest, WirePrompt, tokens_by_bytes};
use stave_canon::{Value, locate, locate_key};
use stave_lower::read_wire;

use super::arguments::{TokensBy, Trace};
use crate::body_interface::BodyProvider;
use crate::exit::Stop;
use crate::files;

/// The longest line that is read.
const MAX_LINE_BYTES: u64 = 64 * 1024 * 1024;

/// One line of a trace.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) number: usize,
    pub(super) time: f64,
    /// The time as it was written.
    pub(super) time_text: String,
    pub(super) session: Option<String>,
    pub(super) body: String,
    /// The provider's counters of the response, when the trace has them.
    pub(super) usage: Option<Value>,
}

/// The lines of a file, or of stdin for `-` and nothing.
pub(super) struct Lines {
    reader: Box<dyn BufRead>,
    name: String,
    number: usize,
}

impl Lines {
    pub(super) fn open(path: Option<&Path>) -> Result<Self, Stop> {
        let path = path.filter(|path| path.as_os_str() != "-" && path.as_os_str() != "/dev/stdin");
        let (reader, name): (Box<dyn BufRead>, String) = match path {
            None => (Box::new(BufReader::new(std::io::stdin())), "stdin".to_owned()),
            Some(path) => {
                let file = files::open_plain(path).map_err(|error| error.about(path))?;
                (Box::new(BufReader::new(file)), path.display().to_string())
            }
        };
        Ok(Lines { reader, name, number: 0 })
    }

    fn read(&mut self) -> Result<Option<Line>, Stop> {
        loop {
            let mut bytes = Vec::new();
            self.number += 1;
            let place = format!("{}, line {}", self.name, self.number);
            let fault = |message: String| Stop::invalid(format!("{place}: {message}"));
            let mut limited = self.reader.by_ref().take(MAX_LINE_BYTES + 1);
            let read = limited.read_until(b'\n', &mut bytes).map_err(|error| fault(error.to_string()))?;
            if read == 0 {
                return Ok(None);
            }
            if bytes.len() as u64 > MAX_LINE_BYTES {
                return Err(fault(format!("longer than {MAX_LINE_BYTES} bytes")));
            }
            let text = String::from_utf8(bytes).map_err(|_| fault("not UTF-8 text".to_owned()))?;
            if !text.trim().is_empty() {
                return line(text.trim_end(), self.number).map(Some).map_err(fault);
            }
        }
    }
}

impl Iterator for Lines {
    type Item = Result<Line, Stop>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

fn line(text: &str, number: usize) -> Result<Line, String> {
    let value = stave_canon::parse_untrusted(text).map_err(|error| format!("no JSON: {error}"))?;
    let part = |pointer: &str| {
        locate_key(text, pointer)?;
        locate(text, pointer).map(|range| text[range].to_owned())
    };
    let time = value.get("t").and_then(Value::as_f64).filter(|time| time.is_finite());
    let session = match value.get("session") {
        None | Some(Value::Null) => None,
        Some(Value::String(session)) => Some(session.clone()),
        Some(other) => return Err(format!("`session` must be a string, not {}", other.kind())),
    };
    match value.get("body") {
        Some(Value::Object(_)) => {}
        Some(other) => return Err(format!("`body` must be an object, not {}", other.kind())),
        None => return Err("`body` is missing".to_owned()),
    }
    Ok(Line {
        number,
        time: time.ok_or("`t` must be a number of seconds")?,
        time_text: part("/t").unwrap_or_default(),
        session,
        body: part("/body").unwrap_or_default(),
        usage: value.get("usage").cloned(),
    })
}

/// The positions of a body; `None` when it is no request that the provider's interface has.
pub(super) fn wire(body: &str, provider: Option<BodyProvider>) -> Option<WirePrompt> {
    let surface = provider.map(|provider| provider.surface(body));
    read_wire(body, surface).ok()
}

/// A whole trace, with tokens counted.
pub(super) fn read(arguments: &Trace) -> Result<Vec<TracedRequest>, Stop> {
    let mut trace: Vec<TracedRequest> = Vec::new();
    let mut counted: HashMap<PrefixHash, u64> = HashMap::new();
    let lines = Lines::open(arguments.trace.as_deref())?;
    let name = lines.name.clone();
    for line in lines {
        let line = line?;
        let fault = |message: &str| Stop::invalid(format!("{name}, line {}: {message}", line.number));
        let wire = wire(&line.body, arguments.provider)
            .ok_or_else(|| fault("the body is not a request of a known interface"))?;
        if trace.last().is_some_and(|last| last.time > line.time) {
            return Err(fault("`t` goes backwards").help("sort the trace by time"));
        }
        let tokens = match arguments.tokens {
            TokensBy::Bytes => tokens_by_bytes(&wire, 4.0),
            TokensBy::Vocabulary => tokens(&wire, &line.body, &mut counted),
        };
        trace.push(TracedRequest { time: line.time, session: line.session, body: line.body, wire, tokens });
    }
    if trace.is_empty() {
        return Err(Stop::invalid("the trace is empty"));
    }
    Ok(trace)
}

/// The tokens up to each position. What follows the same prefix is counted once, however often it is sent.
fn tokens(wire: &WirePrompt, body: &str, counted: &mut HashMap<PrefixHash, u64>) -> Vec<u64> {
    let mut sum = 0;
    let own = wire.positions.iter().map(|position| {
        sum += *counted.entry(position.prefix).or_insert_with(|| {
            let raw = &body[position.range.clone()];
            stave_llm::tokens::count_content(&wire.model, raw).tokens
        });
        sum
    });
    own.collect()
}
