//! Problem documents (RFC 9457) as clients read them.

use stave_shape::{Nullable, Shape};

use super::text_types::Finding;

/// A problem document (RFC 9457).
#[derive(Debug, Clone, Default, PartialEq, Shape)]
pub(crate) struct ProblemDocument {
    /// Stable name, such as `urn:stave:not-found`.
    #[shape(rename = "type")]
    pub(crate) kind: String,
    pub(crate) title: String,
    pub(crate) status: u16,
    pub(crate) detail: String,
    /// The node that failed.
    pub(crate) node: Nullable<String>,
    /// The run that failed.
    pub(crate) trace_id: Nullable<String>,
    /// Stable name of the reason for a rejected edit.
    #[shape(not_null)]
    pub(crate) reason: Option<String>,
    /// How to fix it.
    #[shape(not_null)]
    pub(crate) help: Option<Nullable<String>>,
    /// Diagnostics of the text.
    #[shape(not_null)]
    pub(crate) diagnostics: Option<Vec<Finding>>,
    /// The text that the diagnostics refer to, if it differs from the request's text.
    #[shape(not_null)]
    pub(crate) text: Option<String>,
    /// Supported forms of sentences.
    #[shape(not_null)]
    pub(crate) forms: Option<Vec<String>>,
    /// Hash of the file's current content.
    #[shape(not_null)]
    pub(crate) hash: Option<Nullable<String>>,
}
