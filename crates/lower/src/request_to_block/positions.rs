//! Collects the positions of a request in wire order, hashing as it goes.

use sha2::{Digest, Sha256};
use stave_block::{
    Mark, Position, PositionKind, PrefixHash, PromptRole, Provenance, RequestTraits, Surface, Ttl, WirePrompt,
};

use super::tape::{Kind, Member, ROOT, Tape};

/// The largest image of a form without a rule, in bytes of text: some 1600 tokens.
const IMAGE_LENGTH: usize = 6400;

/// What the model is shown of a value.
#[derive(Debug, Clone, Copy, Default)]
struct Shown {
    /// Bytes of text.
    length: usize,
    /// Tokens of images, documents and sounds.
    media: u64,
}

/// Who speaks at a position, and in which message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Speaker {
    pub(super) role: PromptRole,
    pub(super) provenance: Provenance,
    pub(super) message: Option<u32>,
}

impl Speaker {
    /// The speaker before all messages.
    pub(super) const SYSTEM: Speaker =
        Speaker { role: PromptRole::System, provenance: Provenance::System, message: None };

    pub(super) fn new(role: PromptRole, provenance: Provenance, message: u32) -> Self {
        Speaker { role, provenance, message: Some(message) }
    }
}

#[derive(Debug)]
pub(super) struct Positions<'t, 'b> {
    pub(super) tape: &'t Tape<'b>,
    surface: Surface,
    model: String,
    hash: Sha256,
    positions: Vec<Position>,
    surplus_marks: Vec<Mark>,
}

impl<'t, 'b> Positions<'t, 'b> {
    pub(super) fn new(tape: &'t Tape<'b>, surface: Surface) -> Self {
        let model = tape.get(ROOT, "model").and_then(|model| tape.string(model)).unwrap_or_default();
        let mut hash = Sha256::new();
        // Caches are never shared between interfaces or models.
        hash.update(surface.word());
        hash.update([0]);
        hash.update(model.as_bytes());
        Positions {
            tape,
            surface,
            model: model.into_owned(),
            hash,
            positions: Vec::with_capacity(64),
            surplus_marks: Vec::new(),
        }
    }

    /// A value of the body that changes what follows without being a position itself.
    pub(super) fn setting(&mut self, key: &str) {
        if let Some(value) = self.tape.get(ROOT, key) {
            self.hash.update([b's']);
            self.hash.update(key);
            self.hash_tree(value, None, false);
        }
    }

    /// A text: a bare string, or an object whose text is `text` and which has nothing else to show.
    pub(super) fn text(&mut self, speaker: Speaker, node: usize, text: usize) {
        let inner = self.tape.inner(text).unwrap_or_default();
        let bare = self.tape.kind(node) == Kind::String;
        let simple = bare
            || self.tape.members(node).all(|member| {
                member.value == text
                    || ["type", "cache_control"].iter().any(|key| self.tape.is_key(member.key, key))
            });
        self.begin(speaker, PositionKind::Text);
        if simple {
            self.hash.update((inner.len() as u64).to_le_bytes());
            self.hash.update(inner);
        } else {
            self.hash_tree(node, Some(node), false);
        }
        let blank = is_blank(inner);
        let shown = Shown { length: shown_length(inner), media: 0 };
        self.finish(speaker, PositionKind::Text, node, shown, !blank, bare);
    }

    /// Any other value.
    pub(super) fn value(&mut self, speaker: Speaker, kind: PositionKind, node: usize, markable: bool) {
        self.begin(speaker, kind);
        // Tool descriptions and arguments are text, whatever their members are called.
        let has_media =
            !matches!(kind, PositionKind::Tool | PositionKind::OutputSchema | PositionKind::ToolUse);
        let mut shown = self.hash_tree(node, Some(node), has_media);
        let bare = self.tape.kind(node) != Kind::Object;
        if kind == PositionKind::Image {
            shown.length = shown.length.min(IMAGE_LENGTH);
        }
        self.finish(speaker, kind, node, shown, markable && !bare, bare);
    }

