//! A flow that carries a labelled secret to someone who may not have it does not pass the check; without the label the
//! same flow has no leak.
//!
//! `crates/flow/tests/label_attacks.rs` holds the same for random choices.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stave_diag::{Diagnostic, SourceId};
use stave_flow::model::Sensitivity;
use stave_flow::{CheckOptions, Scopes, load};

#[path = "../generators/label_flow.rs"]
mod label_flow;

use label_flow::{Choices, LABEL};

fuzz_target!(|bytes: &[u8]| {
    let flow = label_flow::flow(&mut Choices::new(bytes));
    let mut scopes = Scopes::default();
    scopes.hosts.insert("in.example.com".to_owned(), Sensitivity::Restricted);
    let options = CheckOptions { scopes, ..CheckOptions::default() };
    let errors = |text: &str| {
        let found = load(SourceId(0), text, &options).diagnostics;
        found.into_iter().filter(Diagnostic::is_error).collect::<Vec<_>>()
    };
    assert!(!errors(&flow).is_empty(), "{flow}");
    let unlabelled = errors(&flow.replace(LABEL, ""));
    assert!(unlabelled.iter().all(|error| error.code.0 != "sensitive-data-leak"), "{flow}");
});
