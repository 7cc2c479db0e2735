//! The specification's examples, and what a person reads about a broken document.

#![expect(clippy::unwrap_used, reason = "the specification's examples are valid")]

use stave_canon::{CountingIds, FixedClock, Timestamp, parse, pretty_insertion_ascii};
use stave_diag::Sources;
use stave_prompt::governance::PolicySet;
use stave_prompt::plugins::{BudgetOptimizer, Plugin};
use stave_prompt::{PhaseType, PromptBuildError, PromptIrBuilder, from_dict, short_hash, to_dict};

fn noon() -> FixedClock {
    FixedClock("2026-02-18T12:00:00Z".parse::<Timestamp>().unwrap())
}

#[test]
fn the_example_document_is_what_the_builder_makes() {
    let ir = PromptIrBuilder::new("architect", "Design auth system")
        .phase(PhaseType::Planning)
        .add_context_ref("file:src/auth.py")
        .set_token_budget(3000)
        .build(&CountingIds::new(), &noon())
        .unwrap();
    insta::assert_snapshot!(pretty_insertion_ascii(&to_dict(&ir)));
    let mut ir = ir;
    ir.ir_id = "a1b2c3d4".to_owned();
    assert_eq!(short_hash(&ir), "beeb8d0f1659d8a3");
}

#[test]
fn the_builder_example_keeps_every_part() {
    let requirements = parse(r#"{"system_design": "string", "components": ["string"], "risks": ["string"]}"#);
    let ir = PromptIrBuilder::new("architect", "Design a REST API for user authentication")
        .phase(PhaseType::Planning)
        .add_context_ref("file:src/auth/login.py")
        .add_context_ref("file:src/auth/middleware.py")
        .add_context_ref("diff:main")
        .add_constraint("Must support OAuth 2.0")
        .add_constraint("Must not expose user credentials in logs")
        .set_output_requirements(requirements.unwrap().as_object().unwrap().clone())
        .set_token_budget(3000)
        .set_priority(7)
        .set_model_hint("anthropic")
        .set_temperature_hint(0.5)
        .build(&CountingIds::new(), &noon())
        .unwrap();
    insta::assert_snapshot!(pretty_insertion_ascii(&to_dict(&ir)));
}

#[test]
fn the_builder_refuses_what_is_out_of_range() {
    let build = |builder: PromptIrBuilder| builder.build(&CountingIds::new(), &noon()).unwrap_err();
    assert_eq!(build(PromptIrBuilder::new("a", "b").set_priority(11)), PromptBuildError::Priority(11));
    let cold = PromptIrBuilder::new("a", "b").set_temperature_hint(-0.5).set_priority(0);
    assert_eq!(build(cold), PromptBuildError::Temperature(-0.5));
}

#[test]
fn the_example_budgets_come_out_as_printed() {
    for (phase, priority, adjusted) in [
        (PhaseType::Planning, 7, 4320),
        (PhaseType::Research, 5, 3900),
        (PhaseType::Implementation, 5, 3000),
        (PhaseType::Review, 3, 1920),
        (PhaseType::Synthesis, 8, 4290),
    ] {
        let ir = PromptIrBuilder::new("a", "b").phase(phase).set_priority(priority);
        let ir = ir.build(&CountingIds::new(), &noon()).unwrap();
        let change = BudgetOptimizer::default().transform(&ir, &CountingIds::new()).unwrap().unwrap();
        assert_eq!(change.ir.token_budget.tokens(), adjusted, "{phase}");
        assert_eq!(change.ir.metadata["original_budget"], 3000.into());
        assert_eq!(change.ir.metadata["budget_multiplier"], phase.budget_multiplier().into());
    }
}

#[test]
fn every_fault_of_a_document_is_told_at_its_place() {
    let text = r#"{
  "role": "architect",
  "intent": 7,
  "phase": "Analysis",
  "context_refs": ["file:a", 1, null],
  "constraints": "none",
  "output_requirements": {},
  "token_budget": -1,
  "priority": 11,
  "temperature_hint": "hot",
  "ir_version": "2.0",
  "created_at": "yesterday"
}"#;
    let mut sources = Sources::new();
    let source = sources.add("prompt.json", text);
    let diagnostics = stave_prompt::parse(source, text, &CountingIds::new(), &noon()).unwrap_err();
    let lines: Vec<String> = diagnostics
        .iter()
        .map(|diagnostic| {
            let (start, _) = sources.place(diagnostic.primary).unwrap();
            let help = diagnostic.help.as_deref().unwrap_or_default();
            format!("{}:{} {}: {} ({help})", start.line, start.column, diagnostic.code, diagnostic.message)
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_violation_is_shown_at_the_bytes_that_matched() {
    let text = r#"{"role": "a", "intent": "DROP DATABASE now", "phase": "review", "context_refs": ["x", "file:/etc/h"],
  "constraints": ["\u0062ypass it"], "output_requirements": {}, "token_budget": 1}"#;
    let mut sources = Sources::new();
    let source = sources.add("prompt.json", text);
    let ir = stave_prompt::parse(source, text, &CountingIds::new(), &noon()).unwrap();
    let verdict = PolicySet::default().check(&ir);
    let shown: Vec<(&str, &str)> = stave_prompt::diagnose_verdict(source, text, &verdict)
        .iter()
        .map(|diagnostic| (diagnostic.code.0, sources.slice(diagnostic.primary)))
        .collect();
    let expected = [
        ("prompt-flagged", "DROP DATABASE"),
        ("prompt-denied", "/etc/"),
        ("prompt-denied", r#""\u0062ypass it""#),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn missing_and_unknown_fields_are_all_named() {
    let error =
        from_dict(&parse(r#"{"rolle": "a", "phase": "review"}"#).unwrap(), &CountingIds::new(), &noon());
    insta::assert_snapshot!(error.unwrap_err().to_string());
}
