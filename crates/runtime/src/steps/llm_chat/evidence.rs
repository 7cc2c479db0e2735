//! What a model was asked, kept for those who look at the run later: the blocks with their labels, what the
//! policies and plugins did to them, and the turns that followed.
//!
//! Invariants: it is kept for people only, nothing reads it back to decide anything; it is bounded; it holds
//! what the gate let through, and of a prompt that was refused no restricted content; secrets are hidden in it.

use stave_block::{BlockIr, GateRecord, Sensitivity};
use stave_llm::Response;
use stave_lower::sent_sections;
use stave_prompt::PipelineResult;
use stave_prompt::compile::{CompiledPrompt, CutReason};
use stave_prompt::governance::{PolicyAction, Verdict, Violation};
use stave_prompt::resolve::Resolution;

use super::arguments::Model;
use crate::evidence::{
    AskedBlock, AskedPrompt, CalledTool, GateEntry, ModelTurn, PolicyHit, PromptChange, PromptVerdict,
    SectionCut, ToolAnswer,
};
use crate::run::Call;

/// The most of one text that is kept.
const TEXT_BYTES: usize = 16 * 1024;

/// The most questions of one node, and the most turns of one question.
const QUESTIONS: usize = 32;
const TURNS: usize = 64;

/// What happened to a prompt before it reached the gate.
#[derive(Debug, Default)]
pub(super) struct Way {
    violations: Vec<PolicyHit>,
    transformations: Vec<PromptChange>,
    cuts: Vec<SectionCut>,
    /// By block, the name of the section that it was made from.
    names: Vec<String>,
    tokens: Option<u64>,
    budget: Option<u64>,
}

impl Way {
    /// What governance and the plugins made of it.
    pub(super) fn governed(&mut self, outcome: &PipelineResult) {
        self.violations.extend(outcome.violations.iter().map(violation));
        let done = outcome.transformations.iter().map(|done| PromptChange {
            plugin: done.applied_by.to_string(),
            what: done.transformation_type.to_string(),
            detail: done.description.clone(),
        });
        self.transformations.extend(done);
        let failed = outcome.failures.iter().map(|failure| PromptChange {
            plugin: failure.plugin.clone(),
            what: "failed".to_owned(),
            detail: failure.message.clone(),
        });
        self.transformations.extend(failed);
    }

    /// Records which references were cut, and what governance said about them.
    pub(super) fn referred(&mut self, references: &Resolution, verdict: &Verdict) {
        self.violations.extend(verdict.violations.iter().map(violation));
        let cut = references.included.iter().filter(|included| included.is_cut);
        self.cuts.extend(cut.map(|included| SectionCut {
            section: included.name.clone(),
            reason: "the limit of one file".to_owned(),
            tokens: 0,
        }));
    }

    /// What was left of it within its budget.
    pub(super) fn compiled(&mut self, compiled: &CompiledPrompt, verdict: &Verdict, native_schema: bool) {
        self.violations.extend(verdict.violations.iter().map(violation));
        let cuts = compiled.cuts.iter().map(|cut| {
            let reason = match cut.reason {
                CutReason::Budget => "the token budget",
                CutReason::FileLimit => "the limit of one file",
            };
            SectionCut {
                section: cut.name.clone(),
                reason: reason.to_owned(),
                tokens: cut.tokens_before.saturating_sub(cut.tokens_after),
            }
        });
        self.cuts.extend(cuts);
        self.names = sent_sections(compiled, native_schema).map(|section| section.name.clone()).collect();
        self.tokens = compiled.is_counted.then_some(compiled.tokens);
        self.budget = Some(compiled.token_budget);
    }
}

