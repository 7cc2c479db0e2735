//! The gate on the bodies that cost it most: a megabyte of what its rules look at closest.
//!
//! Each row must stay within what reading the same body as JSON costs, times some factor that does not grow with the
//! body: the gateway judges bodies of up to 32 MiB and gives up after a second.

use std::hint::black_box;
use std::rc::Rc;

use stave_block::{DataScope, Destination, SensitivityPolicy};
use stave_lower::{govern_body, read_wire};

use super::Benchmark;
use crate::contest::{Comparison, Entrant, InProcess, Work};
use crate::machine::Machine;

pub(super) const BENCHMARK: Benchmark = Benchmark {
    name: "gate",
    about: "bodies of 1 MB that cost the gate most, judged and redacted, beside serde_json",
    prepare,
};

const BYTES: usize = 1 << 20;

fn prepare(_: &Machine) -> Vec<Comparison> {
    let one = |text: &str| message(&format!("\"{}\"", text.repeat(BYTES / text.len())));
    let parts = |text: &str| {
        let part = format!(r#"{{"type":"text","text":"{text}"}}"#);
        message(&format!("[{}]", vec![part.as_str(); BYTES / part.len()].join(",")))
    };
    vec![
        comparison("addresses in one text", one("a@b.cc ")),
        comparison("digits in one text", one("4111 1111 1111 1112 ")),
        comparison("another script in one text", one("ключ секрет ")),
        comparison("beginnings of keys in one text", one("sk-")),
        comparison("base64 in one text", one("iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB+/")),
        comparison("addresses in many parts", parts("a@b.cc")),
    ]
}

fn message(content: &str) -> String {
    format!(r#"{{"model":"m","max_tokens":1,"messages":[{{"role":"user","content":{content}}}]}}"#)
}

fn comparison(title: &'static str, body: String) -> Comparison {
    let body: Rc<str> = Rc::from(body);
    let ours = {
        let body = Rc::clone(&body);
        move || {
            let Ok(wire) = read_wire(black_box(&body), None) else { return };
            let (policy, scope) = (SensitivityPolicy::default(), DataScope::new("a"));
            black_box(govern_body(&body, &wire, &policy, &scope, Destination::Shared));
        }
    };
    let peer = {
        let body = Rc::clone(&body);
        move || {
            let value = serde_json::from_str::<serde_json::Value>(black_box(&body));
            black_box(value.map(|value| value.to_string()).ok());
        }
    };
    let entrant = |name, work: Box<dyn FnMut()>| Entrant {
        name,
        contestant: Ok(InProcess::boxed(String::new(), work)),
    };
    Comparison {
        title,
        work: Work::Bytes(body.len()),
        entrants: vec![
            entrant("read_wire, govern_body", Box::new(ours)),
            entrant("serde_json, parse and write only", Box::new(peer)),
        ],
    }
}
