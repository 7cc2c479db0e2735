//! What a model was asked, kept for those who look at the run later: the blocks with their labels, what the
//! policies and plugins did to them, and the turns that followed.
//!
//! Invariants: it is kept for people only, nothing reads it back to decide anything; it is bounded; it holds
//! what the gate let through, and of a prompt that was refused no restricted content; secrets are hidden in it.

use stave_block::{BlockIr, GateAction, GateRecord, Sensitivity};
use stave_canon::{Object, Value};
use stave_llm::Response;
use stave_lower::sent_sections;
use stave_prompt::Outcome;
use stave_prompt::compile::{CompiledPrompt, CutReason};
use stave_prompt::governance::{Action, Verdict, Violation};

use super::arguments::Model;
use crate::journal::usage_value;
use crate::run::Call;

/// The most of one text that is kept.
const TEXT_BYTES: usize = 16 * 1024;

/// The most questions of one node, and the most turns of one question.
const QUESTIONS: usize = 32;
const TURNS: usize = 64;

/// What happened to a prompt before it reached the gate.
#[derive(Debug, Default)]
pub(super) struct Way {
    violations: Vec<Value>,
    transformations: Vec<Value>,
    cuts: Vec<Value>,
    /// By block, the name of the section that it was made from.
    names: Vec<String>,
    tokens: Option<u64>,
    budget: Option<u64>,
}

impl Way {
    /// What governance and the plugins made of it.
    pub(super) fn governed(&mut self, outcome: &Outcome) {
        self.violations.extend(outcome.violations.iter().map(violation));
        let done = outcome.transformations.iter().map(|done| {
            Value::from_iter([
                ("plugin", Value::from(&*done.applied_by)),
                ("what", (&*done.transformation_type).into()),
                ("detail", done.description.as_str().into()),
            ])
        });
        self.transformations.extend(done);
        let failed = outcome.failures.iter().map(|failure| {
            Value::from_iter([
                ("plugin", Value::from(failure.plugin.as_str())),
                ("what", "failed".into()),
                ("detail", failure.message.as_str().into()),
            ])
        });
        self.transformations.extend(failed);
    }

    /// What was left of it within its budget.
    pub(super) fn compiled(&mut self, compiled: &CompiledPrompt, verdict: &Verdict, native_schema: bool) {
        self.violations.extend(verdict.violations.iter().map(violation));
        let cuts = compiled.cuts.iter().map(|cut| {
            let reason = match cut.reason {
                CutReason::Budget => "the token budget",
                CutReason::FileLimit => "the limit of one file",
            };
            Value::from_iter([
                ("section", Value::from(cut.name.as_str())),
                ("reason", reason.into()),
                ("tokens", cut.tokens_before.saturating_sub(cut.tokens_after).into()),
            ])
        });
        self.cuts.extend(cuts);
        self.names = sent_sections(compiled, native_schema).map(|section| section.name.clone()).collect();
        self.tokens = compiled.is_counted.then_some(compiled.tokens);
        self.budget = Some(compiled.token_budget);
    }
}

fn violation(violation: &Violation) -> Value {
    Value::from_iter([
        ("policy", Value::from(&*violation.policy)),
        ("text", violation.to_string().into()),
        ("denies", (violation.action == Action::Deny).into()),
    ])
}

/// The place of a question that is kept; none when it is not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept(Option<usize>);

/// Keeps a prompt that reached the gate, as the gate left it.
pub(super) fn asked(
    call: &Call<'_>,
    model: &Model,
    way: &Way,
    prompt: &BlockIr,
    records: &[GateRecord],
    is_sent: bool,
) -> Kept {
    if !is_wanted(call) {
        return Kept(None);
    }
    let stage = if is_sent { None } else { Some("gate") };
    let mut question = begun(call, model, way, stage);
    let gate = records.iter().map(|record| {
        let action = match record.action {
            GateAction::Redact => "redact",
            GateAction::Refuse => "refuse",
            GateAction::Route(_) => "route",
        };
        Value::from_iter([
            ("block", Value::from(record.block)),
            ("label", record.label.word().into()),
            ("rule", record.rule.into()),
            ("action", action.into()),
        ])
    });
    question.insert("gate".into(), Value::Array(gate.collect()));
    if question.get("tokens").is_none_or(Value::is_null) {
        question.insert("tokens".into(), prompt.token_count().into());
    }
    let mut blocks = Vec::with_capacity(prompt.blocks.len());
    for (index, block) in prompt.blocks.iter().enumerate() {
        let is_withheld = !is_sent && block.sensitivity == Sensitivity::Restricted;
        let (content, is_cut) =
            if is_withheld { (String::new(), false) } else { bounded(call, &block.content) };
        blocks.push(Value::from_iter([
            ("name", Value::from(way.names.get(index).cloned())),
            ("role", block.role.word().into()),
            ("type", block.content_type.word().into()),
            ("provenance", block.provenance.word().into()),
            ("sensitivity", block.sensitivity.word().into()),
            ("tokens", block.token_metadata.as_ref().map(|tokens| tokens.token_count).into()),
            ("content", content.into()),
            ("truncated", is_cut.into()),
            ("withheld", is_withheld.into()),
        ]));
    }
    question.insert("blocks".into(), Value::Array(blocks));
    keep(call, question)
}

