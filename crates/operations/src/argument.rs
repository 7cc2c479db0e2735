//! The arguments of an operation.

/// One argument of an operation.
#[derive(Debug, Clone, Copy)]
pub struct Argument {
    pub name: &'static str,
    pub kind: ArgumentKind,
    pub required: bool,
    pub secrets: SecretUse,
    /// What an absent argument counts as, in words; none when absence has no value of its own.
    pub default: Option<&'static str>,
    /// One sentence without a full stop, for messages, completions and tables.
    pub summary: &'static str,
}

/// What an argument holds. A text that is one whole `${…}` fits every kind but an expression and a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentKind {
    Text,
    /// The address of a request. Values in it are encoded for their place.
    Url,
    /// A text or a whole number.
    TextOrInteger,
    /// A text, a number, a boolean, or a mapping of these.
    Key,
    /// A mapping to anything.
    Map,
    /// Headers of a request: a mapping from name to a text, a number or a boolean.
    Headers,
    TextList,
    /// A whole number from 1 on.
    Count,
    Number,
    /// An HTTP status or a list of them.
    Statuses,
    /// A list of values.
    List,
    Any,
    /// The id of a node, as it is written.
    Node,
    /// An expression over these names. It is never filled in, so a value cannot become part of it.
    Expression(&'static [&'static str]),
    /// A reference of a workflow, such as `$.inputs.mode`.
    Reference,
    /// A mapping from text to text.
    TextMap,
}

/// Whether an argument may contain `${secrets.NAME}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretUse {
    Refused,
    Allowed,
    /// The checker refuses it in a flow, where the text is shown to everyone who reads the flow's requests. A document
    /// that did not come from a flow may have it.
    NotInFlows,
}

impl ArgumentKind {
    /// What the kind is called in messages.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            ArgumentKind::Any => "any value",
            ArgumentKind::Text | ArgumentKind::Url => "a string",
            ArgumentKind::Node => "the id of a node",
            ArgumentKind::Expression(_) => "an expression as a string",
            ArgumentKind::TextOrInteger => "a string or a whole number",
            ArgumentKind::Key => "a string, a number, a boolean or a mapping of these",
            ArgumentKind::Map => "a mapping",
            ArgumentKind::Headers => "a mapping from name to string, number or boolean",
            ArgumentKind::TextList => "a list of strings",
            ArgumentKind::Count => "a whole number from 1 on",
            ArgumentKind::Number => "a number",
            ArgumentKind::Statuses => "an HTTP status or a list of them",
            ArgumentKind::List => "a list or a `${…}` that gives one",
            ArgumentKind::Reference => "a reference such as `$.inputs.mode`",
            ArgumentKind::TextMap => "a mapping from string to string",
        }
    }
}

impl Argument {
    #[must_use]
    pub const fn required(name: &'static str, kind: ArgumentKind, summary: &'static str) -> Argument {
        Argument { required: true, ..Argument::optional(name, kind, summary) }
    }

    #[must_use]
    pub const fn optional(name: &'static str, kind: ArgumentKind, summary: &'static str) -> Argument {
        Argument { name, kind, required: false, secrets: SecretUse::Refused, default: None, summary }
    }

    #[must_use]
    pub(crate) const fn default(self, default: &'static str) -> Argument {
        Argument { default: Some(default), ..self }
    }

    #[must_use]
    pub(crate) const fn secrets(self, secrets: SecretUse) -> Argument {
        Argument { secrets, ..self }
    }
}
