//! What the lowerings promise, one module per subject.

mod bodies;
mod body_attacks;
mod exec_pages;
mod flow_labels;
mod gate_leaks;
mod prepare_request;
mod system_pages;
