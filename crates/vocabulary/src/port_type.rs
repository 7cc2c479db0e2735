//! The types of the values at ports.

use stave_shape::Shape;

/// The type of the values at a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Shape)]
#[shape(words)]
pub enum PortType {
    String,
    Number,
    Boolean,
    Object,
    Array,
    Document,
    Table,
    Embedding,
}

impl PortType {
    /// How the type's values are written in JSON, in the words of JSON Schema.
    #[must_use]
    pub fn json_type(self) -> &'static str {
        match self {
            PortType::String | PortType::Document => "string",
            PortType::Number => "number",
            PortType::Boolean => "boolean",
            PortType::Object => "object",
            PortType::Array | PortType::Table | PortType::Embedding => "array",
        }
    }
}
