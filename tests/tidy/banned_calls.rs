//! Time, randomness, environment, files, processes and output come in through ports. Only the command line
//! touches them for the others, and the exceptions are in one table, each with its reason.

use crate::code_text::code_outside_tests;
use crate::offence::{Offence, assert_none};
use crate::repository::crate_sources;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ambient {
    Clock,
    Randomness,
    Environment,
    Files,
    Spawning,
    Terminal,
}

impl Ambient {
    const ALL: [Ambient; 6] = [
        Ambient::Clock,
        Ambient::Randomness,
        Ambient::Environment,
        Ambient::Files,
        Ambient::Spawning,
        Ambient::Terminal,
    ];

    fn calls(self) -> &'static [&'static str] {
        match self {
            Ambient::Clock => {
                &["SystemTime::now", "Instant::now", "Timestamp::now", "Zoned::now", "Utc::now", "Local::now"]
            }
            Ambient::Randomness => &["getrandom", "rand::", "fastrand", "Uuid::new_v4", "Uuid::now_v7"],
            Ambient::Environment => {
                &["std::env", "env::var", "env::args", "env::current_dir", "env::temp_dir"]
            }
            Ambient::Files => &[
                "std::fs",
                "tokio::fs",
                "fs::read",
                "fs::write",
                "File::open",
                "File::create",
                "OpenOptions",
            ],
            Ambient::Spawning => &[
                "tokio::spawn",
                "task::spawn(",
                "thread::spawn",
                "thread::Builder",
                "Command::new",
                "process::exit",
                "process::abort",
            ],
            Ambient::Terminal => &[
                "println!",
                "print!",
                "eprintln!",
                "eprint!",
                "dbg!",
                "io::stdin",
                "io::stdout",
                "io::stderr",
            ],
        }
    }

    fn cure(self) -> &'static str {
        match self {
            Ambient::Clock => "take a `stave_canon::Clock`",
            Ambient::Randomness => "take a `stave_canon::Ids`, or a seed",
            Ambient::Environment => "let the command line read it and pass the value in",
            Ambient::Files => "let the command line read and write files and pass contents in",
            Ambient::Spawning => "give the work to an owner that waits for it, such as a JoinSet",
            Ambient::Terminal => "return the text and let the command line print it",
        }
    }
}