/// Keeps that a prompt was refused before it was whole; there is nothing of it to show but why.
pub(super) fn refused(call: &Call<'_>, model: &Model, way: &Way, stage: Option<&str>) {
    if is_wanted(call) {
        keep(call, begun(call, model, way, stage));
    }
}

impl Kept {
    /// Adds what the model said.
    pub(super) fn turn(self, call: &Call<'_>, response: &Response) {
        let calls = response.tool_calls().map(|tool| {
            let (arguments, _) = bounded(call, &tool.arguments);
            Value::from_iter([("name", Value::from(tool.name.as_str())), ("arguments", arguments.into())])
        });
        let text = response.text();
        let text = Some(text).filter(|text| !text.is_empty()).map(|text| bounded(call, &text).0);
        let turn = Value::from_iter([
            ("text", Value::from(text)),
            ("tool_calls", Value::Array(calls.collect())),
            ("tool_results", Value::Array(Vec::new())),
            ("usage", response.usage.as_ref().map_or(Value::Null, usage_value)),
            ("stop", response.stop.as_ref().map(super::turn::stop_word).into()),
        ]);
        self.change(call, |turns| turns.push(turn));
    }

    /// Adds what a tool answered to the last turn.
    pub(super) fn tool_result(self, call: &Call<'_>, name: &str, text: &str, is_error: bool) {
        let (text, _) = bounded(call, text);
        let result = Value::from_iter([
            ("name", Value::from(name)),
            ("text", text.into()),
            ("is_error", is_error.into()),
        ]);
        self.change(call, |turns| {
            let last = turns.last_mut().and_then(Value::as_object_mut);
            if let Some(Value::Array(results)) = last.and_then(|turn| turn.get_mut("tool_results")) {
                results.push(result);
            }
        });
    }

    fn change(self, call: &Call<'_>, change: impl FnOnce(&mut Vec<Value>)) {
        let Kept(Some(place)) = self else { return };
        let most = call.services.limits.kept_prompt_bytes;
        call.run.report(call.index, |report| {
            if size(&report.questions) > most {
                return;
            }
            let question = report.questions.get_mut(place).and_then(Value::as_object_mut);
            if let Some(Value::Array(turns)) = question.and_then(|question| question.get_mut("turns"))
                && turns.len() < TURNS
            {
                change(turns);
            }
        });
    }
}

fn is_wanted(call: &Call<'_>) -> bool {
    call.services.limits.kept_prompt_bytes > 0 && call.services.journal.is_durable()
}

/// A question without its blocks. `stage` says where it was refused.
fn begun(call: &Call<'_>, model: &Model, way: &Way, stage: Option<&str>) -> Object {
    let verdict = Value::from_iter([
        ("approved", Value::from(stage.is_none())),
        ("stage", stage.into()),
        ("violations", way.violations.clone().into()),
    ]);
    Object::from_iter([
        ("path".to_owned(), Value::from(call.path)),
        ("provider".to_owned(), model.provider.as_str().into()),
        ("model".to_owned(), model.name.as_str().into()),
        ("tokens".to_owned(), way.tokens.into()),
        ("budget".to_owned(), way.budget.into()),
        ("verdict".to_owned(), verdict),
        ("transformations".to_owned(), way.transformations.clone().into()),
        ("cuts".to_owned(), way.cuts.clone().into()),
        ("gate".to_owned(), Value::Array(Vec::new())),
        ("blocks".to_owned(), Value::Array(Vec::new())),
        ("turns".to_owned(), Value::Array(Vec::new())),
    ])
}

/// Keeps a question in the node's report, unless there are too many or too much of them already.
fn keep(call: &Call<'_>, question: Object) -> Kept {
    let question = Value::Object(question);
    let most = call.services.limits.kept_prompt_bytes;
    let mut kept = Kept(None);
    call.run.report(call.index, |report| {
        let held = size(&report.questions).saturating_add(question.to_string().len());
        if report.questions.len() < QUESTIONS && held <= most {
            kept = Kept(Some(report.questions.len()));
            report.questions.push(question);
        }
    });
    kept
}

fn size(questions: &[Value]) -> usize {
    questions.iter().map(|question| question.to_string().len()).sum()
}

/// A text without secrets, within its bound, and whether it was cut.
fn bounded(call: &Call<'_>, text: &str) -> (String, bool) {
    let mut text = call.services.secrets.hide(text);
    let end = text.floor_char_boundary(TEXT_BYTES);
    let is_cut = end < text.len();
    text.truncate(end);
    (text, is_cut)
}
