//! The command line prints and reads in one place each: `terminal.rs` keeps texts of others from steering the
//! terminal, and `files/read.rs` of the project's library refuses pipes, devices and files without an end. Code that
//! went around them would have to remember both.

use crate::code_text::code_outside_tests;
use crate::offence::{Offence, assert_none};
use crate::repository::crate_sources;

/// The command line, and the libraries that read and write files for it.
const FOLDERS: [&str; 4] =
    ["crates/cli/src/", "crates/compile/src/", "crates/project/src/", "crates/testing/src/"];

struct Place {
    calls: &'static [&'static str],
    /// The file that may, and the files that need to, with their reasons.
    home: &'static str,
    others: &'static [(&'static str, &'static str)],
    cure: &'static str,
}

const PLACES: &[Place] = &[
    Place {
        calls: &["println!", "print!", "eprintln!", "eprint!", "io::stdout", "io::stderr"],
        home: "crates/cli/src/terminal.rs",
        others: &[
            ("crates/cli/src/commands/mod.rs", "a worker speaks its protocol on its standard streams"),
            ("crates/cli/src/commands/rep.rs", "the runtime of an orchestrator speaks JSON on its streams"),
            ("crates/cli/src/commands/compile/report.rs", "asks only whether somebody is looking"),
        ],
        cure: "print with `terminal::out` or `terminal::error`",
    },
    Place {
        calls: &["out_styled(", "error_styled("],
        home: "crates/cli/src/terminal.rs",
        others: &[
            ("crates/cli/src/commands/", "renderers make the parts of a text visible before they colour it"),
            ("crates/cli/src/findings.rs", "findings are rendered in colour"),
            ("crates/cli/src/exec_document.rs", "findings are rendered in colour"),
            ("crates/cli/src/outcome.rs", "the table of a run is coloured"),
        ],
        cure: "print with `terminal::out` or `terminal::error`",
    },
    Place {
        calls: &["fs::read(", "fs::read_to_string", "File::open", ".read(true)"],
        home: "crates/project/src/files/read.rs",
        others: &[
            ("crates/compile/src/folder.rs", "a folder is opened to be locked, and nothing is read"),
            ("crates/compile/src/publish/disk.rs", "files and folders are opened to be synchronised"),
        ],
        cure: "read with `files::read_text` or another function of `files`",
    },
];

fn check(path: &str, text: &str) -> Vec<Offence> {
    let is_judged = FOLDERS.iter().any(|folder| path.starts_with(folder));
    if !is_judged || path.ends_with("/tests.rs") {
        return Vec::new();
    }
    let code = code_outside_tests(text);
    let mut offences = Vec::new();
    for place in PLACES {
        let is_other = |(other, _): &(&str, &str)| {
            if other.ends_with('/') { path.starts_with(other) } else { path == *other }
        };
        if path == place.home || place.others.iter().any(is_other) {
            continue;
        }
        for (index, line) in code.lines().enumerate() {
            if let Some(call) = place.calls.iter().find(|call| line.contains(**call)) {
                offences.push(Offence::new(
                    path,
                    Some(index + 1),
                    format!("`{call}` is banned here"),
                    place.cure,
                ));
            }
        }
    }
    offences
}

#[test]
fn the_command_line_prints_and_reads_in_one_place() {
    let offences: Vec<Offence> =
        crate_sources().iter().filter_map(|file| Some(check(&file.path, &file.text()?))).flatten().collect();
    assert_none(&offences);
}

#[test]
fn the_rule_finds_those_who_go_around() {
    for call in PLACES.iter().flat_map(|place| place.calls) {
        assert_eq!(
            check("crates/cli/src/progress.rs", &format!("let x = std::{call}y);")).len(),
            1,
            "{call}"
        );
    }
    assert_eq!(check("crates/cli/src/terminal.rs", "std::io::stdout()"), []);
    assert_eq!(check("crates/flow/src/lib.rs", "std::io::stdout()"), []);
}