    pub(super) fn finished(self, mut shape: RequestTraits) -> WirePrompt {
        let tape = self.tape;
        shape.tools = self.positions.iter().any(|position| position.kind == PositionKind::Tool);
        let mut messages = self.positions.iter().filter(|position| position.message.is_some());
        shape.turns = messages.clone().any(|position| position.role == PromptRole::Assistant);
        shape.in_loop =
            messages.next_back().is_some_and(|position| position.kind == PositionKind::ToolResult);
        let automatic_mark = match self.surface {
            Surface::AnthropicMessages => mark_of(tape, ROOT, false),
            _ => None,
        };
        // A member that is no text, or that has its name in another case, leaves no room for one either.
        let is_cache_key =
            |key: usize| tape.string(key).is_some_and(|name| name.eq_ignore_ascii_case("prompt_cache_key"));
        let cache_key = tape.members(ROOT).find(|member| is_cache_key(member.key)).map(|member| {
            tape.string(member.value).unwrap_or_else(|| std::borrow::Cow::Borrowed(tape.raw(member.value)))
        });
        WirePrompt {
            surface: self.surface,
            model: self.model,
            positions: self.positions,
            shape,
            automatic_mark,
            surplus_marks: self.surplus_marks,
            cache_key: cache_key.map(std::borrow::Cow::into_owned),
            body_start: tape.range(ROOT).start + 1,
            body_is_empty: tape.members(ROOT).next().is_none(),
        }
    }

    fn begin(&mut self, speaker: Speaker, kind: PositionKind) {
        let message = speaker.message.map_or(u32::MAX, |message| message);
        self.hash.update([b'p', speaker.role as u8, kind as u8]);
        self.hash.update(message.to_le_bytes());
    }

    fn finish(
        &mut self,
        speaker: Speaker,
        kind: PositionKind,
        node: usize,
        shown: Shown,
        markable: bool,
        bare: bool,
    ) {
        let is_marked_cache = self.surface == Surface::AnthropicMessages;
        let mark = if is_marked_cache { self.mark(node) } else { None };
        self.positions.push(Position {
            kind,
            role: speaker.role,
            provenance: speaker.provenance,
            message: speaker.message,
            range: self.tape.range(node),
            length: u32::try_from(shown.length).unwrap_or(u32::MAX),
            media_tokens: u32::try_from(shown.media).unwrap_or(u32::MAX),
            prefix: digest(self.hash.clone()),
            // A member of that name that is no mark, such as null, leaves no room for one.
            markable: markable
                && is_marked_cache
                && (mark.is_some() || self.tape.get(node, "cache_control").is_none()),
            mark,
            bare,
        });
    }

    /// The mark on a position or, failing that, the last one on a part inside its content.
    fn mark(&mut self, node: usize) -> Option<Mark> {
        if self.tape.kind(node) != Kind::Object {
            return None;
        }
        let content = self.tape.get(node, "content");
        let parts = content.into_iter().flat_map(|content| self.tape.items(content));
        let mut marks: Vec<Mark> = parts.filter_map(|part| mark_of(self.tape, part, true)).collect();
        marks.extend(mark_of(self.tape, node, false));
        let mark = marks.pop();
        self.surplus_marks.append(&mut marks);
        mark
    }