fn violation(violation: &Violation) -> PolicyHit {
    PolicyHit {
        policy: violation.policy.to_string(),
        text: violation.to_string(),
        denies: violation.action == PolicyAction::Deny,
    }
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
    let gate = records.iter().map(|record| GateEntry {
        block: record.block as u64,
        label: record.label,
        rule: record.rule.clone(),
        action: record.action_word().to_owned(),
    });
    question.gate = gate.collect();
    question.tokens = question.tokens.or_else(|| prompt.token_count());
    for (index, block) in prompt.blocks.iter().enumerate() {
        let is_withheld = !is_sent && block.sensitivity == Sensitivity::Restricted;
        let (content, is_cut) =
            if is_withheld { (String::new(), false) } else { bounded(call, &block.content) };
        question.blocks.push(AskedBlock {
            name: way.names.get(index).cloned(),
            role: block.role,
            content_type: block.content_type,
            provenance: block.provenance,
            sensitivity: block.sensitivity,
            tokens: block.token_metadata.as_ref().map(|tokens| tokens.token_count),
            content,
            truncated: is_cut,
            withheld: is_withheld,
        });
    }
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
            CalledTool { name: tool.name.clone(), arguments }
        });
        let text = response.text();
        let text = Some(text).filter(|text| !text.is_empty()).map(|text| bounded(call, &text).0);
        let turn = ModelTurn {
            text,
            tool_calls: calls.collect(),
            tool_results: Vec::new(),
            usage: response.usage.as_ref().map(Into::into),
            stop: response.stop.as_ref().map(super::turn::stop_word),
        };
        self.change(call, |turns| turns.push(turn));
    }

    /// Adds what a tool answered to the last turn.
    pub(super) fn tool_result(self, call: &Call<'_>, name: &str, text: &str, is_error: bool) {
        let (text, _) = bounded(call, text);
        let result = ToolAnswer { name: name.to_owned(), text, is_error };
        self.change(call, |turns| {
            if let Some(turn) = turns.last_mut() {
                turn.tool_results.push(result);
            }
        });
    }

    fn change(self, call: &Call<'_>, change: impl FnOnce(&mut Vec<ModelTurn>)) {
        let Kept(Some(place)) = self else { return };
        let most = call.services.limits.kept_prompt_bytes;
        call.run.report(call.index, |report| {
            if size(&report.questions) > most {
                return;
            }
            let question = report.questions.get_mut(place);
            if let Some(question) = question.filter(|question| question.turns.len() < TURNS) {
                change(&mut question.turns);
            }
        });
    }
}

fn is_wanted(call: &Call<'_>) -> bool {
    call.services.limits.kept_prompt_bytes > 0 && call.services.journal.is_durable()
}

/// A question without its blocks. `stage` says where it was refused.
fn begun(call: &Call<'_>, model: &Model, way: &Way, stage: Option<&str>) -> AskedPrompt {
    AskedPrompt {
        path: call.path.to_owned(),
        provider: model.provider.as_str().to_owned(),
        model: model.name.as_str().to_owned(),
        tokens: way.tokens,
        budget: way.budget,
        verdict: PromptVerdict {
            approved: stage.is_none(),
            stage: stage.map(str::to_owned),
            violations: way.violations.clone(),
        },
        transformations: way.transformations.clone(),
        cuts: way.cuts.clone(),
        gate: Vec::new(),
        blocks: Vec::new(),
        turns: Vec::new(),
    }
}

/// Keeps a question in the node's report, unless there are too many or too much of them already.
fn keep(call: &Call<'_>, question: AskedPrompt) -> Kept {
    let most = call.services.limits.kept_prompt_bytes;
    let mut kept = Kept(None);
    call.run.report(call.index, |report| {
        let held = size(&report.questions).saturating_add(length(&question));
        if report.questions.len() < QUESTIONS && held <= most {
            kept = Kept(Some(report.questions.len()));
            report.questions.push(question);
        }
    });
    kept
}

fn size(questions: &[AskedPrompt]) -> usize {
    questions.iter().map(length).sum()
}

fn length(question: &AskedPrompt) -> usize {
    question.to_value().to_string().len()
}

/// A text without secrets, within its bound, and whether it was cut.
fn bounded(call: &Call<'_>, text: &str) -> (String, bool) {
    let mut text = call.services.secrets.hide(text);
    let end = text.floor_char_boundary(TEXT_BYTES);
    let is_cut = end < text.len();
    text.truncate(end);
    (text, is_cut)
}
