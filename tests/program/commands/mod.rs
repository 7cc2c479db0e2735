//! One file per command: what it prints, where, and how it ends.

mod admission;
mod approvals;
mod cache;
mod cache_planning;
mod check;
mod colour;
mod contracts;
mod cost_budget;
mod deploy;
mod echoes;
mod edit;
mod entry_points;
mod escapes;
mod exec;
mod explain;
mod fmt;
mod gate;
mod gateway_stats;
mod governed_runs;
mod graph;
mod help;
mod journal_files;
mod keys;
mod lsp;
mod new;
mod ops;
#[cfg(unix)]
mod pipes;
#[cfg(unix)]
mod private_files;
mod process_survives;
mod prompt;
mod prompt_diff;
mod prompt_fields;
mod record;
mod redaction;
mod rep;
mod run;
mod runs;
mod runs_after_a_kill;
mod runs_alive;
mod runs_kept;
mod sample;
mod schema;
mod secrets;
mod shut_down;
mod signing;
mod starts;
mod stores;
mod system;
mod template_bounds;
mod test;
mod value_bounds;
mod volumes;
mod workflows;

pub(crate) use admission::signed;
