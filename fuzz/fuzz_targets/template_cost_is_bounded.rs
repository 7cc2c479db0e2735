//! A template that tries to take memory or time is either rendered in this process, within 64 MiB and a few
//! seconds, or left to a worker process; checking it keeps the same bounds. The input chooses the template.
//!
//! The allocator ends the program at the bound, and `crates/pyworker` gives the same templates to a worker.

#![no_main]

use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use stave_canon::Value;
use stave_diag::{Embedded, SourceId};
use stave_script::{InProcess, RenderLimits, check_template};

#[path = "../generators/template_attack.rs"]
mod template_attack;

use template_attack::{CONTEXT, Choices};

#[global_allocator]
static ALLOCATOR: monty_alloc::LimitedAllocator = monty_alloc::LimitedAllocator;

const MEMORY: usize = 64 << 20;
const TIME: Duration = Duration::from_secs(5);

fuzz_target!(|bytes: &[u8]| {
    monty_alloc::set_limit(Some(MEMORY), false).expect("the allocator counts");
    let template = template_attack::template(&mut Choices::new(bytes));
    let Ok(Value::Object(context)) = stave_canon::parse(CONTEXT) else { return };
    let names: Vec<&str> = context.keys().map(String::as_str).collect();
    let started = Instant::now();
    let _ = check_template(&Embedded::verbatim(template.as_str(), SourceId(0), 0), &names);
    let _ = InProcess::new(RenderLimits::default()).render_pieces(&template, &context);
    assert!(started.elapsed() < TIME, "{template}");
});
