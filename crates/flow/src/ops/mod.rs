//! The catalogue of declarative operations: one file per operation, with what its arguments may be.

mod format_response;
mod get_model;
mod http_get;
mod http_post;
mod human_approve;
mod mcp_call;
mod opcua_read;
mod opcua_write;
mod read_features;
mod transform_each;
mod transform_filter;
mod transform_map;
mod transform_reduce;
mod write_features;

/// What an operation takes and does.
#[derive(Debug, Clone, Copy)]
pub struct OperationSchema {
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    pub arguments: &'static [Argument],
    /// Groups of arguments of which one must be given.
    pub one_of: &'static [&'static [&'static str]],
    /// Whether running it changes something outside the flow.
    pub effects: bool,
}

/// One argument of an operation.
#[derive(Debug, Clone, Copy)]
pub struct Argument {
    pub name: &'static str,
    pub kind: Kind,
    pub required: bool,
    /// Whether `${secrets.NAME}` may stand in it.
    pub secrets: bool,
    pub summary: &'static str,
}

/// What an argument holds. A text that is one whole `${…}` fits every kind but an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// A text or a whole number.
    TextOrInteger,
    /// A text, a number, a boolean, or a mapping of these.
    Key,
    /// A mapping to anything.
    Map,
    /// A mapping from text to a text, a number or a boolean.
    ScalarMap,
    TextList,
    /// A whole number from 1 on.
    Count,
    /// An HTTP status or a list of them.
    Statuses,
    /// A list of values.
    List,
    Any,
    /// The id of a node, as it is written.
    Node,
    /// An expression over these names.
    Expression(&'static [&'static str]),
}

/// Every operation of the catalogue, in the specification's order, and then those beyond it.
pub static CATALOGUE: &[OperationSchema] = &[
    read_features::SCHEMA,
    write_features::SCHEMA,
    get_model::SCHEMA,
    http_get::SCHEMA,
    http_post::SCHEMA,
    transform_filter::SCHEMA,
    transform_map::SCHEMA,
    transform_reduce::SCHEMA,
    format_response::SCHEMA,
    transform_each::SCHEMA,
    human_approve::SCHEMA,
    mcp_call::SCHEMA,
    opcua_read::SCHEMA,
    opcua_write::SCHEMA,
];

/// Operations that later versions are to have. They are recognised and cannot be run.
pub static RESERVED: &[&str] = &["hopsworks.predict", "hopsworks.vector_search", "llm.generate"];

/// The operation of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static OperationSchema> {
    CATALOGUE.iter().find(|operation| operation.name == name)
}

impl OperationSchema {
    /// Whether its result is made of all the values at the node's inputs, named in its arguments or not.
    #[must_use]
    pub fn hands_inputs_on(&self) -> bool {
        self.name == human_approve::SCHEMA.name
    }

    #[must_use]
    pub fn argument(&self, name: &str) -> Option<&'static Argument> {
        self.arguments.iter().find(|argument| argument.name == name)
    }
}

const fn required(name: &'static str, kind: Kind, summary: &'static str) -> Argument {
    Argument { name, kind, required: true, secrets: false, summary }
}

const fn optional(name: &'static str, kind: Kind, summary: &'static str) -> Argument {
    Argument { name, kind, required: false, secrets: false, summary }
}

const fn with_secrets(argument: Argument) -> Argument {
    Argument { secrets: true, ..argument }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_names_are_consistent() {
        for operation in CATALOGUE {
            assert!(std::ptr::eq(find(operation.name).unwrap(), operation), "{}", operation.name);
            for name in operation.one_of.iter().copied().flatten() {
                let argument = operation.argument(name).unwrap();
                assert!(!argument.required, "{}.{name} is one of a group", operation.name);
            }
        }
    }
}
