//! What holds for every descriptor.

use std::collections::BTreeSet;

use stave_operations::{
    ArgumentKind, Descriptor, DuplicateKey, Effects, Form, RESERVED, Receiver, Repeat, ResultShape,
    STEP_KINDS, SecretUse, operation, operations, step_kind,
};

fn every() -> impl Iterator<Item = &'static Descriptor> {
    STEP_KINDS.iter().copied()
}

#[test]
fn a_name_stands_for_one_step_kind() {
    let names: BTreeSet<&str> = every().map(|kind| kind.name).collect();
    assert_eq!(names.len(), STEP_KINDS.len());
    for kind in every() {
        assert!(std::ptr::eq(step_kind(kind.name).unwrap(), kind), "{}", kind.name);
        assert_eq!(operation(kind.name).is_some(), kind.form == Form::Operation, "{}", kind.name);
    }
    assert!(RESERVED.iter().all(|name| step_kind(name).is_none()));
}

#[test]
fn every_argument_that_a_descriptor_names_is_one_of_its_own() {
    for kind in every() {
        let has = |name: &str| assert!(kind.argument(name).is_some(), "{} has no {name}", kind.name);
        for name in kind.one_of.iter().copied().flatten() {
            has(name);
            assert!(!kind.argument(name).unwrap().required, "{}.{name} is one of a group", kind.name);
        }
        match kind.receiver {
            Receiver::Host { address } => has(address),
            Receiver::Tool { server, tool } => [server, tool].into_iter().for_each(has),
            Receiver::FeatureStore { entries } => entries.iter().for_each(|entry| has(entry.argument)),
            Receiver::Nobody | Receiver::Model => {}
        }
        if let ResultShape::Filled(name) = kind.result {
            has(name);
        }
        match kind.repeat {
            Repeat::SafeWith { key: DuplicateKey::Argument(name), .. } => has(name),
            Repeat::SafeWith { key: DuplicateKey::Header(_), .. } => {
                assert!(kind.arguments_of(ArgumentKind::Headers).next().is_some(), "{}", kind.name);
            }
            Repeat::Safe | Repeat::Unsafe { .. } | Repeat::ByPart => {}
        }
    }
}

#[test]
fn what_writes_says_what_a_repetition_does() {
    for kind in every() {
        let is_doubtful = matches!(kind.repeat, Repeat::SafeWith { .. } | Repeat::Unsafe { .. });
        assert_eq!(kind.writes(), is_doubtful, "{}", kind.name);
        assert_eq!(kind.effects == Effects::OfCalled, kind.repeats_by_part(), "{}", kind.name);
    }
}

#[test]
fn only_who_leaves_the_run_is_given_secrets_or_reaches_the_network() {
    for kind in every() {
        let goes_out = kind.receiver != Receiver::Nobody;
        assert_eq!(kind.network, goes_out, "{}", kind.name);
        let has_secrets = kind.arguments.iter().any(|argument| argument.secrets != SecretUse::Refused);
        assert!(goes_out || !has_secrets, "{}", kind.name);
    }
}

#[test]
fn texts_are_written_in_one_style() {
    for kind in every() {
        let texts = kind.arguments.iter().map(|argument| argument.summary).chain([kind.summary]);
        for text in texts {
            assert!(!text.is_empty() && !text.ends_with('.'), "{}: {text}", kind.name);
            assert!(!text.starts_with(|first: char| first.is_uppercase()), "{}: {text}", kind.name);
        }
        assert!(kind.details.is_empty() || kind.details.ends_with(['.', ')']), "{}", kind.name);
        assert!(!kind.details.contains("  "), "{}", kind.name);
    }
}

#[test]
fn every_operation_has_a_node_to_begin_with() {
    for operation in operations() {
        let blank = operation.blank.unwrap();
        assert!(blank.node.contains(&format!("op: {}\n", operation.name)), "{}", operation.name);
        assert!(blank.node.ends_with('\n'), "{}", operation.name);
    }
}
