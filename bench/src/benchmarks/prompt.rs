//! The prompt line: governance and plugins, a denial, the hash, reading and compiling, beside the same
//! steps in Python, written after the specification's own listing.
//!
//! Compiling never counts tokens in the peer, which divides characters by four. Ours knows from the bytes
//! that the prompt fits and counts nothing; a further row counts real tokens.

use std::hint::black_box;
use std::rc::Rc;

use stave_canon::{CountingIds, FixedClock, Timestamp, Value};
use stave_llm::tokens;
use stave_prompt::compile::{Compiler, Templates, TokenCounter};
use stave_prompt::governance::PolicySet;
use stave_prompt::plugins::{BudgetOptimizer, ContextDigest};
use stave_prompt::resolve::Resolution;
use stave_prompt::{PhaseType, Pipeline, PromptIr, PromptIrBuilder, from_dict, short_hash, to_dict};

use super::Benchmark;
use crate::contest::{Comparison, Entrant, InProcess, Work};
use crate::machine::Machine;
use crate::peer::Peer;

pub(super) const BENCHMARK: Benchmark = Benchmark {
    name: "prompt",
    about: "Prompt IR: process, denied process, hash, read and compile, beside the same in Python",
    prepare,
};

const CLOCK: FixedClock = FixedClock(Timestamp::UNIX_EPOCH);
const MODEL: &str = "gpt-4o";

fn prepare(machine: &Machine) -> Vec<Comparison> {
    let ir = Rc::new(prompt("file:src/auth/login.py"));
    let denied = Rc::new(prompt("file:/etc/passwd"));
    let input = Value::from_iter([("ir", to_dict(&ir)), ("denied", to_dict(&denied))]);
    let text: Rc<str> = Rc::from(to_dict(&ir).to_string());
    let peer = Peer::start(machine, include_str!("../peers/prompt.py"), input);
    let process = |title, ir: &Rc<PromptIr>, row| {
        let entrants = vec![
            processing("Pipeline::process", ir, PolicySet::specified()),
            processing("Pipeline::process, strict mode", ir, PolicySet::strict()),
            peer.entrant("CPython", row),
        ];
        Comparison { title, work: Work::Calls(1), entrants }
    };
    vec![
        process("process, 10 references, 3 constraints", &ir, "process"),
        process("process, denied", &denied, "denied"),
        Comparison {
            title: "to_dict and hash",
            work: Work::Calls(1),
            entrants: vec![
                ours("short_hash", short_hash(&ir).to_string(), {
                    let ir = Rc::clone(&ir);
                    move || short_hash(black_box(&ir))
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
                    from_dict(&value, &CountingIds::new(), &CLOCK)
                }),
                peer.entrant("CPython json.loads, dataclass", "read"),
            ],
        },
        Comparison {
            title: "compile, raw references",
            work: Work::Calls(1),
            entrants: vec![
                compiling("Compiler::compile_from_ir", false),
                compiling("Compiler, tokens counted", true),
                peer.entrant("CPython, characters by four", "compile"),
            ],
        },
    ]
}

/// Ten references, the given one last, and three constraints.
fn prompt(last: &str) -> PromptIr {
    let mut builder = PromptIrBuilder::new("architect", "Design a REST API for user authentication")
        .phase(PhaseType::Planning)
        .add_constraint("Must support OAuth 2.0")
        .add_constraint("Must not expose user credentials in logs")
        .add_constraint("Keep the public interface stable")
        .set_priority(7)
        .set_model_hint("openai");
    for number in 0..9 {
        builder = builder.add_context_ref(format!("file:src/auth/module_{number}.py"));
    }
    built(builder.add_context_ref(last))
}

fn built(builder: PromptIrBuilder) -> PromptIr {
    match builder.build(&CountingIds::new(), &CLOCK) {
        Ok(ir) => ir,
        Err(error) => unreachable!("the prompt of the benchmark is a valid one: {error}"),
    }
}

fn processing(name: &'static str, ir: &Rc<PromptIr>, policies: PolicySet) -> Entrant {
    let pipeline = Pipeline::new(Some(policies))
        .with_plugin(Box::new(ContextDigest::default()))
        .with_plugin(Box::new(BudgetOptimizer));
    let ids = CountingIds::new();
    let outcome = pipeline.process(ir, &ids, &CLOCK);
    let answer = format!("{} {} violations", outcome.ir.token_budget.tokens(), outcome.violations.len());
    let ir = Rc::clone(ir);
    ours(name, answer, move || pipeline.process(black_box(&ir), &ids, &CLOCK))
}

fn compiling(name: &'static str, counts: bool) -> Entrant {
    let mut builder = PromptIrBuilder::new("architect", "Design a REST API for user authentication")
        .set_model_hint("openai")
        .add_constraint("Must support OAuth 2.0");
    for number in 0..5 {
        builder = builder.add_context_ref(format!("module {number}"));
    }
    let ir = built(builder);
    let compiler = Compiler { templates: Templates::default() };
    let count = |text: &str| tokens::count_text(MODEL, text).tokens;
    let compile = move || {
        let counter = TokenCounter::new(&count);
        let counter = if counts { counter } else { counter.ceiling(tokens::most_of(MODEL)) };
        compiler.compile_from_ir(black_box(&ir), Resolution::default(), &counter).map(|done| done.content())
    };
    let answer = compile().map_or_else(|error| error.to_string(), |text| references(&text));
    ours(name, answer, compile)
}

/// How many references a compiled text has, which is what both sides have in common.
fn references(text: &str) -> String {
    format!("{} references", text.matches("[Reference: ").count())
}

fn ours<T>(name: &'static str, answer: String, work: impl Fn() -> T + 'static) -> Entrant {
    let work = move || {
        black_box(work());
    };
    Entrant { name, contestant: Ok(InProcess::boxed(answer, work)) }
}
