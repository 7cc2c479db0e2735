//! Counting tokens before they are spent.
//!
//! OpenAI's models are counted with their own vocabularies. For every other model the count is an estimate: the
//! `o200k_base` count plus a quarter. The result says which of the two it is.

mod audio;
mod characters;
mod media;
mod merge;
mod pieces;
mod vocabulary;

use std::sync::LazyLock;

pub use media::media_tokens;
use merge::Merger;
use pieces::{Pieces, Rules};
use vocabulary::Vocabulary;

use crate::{MediaSource, Message, Part, PartKind, Request, Tool};

/// A number of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenCount {
    pub tokens: u64,
    /// Whether the number is the model's own rather than an estimate.
    pub exact: bool,
}

/// A vocabulary of OpenAI's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    O200kBase,
    Cl100kBase,
}

static O200K_BASE: LazyLock<Vocabulary> =
    LazyLock::new(|| Vocabulary::read(199_998, include_bytes!("../data/o200k_base.tokens")));
static CL100K_BASE: LazyLock<Vocabulary> =
    LazyLock::new(|| Vocabulary::read(100_256, include_bytes!("../data/cl100k_base.tokens")));

impl Encoding {
    /// How many tokens `text` is.
    fn count(self, text: &str) -> u64 {
        let (rules, vocabulary) = match self {
            Self::O200kBase => (Rules::O200k, &*O200K_BASE),
            Self::Cl100kBase => (Rules::Cl100k, &*CL100K_BASE),
        };
        let mut merger = Merger::new(vocabulary);
        Pieces::new(rules, text).map(|piece| merger.count(piece.as_bytes()) as u64).sum()
    }
}

/// Tokens that frame each message, as OpenAI counts them.
const PER_MESSAGE: u64 = 3;
/// Tokens that begin the reply.
const REPLY: u64 = 3;
/// Tokens that a name adds to itself.
const PER_NAME: u64 = 1;
/// Tokens that frame a tool, a call or a result. Providers do not publish how they write these.
const PER_TOOL: u64 = 8;

/// The vocabulary of a model; `None` for models that are not OpenAI's.
#[must_use]
pub fn encoding_of(model: &str) -> Option<Encoding> {
    let name = model.strip_prefix("ft:").unwrap_or(model);
    let name = name.rsplit('/').next().unwrap_or(name);
    let any = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let o_series =
        name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()));
    if o_series || any(&["gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "gpt-oss", "chatgpt-4o", "codex-mini"]) {
        Some(Encoding::O200kBase)
    } else if any(&["gpt-4", "gpt-3.5", "gpt-35", "text-embedding-3-", "text-embedding-ada-002"]) {
        Some(Encoding::Cl100kBase)
    } else {
        None
    }
}

/// The most tokens that a model writes, by its family. An unknown model is taken for a large one.
#[must_use]
pub fn longest_output(model: &str) -> u64 {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let known = [
        ("gpt-4o", 16_384),
        ("gpt-4.1", 32_768),
        ("gpt-4", 8_192),
        ("gpt-3.5", 4_096),
        ("claude-3-5", 8_192),
        ("claude-3-7", 128_000),
        ("claude-3", 4_096),
        ("claude-opus-4-1", 32_000),
        ("claude-haiku-4", 64_000),
        ("claude-sonnet-4", 64_000),
    ];
    known.iter().find(|(prefix, _)| name.starts_with(prefix)).map_or(128_000, |(_, tokens)| *tokens)
}

/// The family of a model, as token counts are labelled with it.
#[must_use]
pub fn family_of(model: &str) -> &'static str {
    let model = model.rsplit('/').next().unwrap_or(model);
    let families = [
        ("claude", "claude"),
        ("gpt", "gpt"),
        ("chatgpt", "gpt"),
        ("o1", "gpt"),
        ("o3", "gpt"),
        ("o4", "gpt"),
        ("gemini", "gemini"),
        ("llama", "llama"),
        ("mistral", "mistral"),
        ("qwen", "qwen"),
    ];
    families.iter().find(|(prefix, _)| model.starts_with(prefix)).map_or("other", |(_, family)| family)
}

