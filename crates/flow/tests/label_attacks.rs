//! Flows that try to carry a labelled secret past the check, drawn as the fuzzer draws them.

use proptest::prelude::*;
use stave_diag::{Diagnostic, Sources, render};
use stave_flow::model::Sensitivity;
use stave_flow::{CheckOptions, Scopes, load};

#[path = "../../../fuzz/generators/label_flow.rs"]
mod label_flow;

use label_flow::{Choices, LABEL};

/// The errors of a flow in a project that trusts one model.
fn errors(text: &str) -> String {
    let mut scopes = Scopes::default();
    scopes.hosts.insert("in.example.com".to_owned(), Sensitivity::Restricted);
    let mut sources = Sources::new();
    let source = sources.add("flow.yaml", text);
    let found = load(source, text, &CheckOptions { scopes, ..CheckOptions::default() }).diagnostics;
    let errors: Vec<Diagnostic> = found.into_iter().filter(Diagnostic::is_error).collect();
    render::short::render(&errors, &sources)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_flow_delivers_its_secret(bytes in prop::collection::vec(any::<u8>(), 0..32)) {
        let flow = label_flow::flow(&mut Choices::new(&bytes));
        prop_assert!(!errors(&flow).is_empty(), "{}", flow);
        let unlabelled = errors(&flow.replace(LABEL, ""));
        prop_assert!(!unlabelled.contains("sensitive-data-leak"), "{} {}", unlabelled, flow);
    }
}

#[test]
fn most_attacks_are_sound_flows_without_their_label() {
    let sound = (0..64_u8).filter(|seed| {
        let bytes: Vec<u8> =
            (0..32_u8).map(|at| seed.wrapping_mul(37).wrapping_add(at.wrapping_mul(at))).collect();
        errors(&label_flow::flow(&mut Choices::new(&bytes)).replace(LABEL, "")).is_empty()
    });
    assert!(sound.count() > 32, "an attack that is refused for another reason says nothing about labels");
}
