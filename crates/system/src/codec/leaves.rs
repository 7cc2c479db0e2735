//! The values that documents are made of, each with how it is read, its canonical form and its schema.
//!
//! The canonical form has one order for everything that is a set, and no white space around identifiers.

use stave_canon::{Number, Value, compact_utf8};
use stave_shape::{Definitions, FaultKind, Place, Reader, Shape, ValueKind, ValueNode};

use super::rule;
use crate::model::{ContractCategory, ContractTrigger, ProvenancePointer, StateTransition};
use crate::{codes, strip};

/// Strings that are not only white space, as the specification understands it.
const NOT_BLANK: &str = "[^\\s\\u001c-\\u001f\\u0085]|\\ufeff";

fn string_schema(pattern: &str) -> Value {
    Value::from_iter([("type", "string"), ("pattern", pattern)])
}

/// A string that is not blank, as it was written.
pub(crate) mod text {
    use super::*;

    #[inline]
    pub(crate) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<String> {
        let text = String::read(node, at, reader)?;
        if strip(&text).is_empty() {
            reader.fault(at, node.span(), FaultKind::Empty("blank"));
            return None;
        }
        Some(text)
    }

    pub(crate) fn write(text: &str) -> Value {
        strip(text).into()
    }

    pub(crate) fn schema(_: &mut Definitions) -> Value {
        string_schema(NOT_BLANK)
    }
}

/// A string that is not blank, without the white space around it.
pub(crate) mod stripped {
    use super::*;

    #[inline]
    pub(crate) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<String> {
        text::read(node, at, reader).map(without_space)
    }

    pub(crate) use super::text::{schema, write};
}

/// A string without the white space around it.
pub(crate) mod trimmed {
    use super::*;

    pub(crate) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<String> {
        String::read(node, at, reader).map(without_space)
    }

    pub(crate) fn schema(definitions: &mut Definitions) -> Value {
        String::schema(definitions)
    }

    pub(crate) use super::text::write;
}

fn without_space(text: String) -> String {
    let stripped = strip(&text);
    if stripped.len() == text.len() { text } else { stripped.to_owned() }
}

/// A list of strings, each as it was written.
pub(crate) mod strings {
    use super::*;

    pub(crate) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Vec<String>> {
        if node.kind() == ValueKind::Null {
            reader.wrong_type(node, at, "an array of strings");
            return None;
        }
        Vec::read(node, at, reader)
    }

    pub(crate) fn write(strings: &[String]) -> Value {
        strings.to_vec().into()
    }

    pub(crate) fn schema(definitions: &mut Definitions) -> Value {
        Vec::<String>::schema(definitions)
    }
}

/// The ids of nodes. Their canonical form has no blank entries and each one once, sorted.
pub(crate) mod dependencies {
    use super::*;

    pub(crate) fn write(ids: &[String]) -> Value {
        let mut ids: Vec<&str> = ids.iter().map(|id| strip(id)).filter(|id| !id.is_empty()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.into()
    }

    pub(crate) use super::strings::{read, schema};
}

/// Strings that are not blank, without the white space around them.
pub(crate) mod keys {
    use super::*;

    pub(crate) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Vec<String>> {
        if node.kind() != ValueKind::Array {
            reader.wrong_type(node, at, "an array");
            return None;
        }
        let mut keys = Vec::new();
        let mut index = 0;
        node.items(|item| {
            keys.extend(stripped::read(item, &at.index(index), reader));
            index += 1;
        });
        Some(keys)
    }

    pub(crate) fn write(keys: &[String]) -> Value {
        keys.iter().map(|key| strip(key)).collect::<Vec<_>>().into()
    }

    pub(crate) fn schema(definitions: &mut Definitions) -> Value {
        Value::from_iter([("type", Value::from("array")), ("items", text::schema(definitions))])
    }
}

/// A SHA-256 in any letter case.
pub(crate) mod sha256 {
    use super::*;

    pub(crate) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<String> {
        let mut hash = trimmed::read(node, at, reader)?;
        hash.make_ascii_lowercase();
        if hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let kind = rule(codes::SYSTEM_BAD_VALUE, "must be 64 hexadecimal digits");
            reader.fault(at, node.span(), kind);
            return None;
        }
        Some(hash)
    }

