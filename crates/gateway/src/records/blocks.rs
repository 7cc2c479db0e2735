//! The blocks of a request as a record keeps them: what each one is, and never what it says.
//!
//! A span id is a hash of the content, so it shows whether two contents are equal and nothing else about them.
//!
//! Invariant: what was encoded decodes to the same blocks. A record that holds something else has no blocks.

use stave_block::{BlockContentType, PromptRole, Provenance, Sensitivity, SpanDigest, SpanId, SpanIds};

/// The most blocks that a record keeps. It counts those beyond.
const MOST: usize = 4096;
/// The form of the bytes, as their first one.
const FORM: u8 = 1;

/// Codes of words, by their place. New words go to the end.
const ROLES: [PromptRole; 4] =
    [PromptRole::System, PromptRole::User, PromptRole::Assistant, PromptRole::Tool];
const TYPES: [BlockContentType; 8] = [
    BlockContentType::Text,
    BlockContentType::ToolSchema,
    BlockContentType::ToolResult,
    BlockContentType::StructuredOutput,
    BlockContentType::Image,
    BlockContentType::Document,
    BlockContentType::Audio,
    BlockContentType::Thinking,
];
const PROVENANCES: [Provenance; 6] = [
    Provenance::System,
    Provenance::Developer,
    Provenance::User,
    Provenance::Tool,
    Provenance::Retrieval,
    Provenance::Memory,
];
const LABELS: [Sensitivity; 3] = [Sensitivity::Public, Sensitivity::Private, Sensitivity::Restricted];

/// A block without its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedBlock {
    pub span: SpanDigest,
    pub role: PromptRole,
    pub content_type: BlockContentType,
    pub provenance: Provenance,
    /// The label by origin, or the stricter one of something that the gate acted on.
    pub sensitivity: Sensitivity,
    /// How many bytes the model is shown of it, about; media count as text of as many tokens.
    pub length: u32,
    /// The SHA-256 of a tool's definition or of an output schema.
    pub schema: Option<[u8; 32]>,
}

/// The blocks of one request, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedBlocks {
    pub blocks: Vec<RecordedBlock>,
    /// How many more there were.
    pub left_out: u32,
}

impl RecordedBlocks {
    /// As many of the blocks as a record keeps.
    #[must_use]
    pub fn of(blocks: impl ExactSizeIterator<Item = RecordedBlock>) -> RecordedBlocks {
        let left_out = u32::try_from(blocks.len().saturating_sub(MOST)).unwrap_or(u32::MAX);
        RecordedBlocks { blocks: blocks.take(MOST).collect(), left_out }
    }

    /// The span id of each block.
    #[must_use]
    pub fn span_ids(&self) -> Vec<SpanId> {
        let mut ids = SpanIds::new();
        self.blocks.iter().map(|block| ids.next_of(block.role, block.span)).collect()
    }

    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(5 + self.blocks.len() * 14);
        bytes.push(FORM);
        bytes.extend(self.left_out.to_be_bytes());
        for block in &self.blocks {
            let role = code(&ROLES, &block.role) | code(&TYPES, &block.content_type) << 2;
            let label = code(&PROVENANCES, &block.provenance) | code(&LABELS, &block.sensitivity) << 3;
            bytes.extend(block.span.0.to_be_bytes());
            bytes.extend([role, label | u8::from(block.schema.is_some()) << 7]);
            bytes.extend(block.length.to_be_bytes());
            bytes.extend(block.schema.iter().flatten());
        }
        bytes
    }

    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<RecordedBlocks> {
        let mut rest = bytes;
        let [form] = take(&mut rest)?;
        if form != FORM {
            return None;
        }
        let left_out = u32::from_be_bytes(take(&mut rest)?);
        let mut blocks = Vec::new();
        while !rest.is_empty() {
            let span = SpanDigest(u64::from_be_bytes(take(&mut rest)?));
            let [role, label] = take(&mut rest)?;
            let length = u32::from_be_bytes(take(&mut rest)?);
            blocks.push(RecordedBlock {
                span,
                role: *ROLES.get(usize::from(role & 0b11))?,
                content_type: *TYPES.get(usize::from(role >> 2))?,
                provenance: *PROVENANCES.get(usize::from(label & 0b111))?,
                sensitivity: *LABELS.get(usize::from(label >> 3 & 0b1111))?,
                length,
                schema: if label >> 7 == 1 { Some(take(&mut rest)?) } else { None },
            });
        }
        Some(RecordedBlocks { blocks, left_out })
    }
}

fn code<T: PartialEq>(words: &[T], word: &T) -> u8 {
    let place = words.iter().position(|known| known == word);
    place.and_then(|place| u8::try_from(place).ok()).unwrap_or_default()
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(number: u64) -> RecordedBlock {
        let place = |length: usize| usize::try_from(number).unwrap_or_default() % length;
        RecordedBlock {
            span: SpanDigest(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            role: ROLES[place(4)],
            content_type: TYPES[place(8)],
            provenance: PROVENANCES[place(6)],
            sensitivity: LABELS[place(3)],
            length: 7,
            schema: number.is_multiple_of(2).then_some([3; 32]),
        }
    }

    #[test]
    fn blocks_decode_as_they_were_encoded() {
        let blocks = RecordedBlocks::of((0..70).map(block).collect::<Vec<_>>().into_iter());
        assert_eq!(RecordedBlocks::decode(&blocks.encode()), Some(blocks.clone()));
        for bytes in [&[][..], &[2, 0, 0, 0, 0], &[1, 0, 0], &blocks.encode()[..30]] {
            assert_eq!(RecordedBlocks::decode(bytes), None);
        }
    }

    #[test]
    fn the_codes_of_words_stay() {
        let one = RecordedBlock { schema: None, content_type: BlockContentType::Text, ..block(5) };
        let bytes = RecordedBlocks { blocks: vec![one], left_out: 9 }.encode();
        assert_eq!(bytes[..5], [1, 0, 0, 0, 9]);
        assert_eq!(bytes[13..], [0b1, 0b10101, 0, 0, 0, 7]);
        for (all, codes) in [(PromptRole::ALL.len(), 4), (BlockContentType::ALL.len(), 8)] {
            assert_eq!(all, codes);
        }
        let codes: Vec<u8> = BlockContentType::ALL.iter().map(|word| code(&TYPES, word)).collect();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!((Provenance::ALL.len(), Sensitivity::ALL.len()), (6, 3));
    }

    #[test]
    fn more_blocks_than_a_record_keeps_are_counted() {
        let many: Vec<RecordedBlock> = vec![block(1); MOST + 3];
        let kept = RecordedBlocks::of(many.into_iter());
        assert_eq!((kept.blocks.len(), kept.left_out), (MOST, 3));
        let ids = kept.span_ids();
        assert_eq!(ids[1].as_str(), format!("{}-2", ids[0]));
    }
}
