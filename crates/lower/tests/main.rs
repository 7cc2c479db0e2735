//! What the lowerings promise, one module per subject.

#![expect(clippy::unwrap_used, reason = "tests stop where something is not as it should be")]

mod bodies;
mod body_attacks;
mod document_labels;
mod exec_pages;
mod flow_labels;
mod gate_leaks;
mod layered_flows;
mod media_counts;
mod outside;
mod system_pages;
