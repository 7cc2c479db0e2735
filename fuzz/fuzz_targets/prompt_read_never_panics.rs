//! Any bytes are a Prompt IR or refused; what is read survives its dictionary, has one hash, and is judged in both
//! modes, processed and compiled without a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stave_canon::{CountingIds, FixedClock, Timestamp};
use stave_prompt::compile::{Compiler, Templates, TokenCounter};
use stave_prompt::governance::PolicySet;
use stave_prompt::plugins::{BudgetOptimizer, ContextDigest};
use stave_prompt::resolve::{NoSource, resolve};
use stave_prompt::{Pipeline, from_dict, short_hash, to_dict};

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = stave_canon::parse_bytes(bytes) else { return };
    let (ids, clock) = (CountingIds::new(), FixedClock(Timestamp::UNIX_EPOCH));
    let Ok(ir) = from_dict(&value, &ids, &clock) else { return };
    let again = from_dict(&to_dict(&ir), &ids, &clock).expect("what was written can be read");
    assert_eq!(again, ir);
    assert_eq!(short_hash(&again), short_hash(&ir));
    for policies in [PolicySet::specified(), PolicySet::strict()] {
        let pipeline = Pipeline::new(Some(policies))
            .with_plugin(Box::new(ContextDigest::default()))
            .with_plugin(Box::new(BudgetOptimizer::default()));
        let outcome = pipeline.process(&ir, &ids, &clock);
        if let Some(last) = outcome.transformations.last().filter(|_| outcome.approved) {
            assert_eq!(last.after_hash, short_hash(&outcome.ir));
        }
        let compiler = Compiler { templates: Templates::default() };
        let count = |text: &str| text.chars().count() as u64 / 4;
        let resolution = resolve(&outcome.ir, &NoSource);
        if let Ok(compiled) = compiler.compile_from_ir(&outcome.ir, resolution, &TokenCounter::new(&count)) {
            assert!(count(&compiled.content()) <= compiled.token_budget);
        }
    }
});
