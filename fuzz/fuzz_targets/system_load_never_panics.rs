//! Any text is loaded as a system document or refused with its faults, and a loaded one saves and loads
//! with the same fingerprint.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stave_system::verify::verify;
use stave_system::{SystemDocument, LoadError, diff, workflow_order};

fuzz_target!(|text: &str| {
    match SystemDocument::from_text(text) {
        Ok(document) => {
            let loaded = SystemDocument::from_text(&document.to_file_text());
            assert_eq!(loaded.map(|loaded| loaded.fingerprint()), Ok(document.fingerprint()));
            assert!(workflow_order(&document).len() <= document.nodes.len());
            assert!(diff(&document, &document).is_ok_and(|difference| difference.changed.is_empty()));
            verify(&document).into_iter().for_each(drop);
        }
        Err(LoadError::Faults(faults)) => assert!(!faults.is_empty()),
        Err(LoadError::Syntax(error)) => assert!(error.offset <= text.len()),
    }
});