struct Exception {
    /// A file, or a folder with a slash at its end.
    path: &'static str,
    what: &'static [Ambient],
    reason: &'static str,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        path: "crates/cli/",
        what: &Ambient::ALL,
        reason: "the command line is where the ports are connected to the process",
    },
    Exception {
        path: "crates/project/src/ports.rs",
        what: &[Ambient::Clock, Ambient::Randomness],
        reason: "the system's clock and random source behind the ports that the other crates take",
    },
    Exception {
        path: "crates/project/src/files.rs",
        what: &[Ambient::Environment, Ambient::Files],
        reason: "sources are found in folders, and paths are shown from the current folder",
    },
    Exception {
        path: "crates/project/src/files/",
        what: &[Ambient::Files, Ambient::Terminal],
        reason: "the one way of reading and writing files, and standard input where a person names it",
    },
    Exception {
        path: "crates/project/src/context/",
        what: &[Ambient::Clock, Ambient::Environment, Ambient::Files, Ambient::Spawning],
        reason: "references of prompts lead to files of the project, and to diffs by a git that is started and watched",
    },
    Exception {
        path: "crates/project/src/admission.rs",
        what: &[Ambient::Files],
        reason: "the documents that a compile wrote are found in its folder",
    },
    Exception {
        path: "crates/project/src/admission/artefacts.rs",
        what: &[Ambient::Files],
        reason: "the run manifests of a compile are found in its folder",
    },
    Exception {
        path: "crates/project/src/features.rs",
        what: &[Ambient::Files],
        reason: "a project's rows and models are files in two of its folders",
    },
    Exception {
        path: "crates/project/src/governance.rs",
        what: &[Ambient::Files],
        reason: "a project's prompt templates are files in one of its folders",
    },
    Exception {
        path: "crates/project/src/planner_files.rs",
        what: &[Ambient::Files],
        reason: "files of cache planners that nobody uses any more are found and removed",
    },
    Exception {
        path: "crates/project/src/prompt_plugins.rs",
        what: &[Ambient::Files, Ambient::Spawning],
        reason: "plugins are files of the project, and run on one thread, which its owner joins",
    },
    Exception {
        path: "crates/project/src/signing_keys.rs",
        what: &[Ambient::Files],
        reason: "a secret key whose file others can read is refused",
    },
    Exception {
        path: "crates/project/src/source_kind.rs",
        what: &[Ambient::Files],
        reason: "the policy of a workflow is a file beside it",
    },
    Exception {
        path: "crates/project/src/state_folder.rs",
        what: &[Ambient::Files],
        reason: "a state folder says whose it is in a file that is made once",
    },
    Exception {
        path: "crates/project/src/storage.rs",
        what: &[Ambient::Files],
        reason: "a database that cannot be written is copied before it is read",
    },
    Exception {
        path: "crates/project/src/services.rs",
        what: &[Ambient::Environment],
        reason: "a Python worker is this program again, and tool servers are given the variables that programs need",
    },
    Exception {
        path: "crates/project/src/project/secrets.rs",
        what: &[Ambient::Environment, Ambient::Files],
        reason: "the secrets of a project are variables of the process or files in a folder that the project names",
    },
    Exception {
        path: "crates/project/src/tracing.rs",
        what: &[Ambient::Environment],
        reason: "OpenTelemetry is set up by variables that its specification names",
    },
    Exception {
        path: "crates/project/src/without/tracing.rs",
        what: &[Ambient::Environment],
        reason: "the variables that its specification names say whether tracing is wanted",
    },
    Exception {
        path: "crates/compile/src/lib.rs",
        what: &[Ambient::Environment],
        reason: "an output folder that is the current folder is not exchanged",
    },
    Exception {
        path: "crates/compile/src/clean.rs",
        what: &[Ambient::Environment],
        reason: "an output folder that is the current folder is not removed",
    },
    Exception {
        path: "crates/compile/src/cache.rs",
        what: &[Ambient::Environment, Ambient::Files],
        reason: "results of another build of this program are not used, so its file is looked at",
    },
    Exception {
        path: "crates/compile/src/time.rs",
        what: &[Ambient::Environment],
        reason: "SOURCE_DATE_EPOCH fixes the time of a compile",
    },
    Exception {
        path: "crates/compile/src/folder.rs",
        what: &[Ambient::Files],
        reason: "the folder above the output folder is made and locked",
    },
    Exception {
        path: "crates/compile/src/overlap.rs",
        what: &[Ambient::Files],
        reason: "folders are compared by identity and not by spelling",
    },
    Exception {
        path: "crates/compile/src/publish/disk.rs",
        what: &[Ambient::Files],
        reason: "the disk behind the operations that publishing is made of",
    },
    Exception {
        path: "crates/conform/src/main.rs",
        what: &[Ambient::Environment, Ambient::Files, Ambient::Terminal],
        reason: "a program of its own that reads rows and prints answers",
    },
    Exception {
        path: "crates/script/src/pool/",
        what: &[Ambient::Clock, Ambient::Spawning],
        reason: "Python runs in worker processes that the pool starts, watches and kills at their deadline",
    },
    Exception {
        path: "crates/runtime/src/database/writer.rs",
        what: &[Ambient::Spawning],
        reason: "writes to the database share transactions on one thread, which its owner joins",
    },
    Exception {
        path: "crates/runtime/src/database/log.rs",
        what: &[Ambient::Files],
        reason: "the database's own log is made as long as it gets, while the database is locked",
    },
    Exception {
        path: "crates/runtime/src/conditions/against_python.rs",
        what: &[Ambient::Environment],
        reason: "a test finds the Python worker that cargo builds beside it",
    },
    Exception {
        path: "crates/telemetry/src/telemetry.rs",
        what: &[Ambient::Spawning],
        reason: "the last sending is given up after a bound, so nothing may wait for its thread",
    },
    Exception {
        path: "crates/runtime/src/database/mark.rs",
        what: &[Ambient::Files],
        reason: "a count of commits beside the database shows that its log was lost",
    },
    Exception {
        path: "crates/runtime/src/database/lease.rs",
        what: &[Ambient::Files, Ambient::Spawning],
        reason: "a lock file beside the database tells other processes which runs are being worked on, and a thread that its owner joins puts it back",
    },
    Exception {
        path: "crates/request/src/planning/kept.rs",
        what: &[Ambient::Spawning],
        reason: "what planners learned is written on one thread, which its owner joins",
    },
    Exception {
        path: "crates/gateway/src/database/writer.rs",
        what: &[Ambient::Spawning],
        reason: "records and spending are written in groups on one thread, which its owner joins",
    },
    Exception {
        path: "crates/mcp/src/connection.rs",
        what: &[Ambient::Spawning],
        reason: "a tool server on standard streams is a program that the connection starts and ends",
    },
    Exception {
        path: "crates/pyworker/src/lib.rs",
        what: &[Ambient::Spawning],
        reason: "the interpreter needs a deeper stack than a process begins with, on a thread that is waited for",
    },
    Exception {
        path: "crates/pyworker/src/bin/",
        what: &[Ambient::Terminal],
        reason: "a worker program for tests, which gives its standard input and output to the loop",
    },
];

