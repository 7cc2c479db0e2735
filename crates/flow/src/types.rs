//! Port types and which of them connect.

use crate::model::PortType;

/// What has to happen to a value on an edge between two port types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// The value travels as it is.
    Same,
    /// A number or boolean is printed as its JSON text.
    CastToString,
    /// The only row of a table; any other count of rows is an error of the run.
    SingleRow,
}

/// The specification's table, completed so that every type connects to itself. `None` is refused.
#[must_use]
pub fn connection(from: PortType, to: PortType) -> Option<Connection> {
    use PortType::{Array, Boolean, Document, Embedding, Number, Object, String, Table};
    match (from, to) {
        (from, to) if from == to => Some(Connection::Same),
        (String, Document) | (Document, String) | (Table | Embedding, Array) => Some(Connection::Same),
        (Number | Boolean, String) => Some(Connection::CastToString),
        (Table, Object) => Some(Connection::SingleRow),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The specification's table plus the two reflexive rows it leaves out.
    const ALLOWED: &[&str] = &[
        "string string",
        "string document",
        "number number",
        "number string",
        "boolean boolean",
        "boolean string",
        "object object",
        "array array",
        "document string",
        "document document",
        "table object",
        "table array",
        "table table",
        "embedding array",
        "embedding embedding",
    ];

    #[test]
    fn exactly_the_pairs_of_the_table_connect() {
        for from in PortType::ALL {
            for to in PortType::ALL {
                let pair = format!("{} {}", from.word(), to.word());
                assert_eq!(connection(from, to).is_some(), ALLOWED.contains(&pair.as_str()), "{pair}");
            }
        }
    }

    #[test]
    fn every_word_names_its_type() {
        for port_type in PortType::ALL {
            assert_eq!(PortType::from_word(port_type.word()), Some(port_type));
        }
    }
}
