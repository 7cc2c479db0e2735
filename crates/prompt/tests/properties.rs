//! Laws of the prompt line.

#![expect(clippy::unwrap_used, reason = "a generated prompt is a valid one")]

use std::sync::Arc;

use proptest::prelude::*;
use stave_canon::{CountingIds, FixedClock, Number, Object, Timestamp, Value, parse, python_spaced};
use stave_prompt::governance::{
    Content, MatchMode, Matching, Policy, PolicyAction, PolicySet, PolicyType, RealPath,
};
use stave_prompt::output::repair;
use stave_prompt::{
    CreatedAt, PhaseType, Priority, PromptIr, Temperature, TokenBudget, from_dict, sha256, to_dict,
};

const CLOCK: FixedClock = FixedClock(Timestamp::UNIX_EPOCH);

fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        any::<i64>().prop_map(Number::Int),
        "[1-9][0-9]{19,30}".prop_map(|digits| Number::integer(&digits).unwrap()),
        any::<f64>().prop_map(Number::Float),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((".{0,6}", inner), 0..6).prop_map(Value::from_iter),
        ]
    })
}

fn object() -> impl Strategy<Value = Object> {
    prop::collection::vec((".{0,6}", value()), 0..4).prop_map(|members| members.into_iter().collect())
}

fn prompt() -> impl Strategy<Value = PromptIr> {
    let texts = || prop::collection::vec(".{0,20}", 0..4);
    let identity = (".{1,8}", ".{0,10}", "(?i).{0,10}(delete all|straße|ΟΔΟΣ)?.{0,10}", 0..5_usize);
    let quantities = (any::<u64>(), 1..=10_i64, 0.0..2.0_f64, prop::option::of(".{0,8}"));
    let time = (0..253_402_300_799_i64, 0..1_000_000_i64);
    (identity, (texts(), texts(), object()), quantities, (object(), time, ".{0,8}")).prop_map(
        |((ir_id, role, intent, phase), (context_refs, constraints, output_requirements), rest, last)| {
            let (budget, priority, temperature, model_hint) = rest;
            let (metadata, (second, microsecond), schema_id) = last;
            let moment = Timestamp::from_microsecond(second * 1_000_000 + microsecond).unwrap();
            PromptIr {
                ir_id,
                role,
                intent,
                phase: PhaseType::ALL[phase],
                context_refs: context_refs.into(),
                constraints: constraints.into(),
                output_requirements: output_requirements.into(),
                token_budget: TokenBudget::from(budget),
                priority: Priority::new(priority).unwrap(),
                model_hint,
                temperature_hint: Temperature::new(Number::Float(temperature)).unwrap(),
                schema_id,
                ir_version: "1.0".to_owned(),
                metadata,
                created_at: CreatedAt::from_timestamp(moment),
                later_fields: Object::new(),
            }
        },
    )
}

/// The same value with the keys of every object in the opposite order.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(reversed).collect()),
        Value::Object(object) => {
            object.iter().rev().map(|(key, value)| (key.clone(), reversed(value))).collect()
        }
        other => other.clone(),
    }
}

/// Whether another value has everything in a value at the same place.
fn is_part(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Array(part), Value::Array(whole)) => {
            part.len() <= whole.len() && part.iter().zip(whole).all(|(part, whole)| is_part(part, whole))
        }
        (Value::Object(part), Value::Object(whole)) => {
            part.iter().all(|(key, value)| whole.get(key).is_some_and(|whole| is_part(value, whole)))
        }
        // Numbers that are no numbers in JSON are written as such and read back differently.
        (part, whole) => part.to_string() == whole.to_string(),
    }
}

