//! What the pool and a worker say to each other.
//!
//! A frame is a little-endian `u32` length and that many bytes of postcard. JSON values travel inside
//! as canonical text, so that integers of any size and the order of keys survive, and so that reading
//! them is bounded in depth whatever the other side sends.

use std::io::{self, Read, Write};
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};
use stave_canon::{Layout, Value};

use crate::{CodeRange, JobLimits, Limit, RenderError, RenderedPiece};

/// The largest frame either side reads.
pub const MAX_FRAME: usize = 64 * 1024 * 1024;

/// The exit code of a worker that its memory bound stopped outright.
pub const OUT_OF_MEMORY_EXIT: i32 = 65;

/// A JSON value on the wire.
#[derive(Debug, Clone, PartialEq)]
pub struct Json(pub Value);

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = String::new();
        stave_canon::write(&self.0, &Layout::MESSAGE, &mut text);
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        stave_canon::parse(&text).map(Json).map_err(serde::de::Error::custom)
    }
}

/// From the pool to a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum WorkerRequest {
    Transform {
        code: String,
        inputs: Json,
        context: Json,
        has_state: bool,
        bounds: WorkerLimits,
    },
    /// One expression over many scopes, each an object.
    Evaluate {
        expression: String,
        scopes: Vec<Json>,
        bounds: WorkerLimits,
    },
    /// One expression over `acc`, `item` and `index`.
    Fold {
        expression: String,
        initial: Json,
        items: Vec<Json>,
        bounds: WorkerLimits,
    },
    /// A prompt template over the names of `context`.
    Render {
        template: String,
        context: Json,
        bounds: WorkerLimits,
    },
    /// The answers to [`WorkerReply::Host`], in the same order.
    Answers(Vec<HostAnswer>),
}

/// From a worker to the pool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum WorkerReply {
    Host(Vec<HostCall>),
    Value { value: Json, printed: String },
    Values(Vec<Result<Json, JobFailure>>),
    Rendered(Result<Vec<RenderedPiece>, RenderError>),
    Failed(JobFailure),
}

impl WorkerReply {
    /// Whether the job ended at its memory bound.
    #[must_use]
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, WorkerReply::Failed(JobFailure::LimitExceeded { limit: Limit::Memory, .. }))
    }
}

/// A use of `state` that waits for the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum HostCall {
    Get { key: String },
    Set { key: String, value: Json },
    Delete { key: String },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum HostAnswer {
    Done,
    Found(Json),
    Absent,
    /// The store failed; the job ends, and the pool keeps the reason.
    Failed,
}

/// The bounds a worker keeps by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerLimits {
    pub memory_bytes: usize,
    pub compute: Duration,
    pub recursion: usize,
    pub output_bytes: usize,
    pub depth: usize,
    pub host_calls: usize,
}

impl From<&JobLimits> for WorkerLimits {
    fn from(limits: &JobLimits) -> Self {
        WorkerLimits {
            memory_bytes: limits.memory_bytes,
            compute: limits.compute,
            recursion: limits.recursion,
            output_bytes: limits.output_bytes,
            depth: limits.depth,
            host_calls: limits.host_calls,
        }
    }
}

/// Why a job failed, as the worker reports it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum JobFailure {
    Raised {
        kind: String,
        message: String,
        range: Option<CodeRange>,
    },
    NotJson {
        type_name: String,
        place: String,
    },
    LimitExceeded {
        limit: Limit,
        detail: String,
        range: Option<CodeRange>,
    },
    /// The host said [`HostAnswer::Failed`].
    Host,
    /// The request made no sense at this point.
    Protocol(String),
}

/// A message as a frame, length included.
pub fn encode<T: Serialize>(message: &T) -> io::Result<Vec<u8>> {
    let mut frame = postcard::to_extend(message, vec![0; 4]).map_err(io::Error::other)?;
    let length = frame.len() - 4;
    match u32::try_from(length) {
        Ok(prefix) if length <= MAX_FRAME => {
            frame.splice(..4, prefix.to_le_bytes());
            Ok(frame)
        }
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "the frame is too large")),
    }
}

/// The body of a frame as a message.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> io::Result<T> {
    postcard::from_bytes(body).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// The length a frame's first four bytes announce, when it is one that may be read.
pub fn body_length(prefix: [u8; 4]) -> io::Result<usize> {
    let length = u32::from_le_bytes(prefix) as usize;
    if length > MAX_FRAME {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the frame is too large"));
    }
    Ok(length)
}

/// Reads one message; `None` when the other side closed between frames.
pub fn read<T: DeserializeOwned>(input: &mut impl Read) -> io::Result<Option<T>> {
    let mut prefix = [0; 4];
    let mut filled = 0;
    while filled < prefix.len() {
        match input.read(prefix.get_mut(filled..).unwrap_or_default()) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let mut body = vec![0; body_length(prefix)?];
    input.read_exact(&mut body)?;
    decode(&body).map(Some)
}

/// Writes one message and flushes.
pub fn send<T: Serialize>(output: &mut impl Write, message: &T) -> io::Result<()> {
    output.write_all(&encode(message)?)?;
    output.flush()
}
