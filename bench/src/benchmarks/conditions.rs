//! The condition of an edge, evaluated in the sandbox: one scope a call, and a hundred.

use std::rc::Rc;

use stave_canon::{Object, Value};

use super::Benchmark;
use crate::contest::{Comparison, Contestant, Entrant, Work};
use crate::machine::Machine;
use crate::peer::Peer;
use crate::worker::{Calls, Sandbox};

pub(super) const BENCHMARK: Benchmark = Benchmark {
    name: "conditions",
    about: "an edge's condition in a sandboxed worker, beside CPython's eval over a pipe and in process",
    prepare,
};

const EXPRESSION: &str =
    "value['confidence'] >= 0.4 and (context.tier != 'basic' or value['label'] in ['question', 'change'])";
const BATCH: u32 = 100;

fn prepare(machine: &Machine) -> Vec<Comparison> {
    let scopes: Vec<Object> = (0..BATCH).map(scope).collect();
    let input = Value::from_iter([
        ("expression".to_owned(), Value::from(EXPRESSION)),
        ("scopes".to_owned(), scopes.iter().cloned().map(Value::Object).collect::<Vec<_>>().into()),
    ]);
    let peer = Peer::start(machine, include_str!("../peers/conditions.py"), input);
    let ours = |batch: u32| {
        let contestant = Sandbox::open(machine, EXPRESSION, &scopes).map(|sandbox: Rc<Sandbox>| {
            Box::new(Calls { sandbox, batch: batch as usize, position: 0 }) as Box<dyn Contestant>
        });
        Entrant { name: "PythonPool::evaluate", contestant }
    };
    vec![
        Comparison {
            title: "one scope a call",
            work: Work::Calls(1),
            entrants: vec![
                ours(1),
                peer.entrant("CPython eval, over a pipe", "piped_one"),
                peer.entrant("CPython eval, in process", "in_process_one"),
            ],
        },
        Comparison {
            title: "a hundred scopes a call",
            work: Work::Calls(BATCH),
            entrants: vec![
                ours(BATCH),
                peer.entrant("CPython eval, over a pipe", "piped_batch"),
                peer.entrant("CPython eval, in process", "in_process_batch"),
            ],
        },
    ]
}

/// What the runtime binds for an edge: the value, the port's own name, the node's outputs, the context.
fn scope(number: u32) -> Object {
    let label = ["question", "complaint", "change", "other"][number as usize % 4];
    let category = Value::from_iter([
        ("label".to_owned(), Value::from(label)),
        ("confidence".to_owned(), Value::from(f64::from(number) / f64::from(BATCH))),
        ("reason".to_owned(), Value::from("The customer asks why the second invoice is higher.")),
    ]);
    let context = Value::from_iter([
        ("user_id".to_owned(), Value::from(format!("customer-{number}"))),
        ("session_id".to_owned(), Value::from("session-1")),
        ("event_time".to_owned(), Value::from("2026-05-06T07:08:09Z")),
        ("tier".to_owned(), Value::from(["basic", "gold", "platinum"][number as usize % 3])),
    ]);
    Object::from_iter([
        ("value".to_owned(), category.clone()),
        ("category".to_owned(), category.clone()),
        ("outputs".to_owned(), Value::from_iter([("category".to_owned(), category)])),
        ("context".to_owned(), context),
    ])
}
