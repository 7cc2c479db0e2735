//! Any text is read, checked, drawn and laid out, or refused with a place in it; what is laid out means the
//! same and stays as it is.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stave_diag::SourceId;
use stave_flow::{FormatOptions, CheckOptions, format, load, picture, semantic_hash, yaml};

fuzz_target!(|text: &str| {
    let source = SourceId(0);
    for strict in [false, true] {
        let parsed = load(source, text, &CheckOptions { strict, ..CheckOptions::default() });
        assert!(parsed.flow.is_some() || parsed.diagnostics.iter().any(stave_diag::Diagnostic::is_error));
        for found in &parsed.diagnostics {
            assert!(text.get(found.primary.range()).is_some(), "{found:?}");
            assert!(found.labels.iter().all(|label| text.get(label.span.range()).is_some()), "{found:?}");
        }
        if let Some(flow) = &parsed.flow {
            let _ = picture::diagram(flow);
        }
    }
    if let Ok(once) = format(source, text, FormatOptions::default()) {
        let hash = |text: &str| yaml::read(source, text).root.and_then(|tree| semantic_hash(&tree).ok());
        assert_eq!(hash(&once), hash(text));
        assert_eq!(format(source, &once, FormatOptions::default()).as_ref(), Ok(&once));
    }
});
