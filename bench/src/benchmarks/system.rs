//! System documents of 1,000, 10,000 and 100,000 nodes: load, validate and fingerprint.
//!
//! The peer does the least that a Python loader does: it parses the text, writes it canonically and hashes
//! it, without looking at a single rule. The growth from one size to the next shows in the rates, which
//! count bytes. How much memory the largest load took is in its title.

use std::hint::black_box;
use std::rc::Rc;

use stave_canon::Value;
use stave_diag::SourceId;
use stave_system::verify::verify;
use stave_system::{Places, SystemDocument};

use super::Benchmark;
use crate::contest::{Comparison, Entrant, InProcess, Work};
use crate::machine::Machine;
use crate::peer::Peer;
use crate::workload::system;

pub(super) const BENCHMARK: Benchmark = Benchmark {
    name: "system",
    about: "load, validate and fingerprint system documents, beside CPython's json and hashlib alone",
    prepare,
};

const SIZES: [(usize, [&str; 3]); 3] = [
    (1_000, ["1,000 nodes: load, validate, fingerprint", "1,000 nodes: load", "1,000 nodes: fingerprint"]),
    (
        10_000,
        ["10,000 nodes: load, validate, fingerprint", "10,000 nodes: load", "10,000 nodes: fingerprint"],
    ),
    (
        100_000,
        ["100,000 nodes: load, validate, fingerprint", "100,000 nodes: load", "100,000 nodes: fingerprint"],
    ),
];

/// Sizes of documents in which every node has a finding.
const FINDINGS: [(usize, &str); 2] = [
    (1_000, "1,000 nodes: load, validate, place 1,000 findings"),
    (10_000, "10,000 nodes: load, validate, place 10,000 findings"),
];

fn prepare(machine: &Machine) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for (nodes, [whole, load, fingerprint]) in SIZES {
        let text: Rc<str> = Rc::from(system::document(nodes));
        let work = Work::Bytes(text.len());
        let memory = Memory::look();
        let Ok(document) = SystemDocument::from_text(&text) else { continue };
        let document = Rc::new(document);
        let title = memory.title(load, text.len());
        let peer = Peer::start(machine, include_str!("../peers/system.py"), Value::from(&*text));
        let digest = document.fingerprint();
        let (whole_text, load_text, hashed) = (Rc::clone(&text), Rc::clone(&text), Rc::clone(&document));
        let entrants = |ours: Entrant, row| vec![ours, peer.entrant("CPython json, hashlib", row)];
        comparisons.push(Comparison {
            title: whole,
            work,
            entrants: entrants(
                ours("stave_system", digest.clone(), move || {
                    let document = SystemDocument::from_text(black_box(&whole_text));
                    document.map(|document| (verify(&document).len(), document.fingerprint())).ok()
                }),
                "whole",
            ),
        });
        let count = document.nodes.len().to_string();
        comparisons.push(Comparison {
            title,
            work,
            entrants: entrants(
                ours("stave_system", count, move || SystemDocument::from_text(black_box(&load_text)).ok()),
                "load",
            ),
        });
        comparisons.push(Comparison {
            title: fingerprint,
            work,
            entrants: entrants(
                ours("stave_system", digest, move || black_box(&hashed).fingerprint()),
                "fingerprint",
            ),
        });
    }
    for (nodes, title) in FINDINGS {
        comparisons.push(findings(nodes, title));
    }
    comparisons
}

/// Every node with a finding, each at its line and column.
fn findings(nodes: usize, title: &'static str) -> Comparison {
    let text: Rc<str> = Rc::from(system::document(nodes).replace("\"runtime\"", "\"deployment\""));
    let found = |text: &str| -> usize {
        let Ok(document) = SystemDocument::from_text(text) else { return 0 };
        let mut places = Places::new(SourceId(0), text);
        let placed = verify(&document)
            .into_iter()
            .map(|finding| places.diagnostic(finding.rule.code(), &finding.pointer, &finding.message));
        placed.filter(|diagnostic| diagnostic.primary.start > 0).count()
    };
    let (work, answer) = (Work::Bytes(text.len()), found(&text).to_string());
    let entrant = ours("stave_system", answer, move || found(black_box(&text)));
    Comparison { title, work, entrants: vec![entrant] }
}

fn ours<T>(name: &'static str, answer: String, work: impl Fn() -> T + 'static) -> Entrant {
    let work = move || {
        black_box(work());
    };
    Entrant { name, contestant: Ok(InProcess::boxed(answer, work)) }
}

/// What the process holds, in kilobytes; nothing where the system does not report it.
struct Memory {
    before: Option<u64>,
}

impl Memory {
    fn look() -> Memory {
        // Writing 5 here forgets the highest mark, so that it is the load's own.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        Memory { before: status("VmRSS:") }
    }

    /// The title with the peak of what was taken since, and what the loaded document keeps of it, beside
    /// the length of the text.
    fn title(&self, title: &'static str, bytes: usize) -> &'static str {
        let (Some(before), Some(peak), Some(after)) = (self.before, status("VmHWM:"), status("VmRSS:"))
        else {
            return title;
        };
        let taken = |kilobytes: u64| kilobytes.saturating_sub(before) / 1024;
        let text = bytes / (1024 * 1024);
        let (peak, kept) = (taken(peak), taken(after));
        Box::leak(
            format!("{title} (text {text} MiB, peak {peak} MiB beside it, {kept} MiB kept)").into_boxed_str(),
        )
    }
}

fn status(key: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(key))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
