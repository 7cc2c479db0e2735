//! The prompt line: governance and plugins, a denial, the hash, reading and compiling, beside the same
//! steps in Python, written after the specification's own listing.
//!
//! Both sides ask the system's clock and draw random ids. The peer divides characters by four where it needs
//! tokens; ours does so where the work is compared, and counts the model's real tokens in a row of its own.
//! Where a hash is part of the work, SHA-256 of the same bytes alone is measured beside it: nothing can take less.

use std::cell::RefCell;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stave_canon::{Clock, Ids, Timestamp, Value, sha256_hex};
use stave_llm::tokens;
use stave_prompt::compile::{Compiler, Templates, TokenCounter};
use stave_prompt::governance::PolicySet;
use stave_prompt::plugins::{BudgetOptimizer, ContextDigest};
use stave_prompt::resolve::{NoSource, ReferenceSource, ReferenceText, Unavailable, resolve};
use stave_prompt::{
    FileSelection, PhaseType, Pipeline, PromptIr, PromptIrBuilder, canonical, from_dict, short_hash, to_dict,
};

use super::Benchmark;
use crate::contest::{Comparison, Entrant, Error, InProcess, Work};
use crate::machine::Machine;
use crate::peer::Peer;

pub(super) const BENCHMARK: Benchmark = Benchmark {
    name: "prompt",
    about: "Prompt IR: process, denied process, hash, read and compile, beside the same in Python",
    prepare,
};

const MODEL: &str = "gpt-4o";
/// Where the files of the compiled prompts lie, below the folder of temporary files.
const FILES: &str = "stave-bench-prompt";

fn prepare(machine: &Machine) -> Vec<Comparison> {
    let ir = Arc::new(prompt("file:src/auth/login.py"));
    let denied = Arc::new(prompt("file:/etc/passwd"));
    let text: Rc<str> = Rc::from(to_dict(&ir).to_string());
    let folder = write_files();
    let shown = folder.as_ref().map(|folder| folder.display().to_string()).unwrap_or_default();
    let input = Value::from_iter([
        ("ir", to_dict(&ir)),
        ("denied", to_dict(&denied)),
        ("raw", to_dict(&raw())),
        ("files", to_dict(&filed(3000))),
        ("over", to_dict(&filed(1000))),
        ("folder", shown.as_str().into()),
    ]);
    let peer = Peer::start(machine, include_str!("../peers/prompt.py"), input);
    let process = |title, ir: &Arc<PromptIr>, row| {
        let entrants = vec![
            processing("Pipeline::process", ir, PolicySet::specified()),
            processing("Pipeline::process, strict mode", ir, PolicySet::strict()),
            peer.entrant("CPython", row),
        ];
        Comparison { title, work: Work::Calls(1), entrants }
    };
    let with_files = |title, budget: u64, row| Comparison {
        title,
        work: Work::Calls(1),
        entrants: vec![
            compiling("resolve, compile_from_ir", filed(budget), &folder, Tokens::Quarters),
            reading("reading the ten files alone", &folder),
            compiling("the same, real tokens", filed(budget), &folder, Tokens::Real),
            peer.entrant("CPython, five files of the ten", row),
        ],
    };
    let canonical_text = canonical(&ir);
    vec![
        process("process, 10 references, 3 constraints", &ir, "process"),
        process("process, denied", &denied, "denied"),
        Comparison {
            title: "to_dict and hash",
            work: Work::Calls(1),
            entrants: vec![
                ours("short_hash", short_hash(&ir).to_string(), {
                    let ir = Arc::clone(&ir);
                    move || short_hash(black_box(&ir))
                }),
                ours("SHA-256 of the text alone", short_hash(&ir).to_string(), move || {
                    sha256_hex(black_box(&canonical_text))
                }),
                peer.entrant("CPython json.dumps, hashlib", "hash"),
            ],
        },
        Comparison {
            title: "read from JSON",
            work: Work::Calls(1),
            entrants: vec![
                ours("parse, from_dict", ir.role.clone(), move || {
                    let value = stave_canon::parse(black_box(&text)).unwrap_or_default();
                    from_dict(&value, &RandomIds, &SystemClock)
                }),
                peer.entrant("CPython json.loads, dataclass", "read"),
            ],
        },
        Comparison {
            title: "compile, raw references",
            work: Work::Calls(1),
            entrants: vec![
                compiling("compile_from_ir", raw(), &Ok(PathBuf::new()), Tokens::Quarters),
                compiling("the same, tokens counted", raw(), &Ok(PathBuf::new()), Tokens::Real),
                peer.entrant("CPython", "compile"),
            ],
        },
        with_files("compile, ten files of 1 KB", 3000, "files"),
        with_files("compile, ten files, over budget", 1000, "over"),
    ]
}

/// Ten references, the given one last, and three constraints.
fn prompt(last: &str) -> PromptIr {
    let mut builder = builder()
        .phase(PhaseType::Planning)
        .add_constraint("Must support OAuth 2.0")
        .add_constraint("Must not expose user credentials in logs")
        .add_constraint("Keep the public interface stable")
        .set_priority(7);
    for number in 0..9 {
        builder = builder.add_context_ref(format!("file:src/auth/module_{number}.py"));
    }
    built(builder.add_context_ref(last))
}

fn raw() -> PromptIr {
    let builder = builder().add_constraint("Must support OAuth 2.0");
    built((0..5).fold(builder, |builder, number| builder.add_context_ref(format!("module {number}"))))
}

