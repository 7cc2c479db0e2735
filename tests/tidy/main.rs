//! Rules of the repository that no compiler checks, as tests: one file per rule.
//!
//! Each rule lists every offender at once, with its place and the cure.

#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    reason = "these tests read the repository, and stop where it cannot be read"
)]

mod banned_calls;
mod code_text;
mod command_borders;
mod command_line;
mod crate_table;
mod dependency_reasons;
mod file_form;
mod foreign_words;
mod inherited_lints;
mod libraries;
mod named_files;
mod offence;
mod only_callers;
mod private_words;
mod repository;
mod rule_files;
mod type_names;
mod vague_names;
