//! Bodies about a flow's text: places in it, what is wrong with it, edits, and what an editor asks.

use stave_canon::Value;
use stave_flow::edit::{FlowEdit, request_schema};
use stave_shape::{Definitions, FaultKind, Nullable, Place, Reader, Shape, ValueNode};

use super::graph_types::{Cast, Graph, RequestField};

/// A type that begins with the members of a range.
macro_rules! ranged {
    ($(#[$meta:meta])* $name:ident { $($more:tt)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Shape)]
        pub(crate) struct $name {
            pub(crate) offset: u32,
            pub(crate) end_offset: u32,
            pub(crate) line: u32,
            pub(crate) column: u32,
            pub(crate) end_line: u32,
            pub(crate) end_column: u32,
            $($more)*
        }
    };
}

ranged! {
    /// A stretch of a text: offsets in UTF-16 code units, lines and columns from 1.
    Range {}
}

ranged! {
    /// A stretch of a text with something to say about it.
    FindingLabel {
        pub(crate) message: String,
    }
}

ranged! {
    /// A stretch of a text, and what to put there.
    TextEdit {
        pub(crate) replacement: String,
    }
}

ranged! {
    /// Something that is wrong with a text.
    Finding {
        pub(crate) code: String,
        pub(crate) severity: FindingSeverity,
        pub(crate) message: String,
        pub(crate) label: Nullable<String>,
        pub(crate) help: Nullable<String>,
        pub(crate) pointer: Nullable<String>,
        /// The node whose lines it is in.
        pub(crate) node: Nullable<String>,
        pub(crate) labels: Vec<FindingLabel>,
        pub(crate) fix: Nullable<Fix>,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
#[shape(name = "Severity")]
pub(crate) enum FindingSeverity {
    Error,
    Warning,
    Note,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Fix {
    pub(crate) title: String,
    pub(crate) edits: Vec<TextEdit>,
}

/// A text, and the file whose project's settings it is judged by.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open)]
pub(crate) struct Subject {
    pub(crate) path: Option<String>,
    pub(crate) text: String,
}

/// A text and a place in it.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open)]
pub(crate) struct SubjectAt {
    pub(crate) path: Option<String>,
    pub(crate) text: String,
    /// In UTF-16 code units.
    pub(crate) offset: u64,
}

/// A file, and its text when that is another one than the file holds.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open)]
pub(crate) struct FileSubject {
    pub(crate) path: String,
    pub(crate) text: Option<String>,
}

/// Everything about a text at once: what is wrong with it, and the graph that it is.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Analysis {
    pub(crate) text_hash: String,
    /// The semantic hash; null for a text that is no flow.
    pub(crate) hash: Nullable<String>,
    pub(crate) summary: FindingCounts,
    pub(crate) diagnostics: Vec<Finding>,
    pub(crate) flow: Nullable<FlowMetadata>,
    pub(crate) graph: Nullable<Graph>,
    /// What a form asks for to start a run.
    pub(crate) request: Vec<RequestField>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct FindingCounts {
    pub(crate) errors: u64,
    pub(crate) warnings: u64,
    pub(crate) notes: u64,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct FlowMetadata {
    pub(crate) name: Nullable<String>,
    pub(crate) description: Nullable<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) version: Nullable<String>,
}

/// The end of an edge that others could be connected with.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open)]
pub(crate) struct ConnectableEnd {
    pub(crate) path: Option<String>,
    pub(crate) text: String,
    /// As `node.port`.
    pub(crate) from: Option<String>,
    pub(crate) to: Option<String>,
}

/// The ends that could be connected: `targets` for a beginning, `sources` for an end.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(not_null)]
pub(crate) struct Connectable {
    pub(crate) targets: Option<Vec<Target>>,
    pub(crate) sources: Option<Vec<Source>>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Target {
    pub(crate) to: String,
    pub(crate) allowed: bool,
    pub(crate) cast: Cast,
    /// Why not; or, when it is allowed, what is worth knowing.
    pub(crate) reason: Nullable<String>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Source {
    pub(crate) from: String,
    pub(crate) allowed: bool,
    pub(crate) cast: Cast,
    /// Why not; or, when it is allowed, what is worth knowing.
    pub(crate) reason: Nullable<String>,
}

/// A command of an edit, as `stave edit --schema` describes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EditCommand(FlowEdit);

impl Shape for EditCommand {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        match FlowEdit::from_value(&node.to_value()) {
            Ok(command) => Some(EditCommand(command)),
            Err(reason) => {
                reader.fault(at, node.span(), FaultKind::rule("edit-command", reason));
                None
            }
        }
    }

    fn write(&self) -> Value {
        self.0.to_value()
    }

    fn schema(definitions: &mut Definitions) -> Value {
        definitions.named("Command", |_| {
            request_schema().pointer("/properties/commands/items").cloned().unwrap_or_default()
        })
    }
}

/// Commands to try on a text.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open)]
pub(crate) struct EditText {
    pub(crate) path: Option<String>,
    pub(crate) text: String,
    /// The semantic hash of the flow that the commands were made for.
    pub(crate) base_hash: Option<String>,
    /// Whether the result may have more errors than the flow had.
    #[shape(not_null)]
    pub(crate) allow_errors: Option<bool>,
    pub(crate) commands: Vec<EditCommand>,
}

/// A sentence that says what to change.
#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(open)]
pub(crate) struct ChatText {
    pub(crate) path: Option<String>,
    pub(crate) text: String,
    pub(crate) message: String,
    /// Whether no model is asked.
    pub(crate) offline: Option<bool>,
}

/// What an edit makes of a text. Nothing is written.
macro_rules! edited {
    ($(#[$meta:meta])* $name:ident { $($more:tt)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Shape)]
        pub(crate) struct $name {
            pub(crate) text: String,
            pub(crate) hash: Nullable<String>,
            pub(crate) commands: Vec<EditCommand>,
            pub(crate) diff: Diff,
            /// The differences as lines for people.
            pub(crate) shown: Vec<String>,
            /// The commands that undo it.
            pub(crate) inverse: InverseEdit,
            /// The edit as changes of the text before it.
            pub(crate) changes: Vec<TextChange>,
            pub(crate) analysis: Analysis,
            $($more)*
        }
    };
}

edited! {
    /// What commands make of a text. Nothing is written.
    Edited {}
}

edited! {
    /// What a sentence makes of a text. Nothing is written.
    Proposed {
        pub(crate) by: ProposedBy,
    }
}

/// Who understood the sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
pub(crate) enum ProposedBy {
    Grammar,
    Model,
}

#[derive(Debug, Clone, PartialEq, Shape)]
#[shape(not_null)]
pub(crate) struct InverseEdit {
    pub(crate) base_hash: Option<String>,
    pub(crate) allow_errors: Option<bool>,
    pub(crate) commands: Vec<EditCommand>,
}

/// Where two flows differ in meaning.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Diff {
    pub(crate) same: bool,
    pub(crate) changes: Vec<Change>,
    pub(crate) layout: Vec<Change>,
    pub(crate) comments: CommentChanges,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct CommentChanges {
    pub(crate) added: Vec<String>,
    pub(crate) removed: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Change {
    pub(crate) kind: DifferenceKind,
    /// What it is about: `node`, `port`, `edge`, …
    pub(crate) part: String,
    pub(crate) path: String,
    pub(crate) before: Value,
    pub(crate) after: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
pub(crate) enum DifferenceKind {
    Added,
    Removed,
    Changed,
    Renamed,
}

/// A change of a text, in UTF-16 code units.
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct TextChange {
    pub(crate) offset: u32,
    pub(crate) end_offset: u32,
    pub(crate) insert: String,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Hover {
    pub(crate) markdown: Nullable<String>,
    pub(crate) range: Nullable<Range>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Completions {
    pub(crate) items: Vec<CompletionItem>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct CompletionItem {
    pub(crate) label: String,
    pub(crate) insert: String,
    pub(crate) detail: String,
    pub(crate) kind: CompletionItemKind,
    pub(crate) offset: u32,
    pub(crate) end_offset: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
pub(crate) enum CompletionItemKind {
    Field,
    Value,
    Operation,
    Port,
    Variable,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct Ranges {
    pub(crate) ranges: Vec<Range>,
}

#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct FormattedText {
    pub(crate) text: String,
}
