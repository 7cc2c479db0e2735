//! Between blocks and their JSON.
//!
//! Reading reports all faults at once, each with a JSON pointer. Unknown words are refused, because a label that is not
//! understood could be one that closes content off. Keys that are not known are ignored, as later versions may add some.
//!
//! Invariant: `from_value(to_value(ir)) == ir`.

use std::collections::HashSet;

use stave_canon::Value;
use stave_shape::{FaultKind, Faults, Place, Reader, Shape, ValueNode};
use thiserror::Error;

use crate::{BlockIr, PromptBlock};

/// A JSON value that is no block IR, with everything that is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("not a block IR: {0}")]
pub struct InvalidBlocks(pub Faults);

/// The wire form. What is `None` is left out.
#[must_use]
pub fn to_value(ir: &BlockIr) -> Value {
    ir.write()
}

/// Reads the wire form.
pub fn from_value(value: &Value) -> Result<BlockIr, InvalidBlocks> {
    stave_shape::read(value).map_err(InvalidBlocks)
}

/// The JSON Schema of the wire form.
#[must_use]
pub fn schema() -> Value {
    stave_shape::document::<BlockIr>("urn:stave:block:1.0", "Blocks of a prompt")
}

/// Looks at the index as it is written, whatever else is wrong with the block.
pub(crate) fn carries_its_index<N: ValueNode>(
    _: Option<&PromptBlock>,
    node: N,
    at: &Place<'_>,
    reader: &mut Reader,
) {
    let Some(index) = at.item_number() else { return };
    let written =
        node.member("sequence_index").and_then(ValueNode::number).and_then(|number| number.as_i64());
    let is_count = |written: &i64| u32::try_from(*written).is_ok();
    if written.filter(is_count).is_some_and(|written| usize::try_from(written) != Ok(index)) {
        let kind = FaultKind::rule("sequence-index", format!("block {index} must carry its own index"));
        reader.fault(&at.key("sequence_index"), node.span(), kind);
    }
}

/// Looks at the blocks as they are written: one that has another fault still takes its id.
pub(crate) fn blocks_have_their_own_ids<N: ValueNode>(
    _: Option<&BlockIr>,
    node: N,
    at: &Place<'_>,
    reader: &mut Reader,
) {
    let Some(blocks) = node.member("blocks") else { return };
    let mut taken = HashSet::new();
    let mut index = 0;
    blocks.items(|block| {
        let id = block.member("span_id");
        let text = id.as_ref().and_then(ValueNode::text);
        if let Some(text) = text.filter(|text| !taken.insert((*text).to_owned())) {
            let kind = FaultKind::rule("span-id", format!("the span id `{text}` is taken"));
            reader.fault(&at.key("blocks").index(index).key("span_id"), block.span(), kind);
        }
        index += 1;
    });
}

/// UUIDs as text.
pub(crate) mod id {
    use stave_canon::Value;
    use stave_shape::{Definitions, FaultKind, Place, Reader, Shape, ValueNode};
    use uuid::Uuid;

    pub(crate) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Uuid> {
        let text = String::read(node, at, reader)?;
        let read = Uuid::parse_str(&text).ok();
        if read.is_none() {
            reader.fault(at, node.span(), FaultKind::WrongForm { wanted: "a UUID", found: text });
        }
        read
    }

    pub(crate) fn write(id: &Uuid) -> Value {
        id.to_string().into()
    }

    pub(crate) fn schema(_: &mut Definitions) -> Value {
        Value::from_iter([("type", "string"), ("format", "uuid")])
    }
}

/// Times in RFC 3339.
pub(crate) mod time {
    use stave_canon::{Timestamp, Value};
    use stave_shape::{Definitions, FaultKind, Place, Reader, Shape, ValueNode};

    pub(crate) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Timestamp> {
        let text = String::read(node, at, reader)?;
        let read = text.parse().ok();
        if read.is_none() {
            reader.fault(at, node.span(), FaultKind::WrongForm { wanted: "an RFC 3339 time", found: text });
        }
        read
    }

    /// In UTC, the fraction in whole groups of three digits.
    pub(crate) fn write(time: &Timestamp) -> Value {
        let text = match time.subsec_nanosecond() {
            0 => format!("{time:.0}"),
            nanosecond if nanosecond % 1_000_000 == 0 => format!("{time:.3}"),
            nanosecond if nanosecond % 1_000 == 0 => format!("{time:.6}"),
            _ => format!("{time:.9}"),
        };
        text.into()
    }

    pub(crate) fn schema(_: &mut Definitions) -> Value {
        Value::from_iter([("type", "string"), ("format", "date-time")])
    }
}
