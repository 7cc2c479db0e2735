//! Any bytes are read as JSON or refused with a place, and what was read is written and read again as
//! the same value.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stave_canon::{compact_utf8, locate, parse, parse_bytes, python_spaced, rfc8785};

fuzz_target!(|bytes: &[u8]| {
    match parse_bytes(bytes) {
        Ok(value) => {
            assert_eq!(parse(&compact_utf8(&value)).as_ref(), Ok(&value));
            assert_eq!(parse(&python_spaced(&value)).as_ref(), Ok(&value));
            let canonical = rfc8785(&value);
            assert_eq!(parse(&canonical).map(|value| rfc8785(&value)), Ok(canonical));
        }
        Err(error) => assert!(error.offset <= bytes.len() && error.line > 0 && error.column > 0),
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        // The text serves as its own pointer too: most are nonsense, and none may panic.
        for pointer in ["", "/0", "/a/0", text] {
            assert!(locate(text, pointer).is_none_or(|range| text.get(range).is_some()));
        }
    }
});
