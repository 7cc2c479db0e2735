//! Problem documents (RFC 9457) as clients read them.

use stave_shape::{Nullable, Shape};

use super::text_types::Finding;

/// Why a request is not answered with what it asked for (RFC 9457).
#[derive(Debug, Clone, PartialEq, Shape)]
pub(crate) struct ProblemDocument {
    /// A stable name, as `urn:stave:not-found`.
    #[shape(rename = "type")]
    pub(crate) kind: String,
    pub(crate) title: String,
    pub(crate) status: u16,
    pub(crate) detail: String,
    /// The node at fault.
    pub(crate) node: Nullable<String>,
    /// The run that failed.
    pub(crate) trace_id: Nullable<String>,
    /// Why an edit was refused, as a stable name.
    #[shape(not_null)]
    pub(crate) reason: Option<String>,
    /// What can be done about it.
    pub(crate) help: Option<String>,
    /// What is wrong with the text.
    #[shape(not_null)]
    pub(crate) diagnostics: Option<Vec<Finding>>,
    /// The text that the diagnostics are about, when the request did not have it.
    #[shape(not_null)]
    pub(crate) text: Option<String>,
    /// The sentences that are understood.
    #[shape(not_null)]
    pub(crate) forms: Option<Vec<String>>,
    /// The hash of what the file holds now.
    pub(crate) hash: Option<String>,
}
