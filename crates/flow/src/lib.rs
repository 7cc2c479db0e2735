//! The flow line: what the author wrote.
//!
//! [`parse`] turns YAML or JSON into a [`Flow`](model::Flow) in which every field knows its place, and
//! [`check`] reports everything that is wrong with it, all at once. Neither executes anything.
//!
//! Invariant: reading any text ends with a flow, or diagnostics, or both, never with a panic, and every
//! span lies within the text.

pub mod check;
pub mod diff;
pub mod edit;
mod format;
pub mod graph;
mod hash;
pub mod merge;
pub mod model;
mod parse;
pub mod picture;
pub mod schema;
pub mod service;
pub mod shape;
pub mod types;

pub use check::{
    CheckOptions, Levels, ModelCosts, ProjectRule, PromptNames, Scopes, SharedStores, check,
    deployment_faults, levels,
};
pub use format::{FormatError, FormatOptions, format};
pub use hash::semantic_hash;
pub use parse::{Parsed, parse};
pub use stave_yaml as yaml;

use stave_diag::SourceId;

/// Reads and checks a flow. The diagnostics are those of both, in the order in which a reader meets
/// them.
#[must_use]
pub fn load(source: SourceId, text: &str, options: &CheckOptions) -> Parsed {
    let mut parsed = parse(source, text);
    if let Some(flow) = &parsed.flow {
        let found = check(flow, options);
        parsed.diagnostics.extend(found);
        let of_project = options.project_rules.iter().flat_map(|rule| rule.check(flow));
        parsed.diagnostics.extend(of_project);
    }
    if options.strict {
        check::strict::promote(&mut parsed.diagnostics);
    }
    stave_diag::sort(&mut parsed.diagnostics);
    // An anchored text that is used twice is checked twice; its fault is one fault.
    parsed.diagnostics.dedup();
    if let Some(tree) = &parsed.tree {
        for found in &mut parsed.diagnostics {
            found.pointer = Some(tree.pointer(found.primary));
        }
    }
    parsed
}
