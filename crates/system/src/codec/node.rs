//! The node object with its effects and provenance.

use stave_canon::{Object, Pointer, Value};

use super::contract;
use super::reader::{Members, Null, Reader};
use crate::model::{EffectAnnotation, ProvenanceKind, ProvenancePointer};
use crate::verify::invariants;
use crate::{Node, NodeKind, codes, strip};

pub(super) fn read(reader: &mut Reader, value: &Value, pointer: &Pointer) -> Option<Node> {
    let members = reader.object(value, pointer)?;
    let id = reader.written_text(members, "id");
    let tenant_id = reader.written_text(members, "tenant_id");
    let kind = kind(reader, members, NodeKind::ALL, NodeKind::word).unwrap_or(NodeKind::Other);
    let name = reader.written_text(members, "name");
    let properties = reader.required(members, "properties");
    let properties = properties.and_then(|value| {
        reader.object(value, &pointer.key("properties")).map(|members| members.object.clone())
    });
    let depends_on = reader.optional_strings(members, "depends_on", Null::IsAbsent);
    let effects = reader.optional(members, "effects", Null::IsAbsent, "an object");
    let effects = effects.and_then(|value| effects_of(reader, value, &pointer.key("effects")));
    let provenance = provenance(reader, members);
    let contract = reader.optional(members, "contract", Null::IsAbsent, "an object");
    let contract = contract.and_then(|value| contract::read(reader, value, &pointer.key("contract")));
    let properties = properties.unwrap_or_default();
    let node = Node { id, tenant_id, kind, name, properties, depends_on, effects, provenance, contract };
    reader.note(invariants::node(&node, pointer));
    Some(node)
}

/// The `kind` of a node or of a provenance row: `other` when it is absent.
fn kind<T: Copy>(
    reader: &mut Reader,
    members: Members<'_>,
    all: &[T],
    spell: impl Fn(T) -> &'static str,
) -> Option<T> {
    let pointer = members.pointer.key("kind");
    let word = match members.object.get("kind") {
        None => "other",
        Some(value) => reader.string(value, &pointer)?,
    };
    reader.word(&pointer, word, all, spell)
}

fn effects_of(reader: &mut Reader, value: &Value, pointer: &Pointer) -> Option<EffectAnnotation> {
    let members = reader.object(value, pointer)?;
    let network = match members.object.get("network") {
        None => false,
        Some(Value::Bool(network)) => *network,
        Some(other) => {
            reader.wrong_type(&pointer.key("network"), "a boolean", other);
            false
        }
    };
    let mut strings = |key| reader.optional_strings(members, key, Null::IsFault);
    Some(EffectAnnotation {
        network,
        fs_read: strings("fs_read"),
        fs_write: strings("fs_write"),
        secrets: strings("secrets"),
        tools: strings("tools"),
    })
}

fn provenance(reader: &mut Reader, members: Members<'_>) -> Vec<ProvenancePointer> {
    let Some(value) = reader.optional(members, "provenance", Null::IsAbsent, "an array") else {
        return Vec::new();
    };
    let pointer = members.pointer.key("provenance");
    let items = reader.items(value, &pointer).iter().enumerate();
    items.map(|(index, item)| provenance_row(reader, item, &pointer.index(index))).collect()
}

pub(super) fn provenance_row(reader: &mut Reader, value: &Value, pointer: &Pointer) -> ProvenancePointer {
    let mut row = ProvenancePointer {
        tenant_id: String::new(),
        kind: ProvenanceKind::Other,
        source_id: String::new(),
        locator: None,
        sha256: None,
        metadata: Object::new(),
    };
    if let Some(members) = reader.object(value, pointer) {
        row.tenant_id = reader.stripped_text(members, "tenant_id");
        row.kind = kind(reader, members, ProvenanceKind::ALL, ProvenanceKind::word).unwrap_or(row.kind);
        row.source_id = reader.stripped_text(members, "source_id");
        let locator = reader.optional(members, "locator", Null::IsAbsent, "a string");
        let locator = locator.and_then(|value| reader.string(value, &pointer.key("locator")));
        row.locator = locator.map(|locator| strip(locator).to_owned());
        let sha256 = reader.optional(members, "sha256", Null::IsAbsent, "a string");
        row.sha256 = sha256.and_then(|value| sha256_of(reader, value, &pointer.key("sha256")));
        row.metadata = reader.optional_object(members, "metadata", Null::IsAbsent).unwrap_or_default();
    }
    row
}

fn sha256_of(reader: &mut Reader, value: &Value, pointer: &Pointer) -> Option<String> {
    let hash = strip(reader.string(value, pointer)?).to_ascii_lowercase();
    if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        reader.fault(codes::SYSTEM_BAD_VALUE, pointer, "must be 64 hexadecimal digits");
        return None;
    }
    Some(hash)
}
