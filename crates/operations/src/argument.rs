//! The arguments of an operation.

/// One argument of an operation.
#[derive(Debug, Clone, Copy)]
pub struct Argument {
    pub name: &'static str,
    pub kind: Kind,
    pub required: bool,
    pub secrets: Secrets,
    /// What an absent argument counts as, in words; none when absence has no value of its own.
    pub default: Option<&'static str>,
    /// One sentence without a full stop, for messages, completions and tables.
    pub summary: &'static str,
}

/// What an argument holds. A text that is one whole `${…}` fits every kind but an expression and a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
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

/// Whether `${secrets.NAME}` may stand in an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Secrets {
    Refused,
    Allowed,
    /// The checker refuses it in a flow, where the text is shown to everyone who reads the flow's requests. A document
    /// that did not come from a flow may have it.
    NotInFlows,
}

impl Kind {
    /// What the kind is called in messages.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Kind::Any => "any value",
            Kind::Text | Kind::Url => "a string",
            Kind::Node => "the id of a node",
            Kind::Expression(_) => "an expression as a string",
            Kind::TextOrInteger => "a string or a whole number",
            Kind::Key => "a string, a number, a boolean or a mapping of these",
            Kind::Map => "a mapping",
            Kind::Headers => "a mapping from name to string, number or boolean",
            Kind::TextList => "a list of strings",
            Kind::Count => "a whole number from 1 on",
            Kind::Number => "a number",
            Kind::Statuses => "an HTTP status or a list of them",
            Kind::List => "a list or a `${…}` that gives one",
            Kind::Reference => "a reference such as `$.inputs.mode`",
            Kind::TextMap => "a mapping from string to string",
        }
    }
}

impl Argument {
    #[must_use]
    pub const fn required(name: &'static str, kind: Kind, summary: &'static str) -> Argument {
        Argument { required: true, ..Argument::optional(name, kind, summary) }
    }

    #[must_use]
    pub const fn optional(name: &'static str, kind: Kind, summary: &'static str) -> Argument {
        Argument { name, kind, required: false, secrets: Secrets::Refused, default: None, summary }
    }

    #[must_use]
    pub(crate) const fn default(self, default: &'static str) -> Argument {
        Argument { default: Some(default), ..self }
    }

    #[must_use]
    pub(crate) const fn secrets(self, secrets: Secrets) -> Argument {
        Argument { secrets, ..self }
    }
}
