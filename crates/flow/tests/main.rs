//! What the flow line promises, one module per subject.

mod check_rows;
mod complete_example;
mod edit_properties;
mod edits;
mod effects;
mod flows;
mod format;
mod golden;
mod label_attacks;
mod label_errors;
mod label_leaks;
mod labels;
mod one_mistake;
mod options;
mod pages;
mod properties;
mod schemas;
mod service;
mod yaml_places;
