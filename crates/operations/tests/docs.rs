//! The documentation is what the descriptors say. With `STAVE_BLESS` set it is written instead.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test reads and writes the files it is about"
)]

use std::path::PathBuf;

use stave_operations::{STEP_KINDS, page, table};

const BEGIN: &str = "<!-- operations -->\n";
const END: &str = "<!-- /operations -->\n";

fn docs(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

fn compare(name: &str, wanted: &str) {
    if std::env::var_os("STAVE_BLESS").is_some() {
        std::fs::write(docs(name), wanted).unwrap();
        return;
    }
    let found = std::fs::read_to_string(docs(name)).unwrap_or_default();
    assert_eq!(found, wanted, "docs/{name} is out of date; run with STAVE_BLESS=1");
}

#[test]
fn the_page_of_operations_is_generated() {
    let page = page();
    for kind in STEP_KINDS {
        assert!(page.contains(&format!("\n### `{}`\n", kind.name)), "{}", kind.name);
    }
    compare("operations.md", &page);
}

#[test]
fn the_table_in_the_guide_is_generated() {
    let guide = std::fs::read_to_string(docs("flow.md")).unwrap();
    let (before, rest) = guide.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    compare("flow.md", &format!("{before}{BEGIN}{}{END}{after}", table()));
}