    pub(crate) fn write(hash: &str) -> Value {
        hash.into()
    }

    pub(crate) fn schema(_: &mut Definitions) -> Value {
        string_schema("^\\s*[0-9A-Fa-f]{64}\\s*$")
    }
}

/// An integer of any size that is not negative.
pub(crate) mod count {
    use super::*;

    pub(crate) fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Number> {
        let Some(number) = node.number().filter(Number::is_integer) else {
            reader.wrong_type(node, at, "an integer");
            return None;
        };
        if number.compare(&Number::Int(0)).is_some_and(std::cmp::Ordering::is_lt) {
            reader.fault(at, node.span(), rule(codes::SYSTEM_BAD_VALUE, "must not be negative"));
            return None;
        }
        Some(number)
    }

    pub(crate) fn write(number: &Number) -> Value {
        Value::Number(number.clone())
    }

    pub(crate) fn schema(_: &mut Definitions) -> Value {
        Value::from_iter([("type", Value::from("integer")), ("minimum", 0.into())])
    }
}

/// The category of a contract in any letter case.
pub(crate) mod category {
    use super::*;

    pub(crate) fn read<N: ValueNode>(
        node: N,
        at: &Place<'_>,
        reader: &mut Reader,
    ) -> Option<ContractCategory> {
        const WORDS: &[&str] = &["runtime", "deployment", "authorization", "acceptance"];
        let found = stripped::read(node, at, reader)?.to_lowercase();
        let category = ContractCategory::from_word(&found);
        if category.is_none() {
            reader.fault(at, node.span(), FaultKind::UnknownWord { words: WORDS, found });
        }
        category
    }

    pub(crate) fn write(category: &ContractCategory) -> Value {
        category.word().into()
    }

    pub(crate) fn schema(definitions: &mut Definitions) -> Value {
        ContractCategory::schema(definitions)
    }
}

/// Provenance rows. Their canonical form is sorted by kind, source and locator; rows that agree in all three by their
/// canonical text, so that the order in which they came never shows.
pub(crate) mod provenance_rows {
    use super::*;

    pub(crate) fn read<N: ValueNode>(
        node: N,
        at: &Place<'_>,
        reader: &mut Reader,
    ) -> Option<Vec<ProvenancePointer>> {
        Vec::read(node, at, reader)
    }

    pub(crate) fn write(rows: &[ProvenancePointer]) -> Value {
        let mut rows: Vec<(&ProvenancePointer, Value)> = rows.iter().map(|row| (row, row.write())).collect();
        rows.sort_by_cached_key(|(row, value)| {
            (
                row.kind.word(),
                strip(&row.source_id).to_owned(),
                row.locator.as_deref().map(strip).unwrap_or_default().to_owned(),
                compact_utf8(value),
            )
        });
        Value::Array(rows.into_iter().map(|(_, value)| value).collect())
    }

    pub(crate) fn schema(definitions: &mut Definitions) -> Value {
        Vec::<ProvenancePointer>::schema(definitions)
    }
}

/// A list whose canonical form is sorted by the ids of its items.
macro_rules! sorted_by_id {
    ($name:ident, $item:ident, $id:ident) => {
        pub(crate) mod $name {
            use super::*;

            pub(crate) fn read<N: ValueNode>(
                node: N,
                at: &Place<'_>,
                reader: &mut Reader,
            ) -> Option<Vec<$item>> {
                Vec::read(node, at, reader)
            }

            pub(crate) fn write(items: &[$item]) -> Value {
                let mut items: Vec<&$item> = items.iter().collect();
                items.sort_by_key(|item| strip(&item.$id));
                Value::Array(items.into_iter().map(Shape::write).collect())
            }

            pub(crate) fn schema(definitions: &mut Definitions) -> Value {
                Vec::<$item>::schema(definitions)
            }
        }
    };
}

sorted_by_id!(triggers, ContractTrigger, trigger_id);
sorted_by_id!(transitions, StateTransition, transition_id);
