//! Canonical JSON: writing and hashing each profile, reading, and the hash alone, on some megabytes.
//!
//! A rate counts the bytes of the document's compact form, whichever profile is written.

use std::hint::black_box;
use std::rc::Rc;

use stave_canon::{Layout, Value, compact_utf8, sha256_hex, sha256_of};

use super::Benchmark;
use crate::contest::{Comparison, Entrant, InProcess, Work};
use crate::machine::Machine;
use crate::peer::Peer;
use crate::workload::document;

pub(super) const BENCHMARK: Benchmark = Benchmark {
    name: "canonical",
    about: "canonical JSON and SHA-256 of some megabytes, beside CPython's json and hashlib, and serde_json",
    prepare,
};

fn prepare(machine: &Machine) -> Vec<Comparison> {
    let document = Rc::new(document::document());
    // In the document's own order of keys, so that sorting has work to do.
    let text: Rc<str> = Rc::from(document.to_string());
    let work = Work::Bytes(compact_utf8(&document).len());
    let peer = Peer::start(machine, include_str!("../peers/canonical.py"), Value::from(&*text));
    let hashing = |title, layout: &'static Layout, peers: Vec<Entrant>| {
        let document = Rc::clone(&document);
        let ours = ours("stave_canon::sha256_of", sha256_of(&document, layout), move || {
            sha256_of(black_box(&document), layout)
        });
        Comparison { title, work, entrants: std::iter::once(ours).chain(peers).collect() }
    };
    vec![
        hashing(
            "python_spaced and SHA-256",
            &Layout::PYTHON_SPACED,
            vec![peer.entrant("CPython json.dumps, hashlib", "python_spaced")],
        ),
        hashing(
            "compact_utf8 and SHA-256",
            &Layout::COMPACT_UTF8,
            vec![peer.entrant("CPython json.dumps, hashlib", "compact_utf8"), serde_json_hashing(&document)],
        ),
        hashing(
            "rfc8785 and SHA-256",
            &Layout::RFC8785,
            vec![peer.entrant("PyPI rfc8785, hashlib", "rfc8785")],
        ),
        reading(&text, work, &peer),
        only_hash(&text, &peer),
    ]
}

fn ours<T>(name: &'static str, answer: String, work: impl Fn() -> T + 'static) -> Entrant {
    let work = move || {
        black_box(work());
    };
    Entrant { name, contestant: Ok(InProcess::boxed(answer, work)) }
}

/// serde_json sorts nothing while it writes, so its keys are in order beforehand; that work is not in its
/// time. The hash is the one that ours uses.
fn serde_json_hashing(document: &Value) -> Entrant {
    let mut sorted = document.to_serde();
    sorted.sort_all_objects();
    let digest = move || sha256_hex(black_box(&sorted).to_string());
    ours("serde_json, sorted beforehand", digest(), digest)
}

fn reading(text: &Rc<str>, work: Work, peer: &Peer) -> Comparison {
    let members = |count: usize| format!("{count} members");
    let parsed = stave_canon::parse(text).ok();
    let count = parsed.as_ref().and_then(Value::as_object).map_or(0, stave_canon::Object::len);
    let (canon_text, serde_text) = (Rc::clone(text), Rc::clone(text));
    let read = move || serde_json::from_str::<serde_json::Value>(black_box(&serde_text)).ok();
    let serde_count = read().as_ref().and_then(serde_json::Value::as_object).map_or(0, serde_json::Map::len);
    Comparison {
        title: "reading",
        work,
        entrants: vec![
            ours("stave_canon::parse", members(count), move || stave_canon::parse(black_box(&canon_text))),
            peer.entrant("CPython json.loads", "loads"),
            ours("serde_json::from_str", members(serde_count), read),
        ],
    }
}

fn only_hash(text: &Rc<str>, peer: &Peer) -> Comparison {
    let data = Rc::clone(text);
    Comparison {
        title: "SHA-256 alone",
        work: Work::Bytes(text.len()),
        entrants: vec![
            ours("stave_canon::sha256_hex", sha256_hex(&**text), move || sha256_hex(black_box(&*data))),
            peer.entrant("CPython hashlib", "sha256"),
        ],
    }
}