/// How many tokens `text` is for `model`.
#[must_use]
pub fn count_text(model: &str, text: &str) -> TokenCount {
    let encoding = encoding_of(model);
    let tokens = Counter { model, encoding }.text(text);
    TokenCount { tokens: estimate(encoding, tokens), exact: encoding.is_some() }
}

/// How many tokens a part of a request is for `model`: a text, or JSON whose images, documents and sounds are counted by
/// the providers' rules and not as text.
#[must_use]
pub fn count_content(model: &str, content: &str) -> TokenCount {
    let parsed = content.starts_with(['{', '[']).then(|| stave_canon::parse(content).ok()).flatten();
    let Some((tokens, rest)) =
        parsed.map(|value| media::split(model, &value)).filter(|(media, _)| *media > 0)
    else {
        return count_text(model, content);
    };
    TokenCount { tokens: tokens + count_text(model, &rest.to_string()).tokens, exact: false }
}

/// How many tokens a text of so many bytes is for `model` at most: a token has at least one byte.
#[must_use]
pub fn most_of(model: &str) -> fn(usize) -> u64 {
    match encoding_of(model) {
        Some(_) => |bytes| bytes as u64,
        None => |bytes| estimate(None, bytes as u64),
    }
}

/// How many input tokens `request` is: its messages with what frames them, its tools and its schema. Exact for
/// messages of text to an OpenAI model; tools, schemas, images and documents make it an estimate.
#[must_use]
pub fn count_request(request: &Request) -> TokenCount {
    let encoding = encoding_of(&request.model);
    let counter = Counter { model: &request.model, encoding };
    let mut tokens = REPLY + request.messages.iter().map(|message| counter.message(message)).sum::<u64>();
    tokens += request.tools.iter().map(|tool| counter.tool(tool)).sum::<u64>();
    if let Some(schema) = &request.response_schema {
        tokens += PER_TOOL + counter.text(&schema.schema.to_string());
    }
    let only_text = request
        .messages
        .iter()
        .flat_map(|message| &message.content)
        .all(|part| matches!(part.kind, PartKind::Text(_)));
    let exact =
        encoding.is_some() && only_text && request.tools.is_empty() && request.response_schema.is_none();
    let parts = request.messages.iter().flat_map(|message| &message.content);
    let media: u64 = parts.map(|part| counter.media(part)).sum();
    TokenCount { tokens: estimate(encoding, tokens) + media, exact }
}

/// Other vocabularies are mostly smaller or cut finer, so a count for one of them is rounded up by a quarter.
fn estimate(encoding: Option<Encoding>, tokens: u64) -> u64 {
    if encoding.is_some() { tokens } else { tokens + tokens.div_ceil(4) }
}

struct Counter<'m> {
    model: &'m str,
    encoding: Option<Encoding>,
}

