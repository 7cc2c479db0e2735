//! Request to block: a client's body becomes positions in wire order for the cache, and blocks for everyone
//! else. Both know their bytes in the body, which is never written anew.

mod anthropic_messages;
mod body;
mod detect;
mod gemini_generate_content;
mod openai_chat;
mod openai_responses;
mod positions;
mod sections;
mod spans;
mod tape;

use std::ops::Range;

use stave_block::{BlockBuildError, BlockIr, Surface, Tokenizer, WirePrompt};
use stave_canon::{Clock, Ids, ParseError};
use thiserror::Error;

use positions::Positions;
use tape::{Kind, ROOT, Tape};

pub use body::{BodyValue, RequestBody};
pub use spans::{BlockSpan, NoSpanMemory, SpanDigests, SpanMemory, block_spans, span_id_at};
pub use tape::TapeFault;

/// How many characters of a key a message shows.
const LONGEST_KEY_SHOWN: usize = 64;

/// Why a body has no blocks.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum RequestFault {
    #[error("the body is not JSON: {0}")]
    Json(#[from] TapeFault),
    #[error("the body is not JSON: {0}")]
    Parse(#[from] ParseError),
    #[error("the body is not a JSON object")]
    NoObject,
    /// Readers differ in which of two equal keys counts.
    #[error("the key `{key}` at byte {offset} occurs twice in one object")]
    DuplicateKey { key: String, offset: usize },
    #[error("the body is not a request of a known interface: it has none of messages, input and contents")]
    UnknownSurface,
    #[error(transparent)]
    Build(#[from] BlockBuildError),
}

/// A body as blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestBlocks {
    pub prompt: BlockIr,
    /// For each block, in order.
    pub places: Vec<BlockPlace>,
    pub wire: WirePrompt,
}

/// The place of a block in the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockPlace {
    /// The bytes of its value. Of a text in several parts, from the first part to the last.
    pub range: Range<usize>,
    /// Whether the content is a text as it was sent, rather than the canonical JSON of something else.
    pub plain: bool,
    /// The positions of the wire that the block is made of.
    pub positions: Vec<usize>,
}

/// The interface a body is written for.
pub fn detect_surface(body: &str) -> Result<Surface, RequestFault> {
    detected(&read_tape(body)?)
}

/// The positions of a body in wire order. The surface is found out when it is not given.
pub fn read_wire(body: &str, surface: Option<Surface>) -> Result<WirePrompt, RequestFault> {
    let tape = read_tape(body)?;
    wire(&tape, surface)
}

/// The blocks of a body.
pub fn request_to_block(
    body: &str,
    surface: Option<Surface>,
    tokenizer: Option<Tokenizer<'_>>,
    ids: &dyn Ids,
    clock: &dyn Clock,
) -> Result<RequestBlocks, RequestFault> {
    let tape = read_tape(body)?;
    let wire = wire(&tape, surface)?;
    let (prompt, places) = sections::build_prompt(body, &tape, &wire, tokenizer, ids, clock)?;
    Ok(RequestBlocks { prompt, places, wire })
}

fn read_tape(body: &str) -> Result<Tape<'_>, RequestFault> {
    let tape = read_object(body)?;
    if let Some(key) = tape.duplicate_key() {
        let name = tape.string(key).unwrap_or_default();
        let key_text = name.chars().take(LONGEST_KEY_SHOWN).filter(|letter| !letter.is_control()).collect();
        return Err(RequestFault::DuplicateKey { key: key_text, offset: tape.range(key).start });
    }
    Ok(tape)
}

/// A text that is one JSON object, whatever its keys.
fn read_object(text: &str) -> Result<Tape<'_>, RequestFault> {
    let tape = Tape::read(text)?;
    if tape.kind(ROOT) == Kind::Object { Ok(tape) } else { Err(RequestFault::NoObject) }
}

fn detected(tape: &Tape<'_>) -> Result<Surface, RequestFault> {
    detect::detect(tape).ok_or(RequestFault::UnknownSurface)
}

fn wire(tape: &Tape<'_>, surface: Option<Surface>) -> Result<WirePrompt, RequestFault> {
    let surface = match surface {
        Some(surface) => surface,
        None => detected(tape)?,
    };
    let into = Positions::new(tape, surface);
    Ok(match surface {
        Surface::OpenAiChat => openai_chat::positions(into),
        Surface::OpenAiResponses => openai_responses::positions(into),
        Surface::AnthropicMessages => anthropic_messages::positions(into),
        Surface::GeminiGenerateContent => gemini_generate_content::positions(into),
    })
}
