//! The shape of the format as data: which fields each structure has, in which order they are written, and
//! what they hold.
//!
//! The JSON Schema that editors use and the order of keys that the formatter writes both come from here.
//! Invariant, kept by tests: a field is listed here exactly when the parser knows it, and it is required
//! here exactly when the parser reports its absence.

mod table;

pub use table::FLOW;

/// A structure of the format.
#[derive(Debug)]
pub struct FormatShape {
    /// What the structure is called among the definitions of the JSON Schema.
    pub name: &'static str,
    pub summary: &'static str,
    /// In the order in which they are written.
    pub fields: &'static [FormatField],
}

/// One field of a structure.
#[derive(Debug, Clone, Copy)]
pub struct FormatField {
    pub name: &'static str,
    pub holds: Holds,
    pub required: bool,
    pub summary: &'static str,
}

/// What a field holds.
#[derive(Debug, Clone, Copy)]
pub enum Holds {
    Text,
    /// A version of the format, such as the text `"1.0"`.
    Version,
    /// A name as the format's pattern has it.
    Name,
    Timestamp,
    Boolean,
    Number,
    /// A number above 0.
    Positive,
    /// A whole number from this one on.
    Count(u64),
    TextList,
    NameList,
    Word(&'static [&'static str]),
    /// One of the words, or a list of them.
    Words(&'static [&'static str]),
    One(&'static FormatShape),
    List(&'static FormatShape),
    /// A mapping from a name to the structure.
    Map(&'static FormatShape),
    /// A mapping from a name to one of the words.
    WordMap(&'static [&'static str]),
    /// A JSON Schema.
    JsonSchema,
    /// Python text, or an operation with its arguments.
    Implementation(&'static FormatShape),
    /// Arguments of an operation.
    Arguments,
    FreeMap,
    /// Any value.
    Any,
    /// A list of any values.
    AnyList,
}

impl FormatShape {
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&'static FormatField> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The place of a key in the written order. Keys that are not known come after the known ones.
    #[must_use]
    pub fn rank(&self, name: &str) -> usize {
        self.fields.iter().position(|field| field.name == name).unwrap_or(self.fields.len())
    }
}
