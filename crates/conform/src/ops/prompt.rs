//! Ops of the prompt line. The header of [`super`] says how one is added.
//!
//! Ids are drawn as `00000001`, `00000002`, … and the clock is fixed, as the rows expect.

use stave_canon::{CountingIds, FixedClock, Number, Timestamp, Value};
use stave_prompt::governance::PolicySet;
use stave_prompt::plugins::{
    BudgetOptimizer, ContextDigest, IrTransformation, Plugin, PluginConfigError, adjusted_budget, from_config,
};
use stave_prompt::{CreatedAt, PhaseType, Pipeline, PromptIr, to_dict};

use super::{Outcome, Refusal, Table, member, output, text};

pub(super) const OPS: Table = &[
    ("prompt.from_dict", from_dict),
    ("prompt.hash", hash),
    ("prompt.budget", budget),
    ("prompt.digest", digest),
    ("prompt.phase_lookup", phase_lookup),
    ("prompt.governance", governance),
    ("prompt.process", process),
];

/// 2026-01-02T03:04:05.678901+00:00, in microseconds.
const NOW: i64 = 1_767_323_045_678_901;

fn clock() -> Result<FixedClock, Refusal> {
    Ok(FixedClock(Timestamp::from_microsecond(NOW)?))
}

fn read(value: &Value, ids: &CountingIds) -> Result<PromptIr, Refusal> {
    Ok(stave_prompt::from_dict(value, ids, &clock()?)?)
}

fn from_dict(input: &Value) -> Outcome {
    let ir = read(input, &CountingIds::new())?;
    Ok(to_dict(&ir))
}

fn hash(input: &Value) -> Outcome {
    let ir = read(input, &CountingIds::new())?;
    Ok(output([
        ("canonical", stave_prompt::canonical(&ir).into()),
        ("sha256", stave_prompt::sha256(&ir).into()),
        ("hash", stave_prompt::short_hash(&ir).into()),
    ]))
}

fn budget(input: &Value) -> Outcome {
    let word = text(input, "phase")?;
    let phase = PhaseType::from_word(word).ok_or_else(|| Refusal(format!("{word:?} is not a phase")))?;
    let original = number(input, "token_budget")?;
    let adjusted = adjusted_budget(original, phase, number(input, "priority")?)
        .ok_or_else(|| Refusal("the adjusted budget is not finite".to_owned()))?;
    let metadata = output([
        ("original_budget", original.clone().into()),
        ("budget_multiplier", phase.budget_multiplier().into()),
    ]);
    let description = BudgetOptimizer::description(original, &adjusted).into();
    Ok(output([("token_budget", adjusted.into()), ("metadata", metadata), ("description", description)]))
}

fn digest(input: &Value) -> Outcome {
    let ids = CountingIds::new();
    let ir = read(member(input, "ir")?, &ids)?;
    let plugin = ContextDigest::from_config(input.get("config").unwrap_or(&Value::Null))?;
    let change = plugin.transform(&ir, &ids)?;
    let now = CreatedAt::from_timestamp(clock()?.0);
    let record = change.as_ref().map(|change| IrTransformation::new(&ir, change, &plugin, now));
    let (before, after) = record.map(|record| (record.before_hash, record.after_hash)).unzip();
    Ok(output([
        ("triggered", change.is_some().into()),
        ("ir", to_dict(change.as_ref().map_or(&ir, |change| &change.ir))),
        ("before_hash", before.into()),
        ("after_hash", after.into()),
    ]))
}

fn phase_lookup(input: &Value) -> Outcome {
    Ok(PhaseType::lookup(text(input, "name")?).word().into())
}

fn governance(input: &Value) -> Outcome {
    let ir = read(member(input, "ir")?, &CountingIds::new())?;
    let verdict = policies(input)?.check(&ir);
    Ok(output([("approved", verdict.approved().into()), ("violations", verdict.texts().into())]))
}

fn process(input: &Value) -> Outcome {
    let ids = CountingIds::new();
    let ir = read(member(input, "ir")?, &ids)?;
    let governed = input.get("governance").and_then(Value::as_bool).unwrap_or(true);
    let mut pipeline = Pipeline::new(if governed { Some(policies(input)?) } else { None });
    let plugins = member(input, "plugins")?;
    for plugin in plugins.as_array().ok_or_else(|| Refusal("`plugins` must be an array".to_owned()))? {
        let Some([Value::String(name), config]) = plugin.as_array() else {
            return Err(Refusal("a plugin must be a name and a configuration".to_owned()));
        };
        match from_config(name, config) {
            Ok(plugin) => pipeline = pipeline.with_plugin(plugin),
            // A plugin that cannot do its work is skipped, and one with a bad setting cannot.
            Err(PluginConfigError::WrongType { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let outcome = pipeline.process(&ir, &ids, &clock()?);
    let transformations = outcome.transformations.iter().map(|record| {
        Value::from(vec![
            &*record.transformation_type,
            record.before_hash.as_str(),
            record.after_hash.as_str(),
        ])
    });
    Ok(output([
        ("ir", to_dict(&outcome.ir)),
        ("approved", outcome.approved.into()),
        ("violations", outcome.violation_texts().into()),
        ("transformations", Value::Array(transformations.collect())),
    ]))
}

fn policies(input: &Value) -> Result<PolicySet, Refusal> {
    Ok(PolicySet::from_value(input.get("policies").unwrap_or(&Value::Null))?)
}

fn number<'v>(input: &'v Value, key: &str) -> Result<&'v Number, Refusal> {
    let value = member(input, key)?;
    value.as_number().ok_or_else(|| Refusal(format!("`{key}` must be a number, not {}", value.kind())))
}
