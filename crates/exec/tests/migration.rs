//! Documents of other versions, as files: what earlier and later compilers wrote stays readable.

#![expect(clippy::expect_used, reason = "a test stops at what is not as it should be")]

use stave_canon::{Value, parse};
use stave_exec::{Acceptance, On, later_version, read, to_value};

/// Every file of `migration/`, and what a runtime says about it; `None` when it refuses the document.
const FIXTURES: [(&str, &str, Option<&[&str]>); 4] = [
    ("1.0.0", include_str!("migration/1.0.0.ir.json"), Some(&[])),
    ("1.0.1", include_str!("migration/1.0.1.ir.json"), Some(&["/version"])),
    ("1.3.0", include_str!("migration/1.3.0.ir.json"), Some(&["/version", "/graph/edges/1/on"])),
    ("2.0.0", include_str!("migration/2.0.0.ir.json"), None),
];

fn fixture(text: &str) -> Value {
    parse(text).expect("it is JSON")
}

#[test]
fn a_runtime_reads_each_version_and_says_what_has_no_effect() {
    for (version, text, wanted) in FIXTURES {
        let value = fixture(text);
        let document = read(&value, Acceptance::Additive);
        let found = document.as_ref().ok().map(|document| {
            let found = later_version(document).into_iter().map(|fault| fault.pointer);
            found.collect::<Vec<_>>()
        });
        let wanted = wanted.map(|wanted| wanted.iter().map(|&pointer| pointer.to_owned()).collect());
        assert_eq!(found, wanted, "{version}: {document:?}");
        if let Ok(document) = document {
            assert_eq!(to_value(&document), value, "{version} loses something");
        }
        assert_eq!(read(&value, Acceptance::Exact).is_ok(), version == "1.0.0", "{version}");
    }
}

#[test]
fn a_transition_of_a_later_version_is_kept_as_it_is_and_must_still_be_a_word() {
    let (_, text, _) = FIXTURES[2];
    let document = read(&fixture(text), Acceptance::Additive).expect("it is read");
    assert_eq!(document.graph.edges[1].on, On::Later("timeout".to_owned()));
    for word in [r#""""#, "7", "null"] {
        let value = fixture(&text.replace(r#""timeout""#, word));
        assert!(read(&value, Acceptance::Additive).is_err(), "{word}");
    }
    let value = fixture(&text.replace("1.3.0", "1.0.0"));
    let faults = read(&value, Acceptance::Additive).expect_err("1.0.0 has no such word");
    assert!(faults.iter().any(|fault| fault.code.0 == "exec-unknown-transition"), "{faults:?}");
}
