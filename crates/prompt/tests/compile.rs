//! The sections of a model call and the budget they keep.

#![expect(clippy::unwrap_used, reason = "the built prompt is a valid one")]

use proptest::prelude::*;
use stave_canon::{CountingIds, FixedClock, Object, Timestamp, Value};
use stave_prompt::compile::{
    Adapter, CompiledPrompt, CutReason, Parts, PromptPart, Provenance, SectionKind, Sensitivity,
    TokenCounter, compile,
};
use stave_prompt::{PromptIr, PromptIrBuilder};

const CLOCK: FixedClock = FixedClock(Timestamp::UNIX_EPOCH);

/// Words and punctuation count one each, much as tokens do.
fn count(text: &str) -> u64 {
    text.split_inclusive(|character: char| !character.is_alphanumeric()).count() as u64
}

fn built(builder: PromptIrBuilder) -> PromptIr {
    builder.build(&CountingIds::new(), &CLOCK).unwrap()
}

fn names(compiled: &CompiledPrompt) -> Vec<&str> {
    compiled.sections.iter().map(|section| section.name.as_str()).collect()
}

fn schema() -> Object {
    [("system_design".to_owned(), Value::from("string"))].into_iter().collect()
}

#[test]
fn sections_come_in_order_with_their_origin() {
    let ir = built(
        PromptIrBuilder::new("architect", "Design a REST API")
            .add_context_ref("file:src/auth.py")
            .add_context_ref("memory:previous")
            .add_context_ref("diff:main")
            .add_context_ref("somewhere")
            .add_constraint("Must support OAuth 2.0")
            .add_constraint("Must not log credentials")
            .set_output_requirements(schema())
            .add_metadata("previous", "We chose tokens."),
    );
    let parts = Parts {
        instructions: vec![PromptPart::new("system", "You are an architect.", Provenance::Developer)],
        references: vec![PromptPart::new("file:src/auth.py", "def login(): ...", Provenance::Retrieval)],
        documents: vec![PromptPart::new("wiki", "Use ``` fences.", Provenance::Retrieval)],
        history: vec![PromptPart::new("turn 1", "Earlier we spoke.", Provenance::Memory)],
        tool_results: vec![PromptPart::new("search", "3 hits", Provenance::Tool)],
        inputs: vec![PromptPart::new("question", "How?", Provenance::User).sensitivity(Sensitivity::Private)],
        ..Parts::default()
    };
    let compiled = compile(&ir, &parts, &TokenCounter::new(&count)).unwrap();
    assert_eq!(compiled.unresolved, ["diff:main"]);
    assert_eq!(compiled.model_provider, "anthropic");
    let rendered: Vec<String> = compiled
        .sections
        .iter()
        .map(|section| {
            let labels = format!("{} {}", section.provenance.word(), section.sensitivity.word());
            format!("## {} ({labels})\n{}", section.kind.word(), section.text)
        })
        .collect();
    insta::assert_snapshot!(rendered.join("\n\n"));
}

#[test]
fn the_intent_is_not_said_twice() {
    let ir = built(PromptIrBuilder::new("helper", "Answer briefly."));
    let instructions = vec![PromptPart::new("system", "Answer briefly.\n", Provenance::Developer)];
    let compiled =
        compile(&ir, &Parts { instructions, ..Parts::default() }, &TokenCounter::new(&count)).unwrap();
    assert_eq!(names(&compiled), ["system"]);
}

#[test]
fn the_least_important_goes_first_and_every_cut_is_told() {
    let line = "one two three four five six seven eight nine ten\n";
    let document = |name: &str| PromptPart::new(name, line.repeat(20), Provenance::Retrieval);
    let ir = built(
        PromptIrBuilder::new("architect", "Design").set_output_requirements(schema()).set_token_budget(350),
    );
    let turn = |name: &str| PromptPart::new(name, line.repeat(2), Provenance::Memory);
    let parts = Parts {
        documents: vec![document("a"), document("b").priority(9), document("c")],
        history: vec![turn("old"), turn("recent")],
        ..Parts::default()
    };
    let compiled = compile(&ir, &parts, &TokenCounter::new(&count)).unwrap();
    assert!(compiled.tokens <= 350, "{}", compiled.tokens);
    assert_eq!(names(&compiled), ["task", "output_schema", "a", "b"]);
    let cuts: Vec<(&str, bool)> =
        compiled.cuts.iter().map(|cut| (cut.name.as_str(), cut.tokens_after == 0)).collect();
    assert_eq!(cuts, [("a", false), ("c", true), ("old", true), ("recent", true)]);
    let shortened = &compiled.sections[2].text;
    assert!(shortened.starts_with("a\n```\none two"));
    assert!(shortened.ends_with("ten\n[... shortened to fit the token budget]\n```"), "{shortened}");
}