impl Counter<'_> {
    fn text(&self, text: &str) -> u64 {
        if text.is_empty() {
            return 0;
        }
        self.encoding.unwrap_or(Encoding::O200kBase).count(text)
    }

    fn message(&self, message: &Message) -> u64 {
        let name = message.name.as_deref().map_or(0, |name| PER_NAME + self.text(name));
        let content: u64 = message.content.iter().map(|part| self.part(part)).sum();
        PER_MESSAGE + self.text(message.role.as_str()) + name + content
    }

    fn part(&self, part: &Part) -> u64 {
        match &part.kind {
            PartKind::Text(text) => self.text(text),
            PartKind::Image(_) => 0,
            PartKind::Document(media) => match &media.source {
                MediaSource::Text(text) => self.text(text),
                MediaSource::Base64 { .. } | MediaSource::Url(_) | MediaSource::File(_) => 0,
            },
            PartKind::ToolUse(call) => PER_TOOL + self.text(&call.name) + self.text(&call.arguments),
            PartKind::ToolResult(result) => {
                PER_TOOL + result.content.iter().map(|part| self.part(part)).sum::<u64>()
            }
            PartKind::Thinking(thinking) => self.text(&thinking.text),
            PartKind::Other(value) => self.text(&media::split(self.model, value).1.to_string()),
        }
    }

    /// The images, documents and sounds of a part, which are not text and not estimated like it.
    fn media(&self, part: &Part) -> u64 {
        match &part.kind {
            PartKind::Image(media) => match &media.source {
                MediaSource::Base64 { data, .. } => media::image(self.model, data, false),
                MediaSource::Url(_) | MediaSource::File(_) | MediaSource::Text(_) => media::PER_IMAGE,
            },
            PartKind::Document(media) => match &media.source {
                MediaSource::Text(_) => 0,
                MediaSource::Base64 { data, .. } => media::document(self.model, data),
                MediaSource::Url(_) | MediaSource::File(_) => media::PER_REMOTE_DOCUMENT,
            },
            PartKind::ToolResult(result) => result.content.iter().map(|part| self.media(part)).sum(),
            PartKind::Other(value) => media::split(self.model, value).0,
            PartKind::Text(_) | PartKind::ToolUse(_) | PartKind::Thinking(_) => 0,
        }
    }

    fn tool(&self, tool: &Tool) -> u64 {
        let (name, description, schema) = match tool {
            Tool::Provider(value) => return PER_TOOL + self.text(&value.to_string()),
            Tool::Function(function) => (&function.name, &function.description, &function.parameters),
        };
        let description = description.as_deref().map_or(0, |description| self.text(description));
        PER_TOOL + self.text(name) + description + self.text(&schema.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_have_their_vocabulary() {
        for (model, encoding) in [
            ("gpt-4o-mini", Some(Encoding::O200kBase)),
            ("openai/gpt-5-nano", Some(Encoding::O200kBase)),
            ("ft:gpt-4o-mini:acme::1", Some(Encoding::O200kBase)),
            ("o3", Some(Encoding::O200kBase)),
            ("gpt-4-turbo", Some(Encoding::Cl100kBase)),
            ("gpt-35-turbo", Some(Encoding::Cl100kBase)),
            ("claude-opus-5", None),
            ("olmo", None),
            ("", None),
        ] {
            assert_eq!(encoding_of(model), encoding, "{model}");
        }
    }

    #[test]
    fn models_have_a_family() {
        for (model, family) in
            [("openai/gpt-5", "gpt"), ("o3", "gpt"), ("claude-opus-5", "claude"), ("phi", "other")]
        {
            assert_eq!(family_of(model), family, "{model}");
        }
    }

    #[test]
    fn known_texts_have_their_known_counts() {
        // Published examples of the two vocabularies.
        for (model, text, tokens) in [
            ("gpt-4", "hello world", 2),
            ("gpt-4", "antidisestablishmentarianism", 6),
            ("gpt-4", "お誕生日おめでとう", 9),
            ("gpt-4o", "お誕生日おめでとう", 8),
            ("gpt-4o", "2 + 2 = 4", 7),
            ("gpt-4o", "", 0),
        ] {
            assert_eq!(count_text(model, text), TokenCount { tokens, exact: true }, "{model} {text}");
        }
    }

    #[test]
    fn sounds_and_screenshots_count_by_their_rules_in_a_request() {
        let data = "QUJD".repeat(100_000);
        let part = format!(r#"{{"type":"input_audio","input_audio":{{"data":"{data}","format":"pcm16"}}}}"#);
        let part = Part::new(PartKind::Other(stave_canon::parse(&part).unwrap()));
        let mut message = Message::user("hi");
        message.content.push(part);
        assert!(count_request(&Request::new("gpt-4o-audio-preview", vec![message])).tokens < 120);
    }

    #[test]
    fn a_request_counts_what_frames_its_messages() {
        // 3 + (3 + 1 + 2) for each of two messages of one role token and two text tokens.
        let mut request =
            Request::new("gpt-4o", vec![Message::system("hello world"), Message::user("hello world")]);
        assert_eq!(count_request(&request), TokenCount { tokens: 15, exact: true });
        request.model = "claude-opus-5".to_owned();
        assert_eq!(count_request(&request), TokenCount { tokens: 19, exact: false });
        request.model = "gpt-4o".to_owned();
        request.tools.push(Tool::function("f", None, true.into()));
        assert!(!count_request(&request).exact);
    }
}