    /// Hashes a value by its tokens and gives what it shows. The marks of the block `marked`, and of the parts in its
    /// content, are passed over. The media in it cost by the provider's rules, not by the text that carries them.
    fn hash_tree(&mut self, node: usize, marked: Option<usize>, has_media: bool) -> Shown {
        let tape = self.tape;
        let content = marked.and_then(|block| tape.get(block, "content"));
        let base = tape.node(node).depth;
        let mut shown = Shown::default();
        let mut media_end = 0;
        let range = tape.subtree(node);
        let mut at = range.start;
        while at < range.end {
            let current = tape.node(at);
            let depth = current.depth - base;
            let in_content = || content.is_some_and(|content| tape.subtree(content).contains(&at));
            if marked.is_some()
                && (depth == 1 || (depth == 3 && in_content()))
                && current.kind == Kind::String
                && tape.is_key(at, "cache_control")
                && tape.raw_after(at).starts_with(':')
            {
                at = tape.subtree(at + 1).end;
                continue;
            }
            if has_media
                && at >= media_end
                && current.kind == Kind::Object
                && let Some(tokens) = self.media_tokens(at)
            {
                shown.media += tokens;
                media_end = tape.subtree(at).end;
            }
            self.hash.update([current.kind as u8]);
            self.hash.update(depth.to_le_bytes());
            let mut length = 2;
            if matches!(current.kind, Kind::String | Kind::Scalar) {
                let raw = tape.raw(at);
                length = raw.len() + 1;
                self.hash.update((raw.len() as u64).to_le_bytes());
                self.hash.update(raw);
            }
            if at >= media_end {
                shown.length += length;
            }
            at += 1;
        }
        shown
    }

    /// The tokens of an object that is an image, a document or a sound.
    fn media_tokens(&self, object: usize) -> Option<u64> {
        let at = |path: &[&str]| {
            let place = path.iter().try_fold(object, |object, key| self.tape.get(object, key))?;
            self.tape.string(place)
        };
        stave_llm::tokens::media_tokens(&self.model, &at)
    }
}

/// How many bytes a text has that is still escaped. A character written as its number counts three, which most
/// of those have that are written so.
fn shown_length(inner: &str) -> usize {
    let bytes = inner.as_bytes();
    let mut length = bytes.len();
    let mut at = 0;
    while let Some(escape) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\')) {
        let is_number = bytes.get(at + escape + 1) == Some(&b'u');
        length = length.saturating_sub(if is_number { 3 } else { 1 });
        at += escape + if is_number { 6 } else { 2 };
    }
    length
}

/// Whether a text, still escaped, has nothing but white space.
fn is_blank(inner: &str) -> bool {
    let mut rest = inner.trim();
    while let Some(next) = ["\\n", "\\r", "\\t"].iter().find_map(|escape| rest.strip_prefix(escape)) {
        rest = next.trim_start();
    }
    rest.is_empty()
}

/// The cache mark of an object.
fn mark_of(tape: &Tape<'_>, object: usize, nested: bool) -> Option<Mark> {
    if tape.kind(object) != Kind::Object {
        return None;
    }
    let mut previous: Option<Member> = None;
    let mut members = tape.members(object).peekable();
    while let Some(member) = members.next() {
        if tape.is_key(member.key, "cache_control") && tape.kind(member.value) == Kind::Object {
            let value = tape.range(member.value);
            let start = tape.range(member.key).start;
            let whole = match (previous, members.peek()) {
                (Some(previous), _) => tape.range(previous.value).end..value.end,
                (None, Some(next)) => start..tape.range(next.key).start,
                (None, None) => start..value.end,
            };
            let ttl = match tape.get_inner(member.value, "ttl") {
                Some("1h") => Ttl::Long,
                _ => Ttl::Short,
            };
            return Some(Mark { ttl, member: whole, value, nested });
        }
        previous = Some(member);
    }
    None
}

/// The first half of the SHA-256, as a number.
fn digest(hash: Sha256) -> PrefixHash {
    let mut first = [0; 16];
    first.copy_from_slice(&hash.finalize()[..16]);
    PrefixHash::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_count_as_what_they_stand_for() {
        for (inner, length) in
            [("", 0), ("abc", 3), (r"a\nb", 3), (r"\\n", 2), (r"\u4e2d\u6587", 6), (r#"\"q\""#, 3), ("é", 2)]
        {
            assert_eq!(shown_length(inner), length, "{inner}");
        }
    }
}