fn filed(budget: u64) -> PromptIr {
    let builder = builder().add_constraint("Must support OAuth 2.0").set_token_budget(budget);
    built((0..10).fold(builder, |builder, number| builder.add_context_ref(format!("file:{number}.txt"))))
}

fn builder() -> PromptIrBuilder {
    PromptIrBuilder::new("architect", "Design a REST API for user authentication").set_model_hint("openai")
}

fn built(builder: PromptIrBuilder) -> PromptIr {
    match builder.build(&RandomIds, &SystemClock) {
        Ok(ir) => ir,
        Err(error) => unreachable!("the prompt of the benchmark is a valid one: {error}"),
    }
}

/// Ten files of 1 KB of short lines.
fn write_files() -> Result<PathBuf, Error> {
    let folder = std::env::temp_dir().join(FILES);
    let failed = |error: std::io::Error| Error::Missing(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(&folder).map_err(failed)?;
    for number in 0..10 {
        let line = format!("def handler_{number}(request): return respond(request)\n");
        let text: String = line.chars().cycle().take(1024).collect();
        std::fs::write(folder.join(format!("{number}.txt")), text).map_err(failed)?;
    }
    Ok(folder)
}

fn processing(name: &'static str, ir: &Arc<PromptIr>, policies: PolicySet) -> Entrant {
    let pipeline = Pipeline::new(Some(policies))
        .with_plugin(Box::new(ContextDigest::default()))
        .with_plugin(Box::new(BudgetOptimizer::default()));
    let outcome = pipeline.process(ir, &RandomIds, &SystemClock);
    let answer = format!("{} {} violations", outcome.ir.token_budget.tokens(), outcome.violations.len());
    let ir = Arc::clone(ir);
    ours(name, answer, move || pipeline.process_shared(black_box(&ir), &RandomIds, &SystemClock))
}

/// How tokens are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tokens {
    /// Four characters are one.
    Quarters,
    /// As the model counts them.
    Real,
}

fn compiling(
    name: &'static str,
    ir: PromptIr,
    folder: &Result<PathBuf, Error>,
    tokens_as: Tokens,
) -> Entrant {
    let folder = match folder {
        Ok(folder) => folder.clone(),
        Err(error) => return Entrant { name, contestant: Err(Error::Missing(error.to_string())) },
    };
    let source = Folder(folder);
    let compiler = Compiler { templates: Templates::default() };
    let quarters = |text: &str| text.chars().count() as u64 / 4;
    let real = |text: &str| tokens::count_text(MODEL, text).tokens;
    let compile = move || {
        let ir = black_box(&ir);
        let counter = match tokens_as {
            // As many bytes are at least as many characters, so that what fits is known without counting.
            Tokens::Quarters => TokenCounter::new(&quarters).ceiling(|bytes| bytes as u64 / 4),
            Tokens::Real => TokenCounter::new(&real),
        };
        let resolution =
            if source.0.as_os_str().is_empty() { resolve(ir, &NoSource) } else { resolve(ir, &source) };
        compiler.compile_from_ir(ir, resolution, &counter).map(|done| done.content())
    };
    let answer = compile().map_or_else(|error| error.to_string(), |text| task(&text));
    ours(name, answer, compile)
}

/// What compiling with files cannot take less than.
fn reading(name: &'static str, folder: &Result<PathBuf, Error>) -> Entrant {
    let folder = match folder {
        Ok(folder) => folder.clone(),
        Err(error) => return Entrant { name, contestant: Err(Error::Missing(error.to_string())) },
    };
    ours(name, task("Design a REST API for user authentication"), move || {
        for number in 0..10 {
            black_box(std::fs::read_to_string(folder.join(format!("{number}.txt"))).unwrap_or_default());
        }
    })
}

/// What compiled texts of both sides have in common: the task.
fn task(text: &str) -> String {
    format!("task {}", text.contains("Design a REST API for user authentication"))
}

/// The files of one folder, read anew for every prompt.
#[derive(Debug)]
struct Folder(PathBuf);

impl ReferenceSource for Folder {
    fn files(&self, selection: &FileSelection<'_>) -> Result<Vec<ReferenceText>, Unavailable> {
        let text = std::fs::read_to_string(self.0.join(Path::new(selection.path)));
        let text = text.map_err(|error| Unavailable::Failed(error.to_string()))?;
        Ok(vec![ReferenceText {
            name: selection.path.to_owned(),
            real_paths: Vec::new(),
            text,
            is_cut: false,
        }])
    }

    fn diff(&self, _: &str) -> Result<ReferenceText, Unavailable> {
        Err(Unavailable::NoSource)
    }
}

fn ours<T>(name: &'static str, answer: String, work: impl Fn() -> T + 'static) -> Entrant {
    let work = move || {
        black_box(work());
    };
    Entrant { name, contestant: Ok(InProcess::boxed(answer, work)) }
}

#[derive(Debug)]
struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn elapsed(&self) -> Duration {
        thread_local!(static START: Instant = Instant::now());
        START.with(Instant::elapsed)
    }
}

/// Random ids. Random bytes are asked for many at a time, as the program does it.
#[derive(Debug)]
struct RandomIds;

impl Ids for RandomIds {
    fn fresh(&self) -> u128 {
        thread_local!(static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
        BYTES.with_borrow_mut(|bytes| {
            if bytes.len() < 16 {
                bytes.resize(4096, 0);
                // A benchmark continues without randomness; the program does not.
                let _ = getrandom::fill(bytes);
            }
            bytes.drain(bytes.len() - 16..).fold(0, |id, byte| (id << 8) | u128::from(byte))
        })
    }
}
