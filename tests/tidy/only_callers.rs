//! Work that ARCHITECTURE.md says is done in one place is done there only: each call has a list of the files that may make it.
//!
//! A new caller is either a mistake, or a reason to change the sentence in ARCHITECTURE.md together with this table.

use crate::code_text::code_outside_tests;
use crate::offence::{Offence, assert_none};
use crate::repository::crate_sources;

struct OnlyCallers {
    call: &'static str,
    files: &'static [&'static str],
    cure: &'static str,
}

const CALLS: &[OnlyCallers] = &[
    OnlyCallers {
        call: "plan_body(",
        files: &[
            "crates/request/src/plan_body.rs",
            "crates/request/src/model_planning.rs",
            "crates/gateway/src/proxy/prepare.rs",
            "crates/cli/src/commands/cache/rewrite.rs",
        ],
        cure: "model steps plan through `ModelPlanning`, bodies of clients through the gateway's `prepare`",
    },
    OnlyCallers {
        call: "gate_body_until(",
        files: &["crates/lower/src/block_to_request/govern.rs", "crates/gateway/src/proxy/judge.rs"],
        cure: "bodies pass the gate in `lower/block_to_request/govern.rs`; the gateway bounds its time",
    },
    OnlyCallers {
        call: "sha2::",
        files: &[
            "crates/canon/src/hash.rs",
            // A prompt's stages and a request's prefixes continue from a state that was kept; a reply is hashed as it passes.
            "crates/prompt/src/hash.rs",
            "crates/gateway/src/proxy/reply.rs",
            "crates/lower/src/request_to_block/positions.rs",
        ],
        cure: "use the functions of `stave_canon`",
    },
    OnlyCallers {
        call: "Connection::open",
        files: &[
            "crates/sqlite/src/lib.rs",
            "crates/gateway/src/database/mod.rs",
            "crates/runtime/src/database/mod.rs",
            "crates/stores/src/planner_sqlite.rs",
        ],
        cure: "take the database that is open: each of these files has one owner with one writer",
    },
    OnlyCallers {
        call: "jsonschema::",
        files: &["crates/schema/", "crates/flow/"],
        cure: "use `stave_schema::SchemaValidator`",
    },
];

fn check(path: &str, text: &str) -> Vec<Offence> {
    let code = code_outside_tests(text);
    let foreign = CALLS.iter().filter(|row| {
        !row.files.iter().any(|file| path == *file || (file.ends_with('/') && path.starts_with(file)))
    });
    let found = foreign.flat_map(|row| {
        let lines = code.lines().enumerate().filter(|(_, line)| line.contains(row.call));
        lines.map(|(index, _)| {
            let what = format!("`{}` is called here", row.call);
            Offence::new(path, Some(index + 1), what, row.cure)
        })
    });
    found.collect()
}

#[test]
fn what_one_place_does_is_done_there_only() {
    let sources = crate_sources();
    let offences: Vec<_> =
        sources.iter().flat_map(|file| check(&file.path, &file.text().unwrap_or_default())).collect();
    assert_none(&offences);
}

#[test]
fn each_listed_file_makes_its_call() {
    let sources = crate_sources();
    for row in CALLS {
        for file in row.files {
            let mut owners = sources.iter().filter(|source| source.path.starts_with(file));
            let is_used = owners
                .any(|source| code_outside_tests(&source.text().unwrap_or_default()).contains(row.call));
            assert!(is_used, "{file} is listed for `{}` and does not call it", row.call);
        }
    }
}

#[test]
fn a_second_caller_is_noticed() {
    let found = check("crates/mcp/src/lib.rs", "fn f() { plan_body(&request, plan); }");
    assert_eq!(found.len(), 1);
    assert!(check("crates/request/src/plan_body.rs", "pub fn plan_body(").is_empty());
}
