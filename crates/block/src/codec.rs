//! Between blocks and their JSON.
//!
//! Reading reports all faults at once, each with a JSON pointer. Unknown words are refused, because a
//! label that is not understood could be one that closes content off.
//!
//! Invariant: `from_value(to_value(ir)) == ir`.

use std::collections::HashSet;
use std::fmt;

use stave_canon::{Object, Pointer, Timestamp, Value};
use thiserror::Error;
use uuid::Uuid;

use crate::{
    BlockContentType, PromptBlock, PromptIr, PromptRole, ProvenanceLabel, SensitivityLabel, SpanId,
    TokenizationMetadata, ToolSchemaHash,
};

/// One thing wrong with a JSON value that should be blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub pointer: Pointer,
    pub message: String,
}

/// A JSON value that is no block IR, with everything that is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct InvalidBlocks {
    pub faults: Vec<Fault>,
}

/// The wire form. What is `None` is left out.
#[must_use]
pub fn to_value(ir: &PromptIr) -> Value {
    let mut object = Object::new();
    object.insert("ir_id".to_owned(), ir.ir_id.to_string().into());
    object.insert("blocks".to_owned(), Value::Array(ir.blocks.iter().map(block_value).collect()));
    if let Some(hashes) = &ir.tool_schema_hashes {
        let hashes = hashes.iter().map(|hash| {
            let members = [("tool_name", &hash.tool_name), ("schema_hash", &hash.schema_hash)];
            Value::from_iter(members.map(|(key, text)| (key, text.as_str())))
        });
        object.insert("tool_schema_hashes".to_owned(), Value::Array(hashes.collect()));
    }
    let optional = [
        ("structured_output_schema_id", &ir.structured_output_schema_id),
        ("source_request_hash", &ir.source_request_hash),
    ];
    for (key, text) in optional {
        if let Some(text) = text {
            object.insert(key.to_owned(), text.as_str().into());
        }
    }
    object.insert("created_at".to_owned(), time_text(ir.created_at).into());
    Value::Object(object)
}

/// Reads the wire form. Keys that are not known are ignored, as later versions may add some.
pub fn from_value(value: &Value) -> Result<PromptIr, InvalidBlocks> {
    let mut reader = Reader::default();
    let ir = reader.prompt(value);
    match ir {
        Some(ir) if reader.faults.is_empty() => Ok(ir),
        _ => Err(InvalidBlocks { faults: reader.faults }),
    }
}

fn block_value(block: &PromptBlock) -> Value {
    let mut object = Object::new();
    object.insert("span_id".to_owned(), block.span_id.as_str().into());
    object.insert("sequence_index".to_owned(), block.sequence_index.into());
    object.insert("role".to_owned(), block.role.word().into());
    object.insert("content".to_owned(), block.content.as_str().into());
    object.insert("content_type".to_owned(), block.content_type.word().into());
    object.insert("provenance".to_owned(), block.provenance.word().into());
    object.insert("sensitivity".to_owned(), block.sensitivity.word().into());
    if let Some(tokens) = &block.token_metadata {
        let members = [
            ("model_family", Value::from(tokens.model_family.as_str())),
            ("token_count", tokens.token_count.into()),
        ];
        object.insert("token_metadata".to_owned(), Value::from_iter(members));
    }
    Value::Object(object)
}

/// RFC 3339 in UTC, the fraction in whole groups of three digits.
fn time_text(time: Timestamp) -> String {
    match time.subsec_nanosecond() {
        0 => format!("{time:.0}"),
        nanosecond if nanosecond % 1_000_000 == 0 => format!("{time:.3}"),
        nanosecond if nanosecond % 1_000 == 0 => format!("{time:.6}"),
        _ => format!("{time:.9}"),
    }
}

#[derive(Default)]
struct Reader {
    faults: Vec<Fault>,
    /// The span ids met so far.
    span_ids: HashSet<String>,
}

impl Reader {
    fn prompt(&mut self, value: &Value) -> Option<PromptIr> {
        let root = Pointer::root();
        let object = self.object(&root, value)?;
        let ir_id = self.parsed(&root, object, "ir_id", "a UUID", |text| Uuid::parse_str(text).ok());
        let blocks = self.items(&root, object, "blocks", Reader::block);
        if object.get("blocks").is_none_or(Value::is_null) {
            self.missing(&root, "blocks");
        }
        let tool_schema_hashes = self.items(&root, object, "tool_schema_hashes", Reader::tool_schema_hash);
        let structured_output_schema_id = self.optional_text(&root, object, "structured_output_schema_id");
        let source_request_hash = self.optional_text(&root, object, "source_request_hash");
        let created_at =
            self.parsed(&root, object, "created_at", "an RFC 3339 time", |text| text.parse().ok());
        Some(PromptIr {
            ir_id: ir_id?,
            blocks: blocks?,
            tool_schema_hashes,
            structured_output_schema_id,
            source_request_hash,
            created_at: created_at?,
        })
    }

