//! Canonical JSON, exact numbers, fingerprints, stable ids, and the clock and id ports.
//!
//! Every hash in Stave is taken over bytes that this crate wrote. There are three byte-exact profiles
//! ([`python_spaced`], [`compact_utf8`], [`rfc8785`]) and one value type ([`Value`]) that keeps
//! integers exact at any size and distinguishes `1` from `1.0`.
//!
//! Invariant: the same [`Value`] gives the same bytes in the same profile on every machine, and nothing
//! here reads a clock, a random source, the environment or a file.

mod clock;
mod convert;
mod escape;
mod float;
mod hash;
mod ids;
mod integer;
mod look;
mod number;
mod order;
mod parse;
mod percent;
mod plain;
mod pointer;
mod scan;
mod value;
mod write;

pub use clock::{Clock, FixedClock, Timestamp};
pub use convert::LossyNumber;
pub use float::{js_float, python_float};
pub use hash::{Sha256, prefixed_sha256, sha256, sha256_hex, sha256_of};
pub use ids::{CountingIds, Ids, SHORT_ID_LENGTH, short_hash};
pub use look::{Look, is_invisible, look};
pub use number::Number;
pub use parse::{
    DuplicateKeys, Items, MAX_DEPTH, ParseError, ParseOptions, parse, parse_bytes, parse_each,
    parse_untrusted, parse_untrusted_bytes, parse_with,
};
pub use percent::percent_encode;
pub use pointer::{Locator, Pointer, locate, locate_key};
pub use value::{Object, Value};
pub use write::{
    InexactNumber, Layout, Sink, compact_ascii, compact_utf8, pretty_insertion_ascii, pretty_insertion_utf8,
    pretty_sorted_utf8, python_spaced, rfc8785, rfc8785_exact, write, write_object, write_string,
};