fn is_excepted(path: &str, ambient: Ambient) -> bool {
    EXCEPTIONS.iter().any(|exception| {
        let covers = if exception.path.ends_with('/') {
            path.starts_with(exception.path)
        } else {
            path == exception.path
        };
        covers && exception.what.contains(&ambient)
    })
}

/// A file that only tests are built from.
fn is_test_module(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

fn check(path: &str, text: &str) -> Vec<Offence> {
    uses(path, text)
        .into_iter()
        .filter(|(_, ambient, _)| !is_excepted(path, *ambient))
        .map(|(line, ambient, call)| {
            Offence::new(path, Some(line), format!("`{call}` is banned here"), ambient.cure())
        })
        .collect()
}

/// The lines, counted from 1, that touch something ambient.
fn uses(path: &str, text: &str) -> Vec<(usize, Ambient, &'static str)> {
    if is_test_module(path) {
        return Vec::new();
    }
    let code = code_outside_tests(text);
    let mut found = Vec::new();
    for (index, line) in code.lines().enumerate() {
        for ambient in Ambient::ALL {
            let call = ambient.calls().iter().find(|call| calls(line, call));
            found.extend(call.map(|call| (index + 1, ambient, *call)));
        }
    }
    found
}

/// Whether the line has the call, and not as the tail of a longer name.
fn calls(line: &str, call: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    line.match_indices(call).any(|(start, _)| !line[..start].ends_with(is_letter))
}

#[test]
fn crates_touch_nothing_ambient() {
    let offences: Vec<Offence> =
        crate_sources().iter().filter_map(|file| Some(check(&file.path, &file.text()?))).flatten().collect();
    assert_none(&offences);
}

#[test]
fn every_exception_has_a_reason_and_is_needed() {
    let sources = crate_sources();
    for exception in EXCEPTIONS {
        assert!(exception.reason.split_whitespace().count() > 4, "{}: say why", exception.path);
        let needed = sources.iter().filter(|file| file.path.starts_with(exception.path)).any(|file| {
            let text = file.text().unwrap_or_default();
            uses(&file.path, &text).iter().any(|(_, ambient, _)| exception.what.contains(ambient))
        });
        assert!(needed, "nothing in {} needs its exception; remove the row", exception.path);
    }
}

#[test]
fn the_rule_finds_calls_in_code_only() {
    let path = "crates/flow/src/model.rs";
    for call in Ambient::ALL.iter().flat_map(|ambient| ambient.calls()) {
        assert_eq!(check(path, &format!("let x = {call}(1);")).len(), 1, "{call}");
        assert_eq!(check("crates/cli/src/main.rs", call), [], "{call}");
    }
    assert_eq!(check(path, "use std::fs::File;\nlet now = jiff::Timestamp::now();\n").len(), 2);
    assert_eq!(check(path, "// std::fs\nlet x = \"Command::new\";\n"), []);
    assert_eq!(check(path, "let x = operand::of(y);\n"), []);
    assert_eq!(check(path, "#[cfg(test)]\nmod tests { fn f() { println!(); } }\n"), []);
    assert_eq!(check(path, "#[cfg(test)]\nmod tests;\nfn f() { println!(); }\n").len(), 1);
    assert_eq!(check("crates/flow/src/model/tests.rs", "println!()"), []);
    assert_eq!(check("crates/script/src/pool/mod.rs", "Command::new(x)"), []);
    assert_eq!(check("crates/script/src/pool/mod.rs", "std::fs::read(x)").len(), 1);
}