    fn block(&mut self, at: &Pointer, index: usize, value: &Value) -> Option<PromptBlock> {
        let object = self.object(at, value)?;
        let span_id = self.text(at, object, "span_id");
        if let Some(taken) = span_id.as_ref().filter(|span_id| !self.span_ids.insert((*span_id).clone())) {
            self.fault(at.key("span_id"), format!("the span id `{taken}` is taken"));
        }
        let sequence_index = self.count(at, object, "sequence_index");
        if sequence_index.is_some_and(|found| found as usize != index) {
            self.fault(at.key("sequence_index"), format!("block {index} must carry its own index"));
        }
        let role = self.parsed(at, object, "role", "a role", PromptRole::from_word);
        let content = self.text(at, object, "content");
        let content_type =
            self.parsed(at, object, "content_type", "a content type", BlockContentType::from_word);
        let provenance = self.parsed(at, object, "provenance", "a provenance", ProvenanceLabel::from_word);
        let sensitivity = if object.contains_key("sensitivity") {
            self.parsed(at, object, "sensitivity", "a sensitivity", SensitivityLabel::from_word)
        } else {
            Some(SensitivityLabel::default())
        };
        let token_metadata = match object.get("token_metadata") {
            None | Some(Value::Null) => None,
            Some(tokens) => self.token_metadata(&at.key("token_metadata"), tokens),
        };
        Some(PromptBlock {
            span_id: SpanId(span_id?),
            sequence_index: sequence_index?,
            role: role?,
            content: content?,
            content_type: content_type?,
            provenance: provenance?,
            sensitivity: sensitivity?,
            token_metadata,
        })
    }

    fn token_metadata(&mut self, at: &Pointer, value: &Value) -> Option<TokenizationMetadata> {
        let object = self.object(at, value)?;
        let model_family = self.text(at, object, "model_family");
        let token_count = self.count(at, object, "token_count");
        Some(TokenizationMetadata { model_family: model_family?, token_count: token_count? })
    }

    fn tool_schema_hash(&mut self, at: &Pointer, _index: usize, value: &Value) -> Option<ToolSchemaHash> {
        let object = self.object(at, value)?;
        let tool_name = self.text(at, object, "tool_name");
        let schema_hash = self.text(at, object, "schema_hash");
        Some(ToolSchemaHash { tool_name: tool_name?, schema_hash: schema_hash? })
    }

    fn fault(&mut self, pointer: Pointer, message: String) {
        self.faults.push(Fault { pointer, message });
    }

    fn missing(&mut self, at: &Pointer, key: &str) {
        self.fault(at.clone(), format!("the field `{key}` is missing"));
    }

    fn wrong_type(&mut self, at: Pointer, expected: &str, found: &Value) {
        self.fault(at, format!("expected {expected}, found {}", found.kind()));
    }

    fn object<'v>(&mut self, at: &Pointer, value: &'v Value) -> Option<&'v Object> {
        if value.as_object().is_none() {
            self.wrong_type(at.clone(), "object", value);
        }
        value.as_object()
    }

    fn text(&mut self, at: &Pointer, object: &Object, key: &str) -> Option<String> {
        match object.get(key) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(other) => {
                self.wrong_type(at.key(key), "string", other);
                None
            }
            None => {
                self.missing(at, key);
                None
            }
        }
    }

    fn optional_text(&mut self, at: &Pointer, object: &Object, key: &str) -> Option<String> {
        match object.get(key) {
            None | Some(Value::Null) => None,
            Some(_) => self.text(at, object, key),
        }
    }

    fn parsed<T>(
        &mut self,
        at: &Pointer,
        object: &Object,
        key: &str,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text(at, object, key)?;
        let parsed = parse(&text);
        if parsed.is_none() {
            self.fault(at.key(key), format!("{text:?} is not {expected}"));
        }
        parsed
    }

    fn count(&mut self, at: &Pointer, object: &Object, key: &str) -> Option<u32> {
        let Some(value) = object.get(key) else {
            self.missing(at, key);
            return None;
        };
        let count = value.as_i64().and_then(|count| u32::try_from(count).ok());
        if count.is_none() {
            self.fault(at.key(key), format!("{value} is not a count"));
        }
        count
    }

    /// The items of an array that may be absent. An item that cannot be read leaves a fault.
    fn items<T>(
        &mut self,
        at: &Pointer,
        object: &Object,
        key: &str,
        read: impl Fn(&mut Reader, &Pointer, usize, &Value) -> Option<T>,
    ) -> Option<Vec<T>> {
        let value = object.get(key).filter(|value| !value.is_null())?;
        let Some(items) = value.as_array() else {
            self.wrong_type(at.key(key), "array", value);
            return None;
        };
        let read_item = |(index, item)| read(self, &at.key(key).index(index), index, item);
        Some(items.iter().enumerate().filter_map(read_item).collect())
    }
}

impl fmt::Display for InvalidBlocks {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("not a block IR: ")?;
        for (index, fault) in self.faults.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            let place = if fault.pointer.as_str().is_empty() { "" } else { ": " };
            write!(out, "{separator}{}{place}{}", fault.pointer, fault.message)?;
        }
        Ok(())
    }
}