proptest! {
    #[test]
    fn reading_what_was_written_gives_the_same_prompt(ir in prompt()) {
        prop_assert_eq!(from_dict(&to_dict(&ir), &CountingIds::new(), &CLOCK).unwrap(), ir);
    }

    #[test]
    fn later_fields_survive_a_round_trip(mut ir in prompt(), later in value()) {
        ir.ir_version = "1.1".to_owned();
        ir.later_fields.insert("a_later_field".to_owned(), later);
        prop_assert_eq!(from_dict(&to_dict(&ir), &CountingIds::new(), &CLOCK).unwrap(), ir);
    }

    #[test]
    fn the_hashed_text_is_that_of_the_dictionary(ir in prompt()) {
        prop_assert_eq!(stave_prompt::canonical(&ir), python_spaced(&to_dict(&ir)));
    }

    #[test]
    fn the_hash_does_not_depend_on_key_order(ir in prompt()) {
        let other = from_dict(&reversed(&to_dict(&ir)), &CountingIds::new(), &CLOCK).unwrap();
        prop_assert_eq!(sha256(&other), sha256(&ir));
    }

    #[test]
    fn the_hashed_text_of_finite_numbers_is_json(ir in prompt()) {
        let canonical = stave_prompt::canonical(&ir);
        if let Ok(read) = parse(&canonical) {
            prop_assert_eq!(python_spaced(&read), canonical);
        }
    }

    #[test]
    fn a_copy_differs_only_in_its_id(ir in prompt()) {
        let copy = ir.clone_with_id(&CountingIds::new());
        prop_assert_eq!(&copy.ir_id, "00000001");
        prop_assert_eq!(PromptIr { ir_id: ir.ir_id.clone(), ..copy }, ir);
    }

    #[test]
    fn judging_is_deterministic_and_ranges_cover_what_matched(
        ir in prompt(), forbidden in prop::collection::vec(".{0,3}", 0..4)
    ) {
        let policies = [PolicyType::Intent, PolicyType::Constraint, PolicyType::ContextRef]
            .map(|policy_type| Policy::new("generated", policy_type, forbidden.clone(), PolicyAction::Deny));
        let policies = PolicySet::new(policies.to_vec());
        let verdict = policies.check(&ir);
        prop_assert_eq!(&verdict, &policies.check(&ir));
        prop_assert_eq!(verdict.approved(), verdict.violations.is_empty());
        for violation in &verdict.violations {
            let matched = violation.item.get(violation.range.clone());
            prop_assert_eq!(matched, Some(violation.matched()));
            prop_assert_eq!(violation.pattern.is_empty(), violation.matched().is_empty());
        }
    }

    #[test]
    fn strict_judging_takes_any_text_and_points_into_it(
        ir in prompt(), text in "\\PC{0,60}|[%&#;x0-9a-f/\\\\.:~*?{}\\[\\] -]{0,60}"
    ) {
        let mut ir = ir;
        Arc::make_mut(&mut ir.context_refs).push(text.clone());
        Arc::make_mut(&mut ir.constraints).push(text.clone());
        let path = RealPath { whole: &text, in_project: None };
        let content = Content { reference: "file:a", path: Some(path), text: &text };
        let policies = PolicySet::strict().with_allow(vec![text.clone(), "bypass it".to_owned()]);
        let verdicts = [policies.check(&ir), policies.check_content(&[content])];
        for violation in verdicts.iter().flat_map(|verdict| &verdict.violations) {
            prop_assert!(violation.item.get(violation.range.clone()).is_some());
        }
        prop_assert_eq!(&verdicts[0], &policies.check(&ir));
    }

    #[test]
    fn what_strict_mode_reads_it_writes(forbidden in prop::collection::vec("\\PC{0,6}", 0..4)) {
        let policies = [Matching::Substring, Matching::Word].map(|matching| {
            Policy::new("a", PolicyType::Constraint, forbidden.clone(), PolicyAction::Deny).matching(matching).unwrap()
        });
        let set = PolicySet::new(policies.to_vec()).with_mode(MatchMode::Strict).with_allow(forbidden);
        prop_assert_eq!(PolicySet::from_value(&set.to_value()).unwrap(), set);
    }

    #[test]
    fn any_reply_is_read_or_refused(reply in "\\PC{0,60}|[\\[\\]{}:,\"'0-9a-z\\\\ `\n]{0,60}") {
        if let Ok(repaired) = repair(&reply) {
            prop_assert_eq!(parse(&reply).is_ok(), repaired.repairs.is_empty());
        }
        let _ = stave_prompt::output::read(&reply);
    }

    #[test]
    fn a_reply_that_was_cut_off_never_gains_anything(value in value(), cut in 0.0..1.0_f64) {
        let value = Value::Array(vec![value]);
        let whole = value.to_string();
        let end = whole.floor_char_boundary((whole.len() as f64 * cut) as usize);
        if let Ok(repaired) = repair(&whole[..end]) {
            prop_assert!(is_part(&repaired.value, &value), "{} of {whole}", repaired.value);
        }
    }

    #[test]
    fn policies_read_back_as_they_were_written(forbidden in prop::collection::vec(".{0,6}", 0..4)) {
        let policies = PolicySet::new(vec![
            Policy::new("a", PolicyType::Intent, forbidden.clone(), PolicyAction::Flag),
            Policy::new("b", PolicyType::ContextRef, forbidden, PolicyAction::Deny),
        ]);
        prop_assert_eq!(PolicySet::from_value(&policies.to_value()).unwrap(), policies);
    }

    #[test]
    fn any_value_is_read_or_refused(value in value()) {
        let _ = from_dict(&value, &CountingIds::new(), &CLOCK);
        let _ = PolicySet::from_value(&value);
    }

    #[test]
    fn any_value_in_any_field_is_read_or_refused(
        ir in prompt(), field in 0..15_usize, value in value()
    ) {
        let mut dictionary = to_dict(&ir);
        if let Some(slot) = dictionary.as_object_mut().and_then(|object| object.get_index_mut(field)) {
            *slot.1 = value;
        }
        match from_dict(&dictionary, &CountingIds::new(), &CLOCK) {
            Ok(read) => prop_assert_eq!(
                from_dict(&to_dict(&read), &CountingIds::new(), &CLOCK).unwrap(), read
            ),
            Err(error) => prop_assert!(!error.faults.is_empty()),
        }
    }

    #[test]
    fn any_text_is_a_time_or_refused(text in "\\PC{0,40}|[0-9TWZ:.,+ -]{0,34}") {
        if let Ok(time) = CreatedAt::parse(&text) {
            prop_assert_eq!(CreatedAt::parse(&time.to_string()), Ok(time));
        }
    }
}