#[test]
fn a_budget_below_what_must_be_said_is_an_error() {
    let ir = built(
        PromptIrBuilder::new("architect", "Design it")
            .add_constraint("Be careful")
            .set_output_requirements(schema())
            .set_token_budget(5),
    );
    let error = compile(&ir, &Parts::default(), &TokenCounter::new(&count)).unwrap_err();
    assert!(error.needed > error.budget);
    let fixed: Vec<&str> = error.fixed.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(fixed, ["constraints", "task", "output_schema"]);
    let nothing = built(PromptIrBuilder::new("architect", "").set_token_budget(0));
    assert_eq!(compile(&nothing, &Parts::default(), &TokenCounter::new(&count)).unwrap().tokens, 0);
}

#[test]
fn a_file_is_capped_and_the_cap_is_told() {
    let ir = built(PromptIrBuilder::new("a", "b").add_context_ref("file:x").set_token_budget(100_000));
    let references = vec![PromptPart::new("file:x", "é".repeat(12_000), Provenance::Retrieval)];
    let counter = |text: &str| text.chars().count() as u64;
    let compiled =
        compile(&ir, &Parts { references, ..Parts::default() }, &TokenCounter::new(&counter)).unwrap();
    assert_eq!(compiled.cuts.len(), 1);
    assert_eq!(compiled.cuts[0].reason, CutReason::FileLimit);
    assert_eq!((compiled.cuts[0].tokens_before, compiled.cuts[0].tokens_after), (12_000, 10_000));
}

#[test]
fn digest_and_memory_reach_the_prompt() {
    let ir = built(
        PromptIrBuilder::new("a", "b")
            .add_context_ref("__CONTEXT_DIGEST__")
            .add_context_ref("memory:facts")
            .add_metadata("context_digest", "Context summary: 11 files related to: b")
            .add_metadata("facts", Value::from(vec![1, 2])),
    );
    let compiled = compile(&ir, &Parts::default(), &TokenCounter::new(&count)).unwrap();
    let text: String = compiled.sections.iter().map(|section| section.text.as_str()).collect();
    assert!(text.contains("Context summary: 11 files related to: b"));
    assert!(text.contains("[1,2]"));
}

proptest! {
    #[test]
    fn the_budget_is_a_ceiling_and_the_schema_is_whole(
        documents in prop::collection::vec("[a-z`é \n]{0,200}", 0..5),
        history in prop::collection::vec("[a-z ]{0,40}", 0..3),
        budget in 0..400_u64,
        per_section in 0..4_u64,
        by_bytes in any::<bool>(),
        adapter in prop::sample::select(vec![
            Adapter::Plain, Adapter::Anthropic, Adapter::OpenAi, Adapter::Ollama
        ]),
    ) {
        let ir = built(
            PromptIrBuilder::new("a", "Do it").set_output_requirements(schema()).set_token_budget(budget),
        );
        let part = |provenance| move |text: String| PromptPart::new("part", text, provenance);
        let parts = Parts {
            documents: documents.into_iter().map(part(Provenance::Retrieval)).collect(),
            history: history.into_iter().map(part(Provenance::Memory)).collect(),
            adapter,
            ..Parts::default()
        };
        let counter = TokenCounter::new(&count).per_section(per_section);
        let counter = if by_bytes { counter.ceiling(|bytes| bytes as u64) } else { counter };
        let whole = compile(
            &PromptIr { token_budget: 1_000_000.into(), ..ir.clone() }, &parts, &counter
        ).unwrap();
        prop_assert!(whole.cuts.is_empty());
        match compile(&ir, &parts, &counter) {
            Ok(compiled) => {
                let tokens: u64 =
                    compiled.sections.iter().map(|section| count(&section.text) + per_section).sum();
                let whole_text = count(&compiled.content());
                if compiled.is_counted {
                    prop_assert_eq!(tokens.max(whole_text), compiled.tokens);
                }
                prop_assert!(tokens.max(whole_text) <= compiled.tokens);
                prop_assert!(compiled.tokens <= budget);
                let schema = |compiled: &CompiledPrompt| {
                    let kind = SectionKind::OutputSchema;
                    compiled.sections.iter().find(|section| section.kind == kind).cloned()
                };
                prop_assert_eq!(schema(&compiled), schema(&whole));
                if whole.is_counted {
                    prop_assert_eq!(compiled.cuts.is_empty(), whole.tokens <= budget);
                }
            }
            Err(error) => {
                prop_assert!(error.needed > budget);
                let least = PromptIr { token_budget: error.needed.into(), ..ir };
                prop_assert!(compile(&least, &parts, &counter).unwrap().tokens <= error.needed);
            }
        }
    }
}
