//! What a model was asked, kept for those who look at the run later: the blocks with their labels, what the
//! policies and plugins did to them, and the turns that followed.
//!
//! Invariants: it is kept for people only, nothing reads it back to decide anything; it is bounded; it holds
//! what the gate let through, and of a prompt that was refused no restricted content; secrets are hidden in it.

use stave_block::{BlockIr, BlockSection, GateRecord, Sensitivity, SpanId};
use stave_canon::Clock;
use stave_llm::Response;
use stave_lower::sent_sections;
use stave_prompt::compile::{CompiledPrompt, CutReason, SectionKind};
use stave_prompt::governance::{Verdict, Violation};
use stave_prompt::plugins::IrTransformation;
use stave_prompt::resolve::Resolution;
use stave_prompt::{CreatedAt, PipelineResult, PromptCounts, PromptIr, sha256, short_hash};

use super::arguments::Model;
use super::sent_requests::ReadRequest;
use crate::evidence::{
    AskedBlock, AskedBlockIr, AskedIr, AskedPrompt, CalledTool, GateEntry, KeptBytes, LaterRequest,
    ModelTurn, PolicyHit, PromptChange, PromptVerdict, SectionCut, ToolAnswer,
};
use crate::run::Call;

/// The most of one text that is kept.
const TEXT_BYTES: usize = 16 * 1024;

/// The most questions of one node, and the most turns of one question, each with its wire request.
const QUESTIONS: usize = 32;
const TURNS: usize = 64;

/// What happened to a prompt before it reached the gate.
#[derive(Debug, Default)]
pub(super) struct Way {
    violations: Vec<PolicyHit>,
    transformations: Vec<PromptChange>,
    cuts: Vec<SectionCut>,
    /// By block, the name and the kind of the section that it was made from.
    sections: Vec<(String, SectionKind)>,
    prompt_ir: Option<AskedIr>,
    counts: PromptCounts,
    tokens: Option<u64>,
    budget: Option<u64>,
}

impl Way {
    /// What governance and the plugins made of the prompt that the step built.
    pub(super) fn governed(&mut self, built: &PromptIr, outcome: &PipelineResult) {
        let (built_hash, hash) = (sha256(built), sha256(&outcome.ir));
        let (built_id, ir_id) = (built.ir_id.clone(), outcome.ir.ir_id.clone());
        self.prompt_ir = Some(AskedIr { built_id, built_hash, ir_id, hash });
        self.found(&outcome.violations);
        let done = outcome.transformations.iter().map(change);
        self.transformations.extend(done);
        let failed = outcome.failures.iter().map(|failure| PromptChange {
            plugin: failure.plugin.clone(),
            what: "failed".to_owned(),
            detail: failure.message.clone(),
            before_hash: None,
            after_hash: None,
            at: None,
        });
        self.transformations.extend(failed);
    }

    /// What a step did to the prompt after its plugins.
    pub(super) fn changed(&mut self, done: &IrTransformation, after: &PromptIr) {
        self.transformations.push(change(done));
        self.asks(after);
    }

    /// The budget that the project or the model allows took the place of a larger one.
    pub(super) fn limited(&mut self, before: &PromptIr, after: &PromptIr, clock: &dyn Clock) {
        let (was, is) = (before.token_budget.tokens(), after.token_budget.tokens());
        self.transformations.push(PromptChange {
            plugin: "stave".to_owned(),
            what: "budget_limit".to_owned(),
            detail: format!("Budget {was} -> {is}, the most that the project and the model allow"),
            before_hash: Some(short_hash(before).to_string()),
            after_hash: Some(short_hash(after).to_string()),
            at: Some(CreatedAt::from_timestamp(clock.now()).to_string()),
        });
        self.asks(after);
    }

    /// The prompt does not fit its budget.
    pub(super) fn too_large(&mut self, tokens: u64, budget: u64) {
        self.tokens = Some(tokens);
        self.budget = Some(budget);
    }

    fn asks(&mut self, prompt: &PromptIr) {
        if let Some(ir) = &mut self.prompt_ir {
            prompt.ir_id.clone_into(&mut ir.ir_id);
            ir.hash = sha256(prompt);
        }
    }

    /// Takes in what the policies said about a part of the prompt or about a model that may be asked.
    pub(super) fn found(&mut self, violations: &[Violation]) {
        violations.iter().for_each(|violation| self.counts.violation(violation));
        self.violations.extend(violations.iter().map(PolicyHit::from));
    }

    fn cut(&mut self, section: &str, kind: SectionKind, reason: CutReason, tokens: u64) {
        self.counts.cut(kind.word(), reason.word(), tokens);
        let reason = match reason {
            CutReason::Budget => "the token budget",
            CutReason::FileLimit => "the limit of one file",
        };
        self.cuts.push(SectionCut {
            section: section.to_owned(),
            kind: Some(kind.word().to_owned()),
            reason: reason.to_owned(),
            tokens,
        });
    }

    /// Records which references were cut, and what governance said about them.
    pub(super) fn referred(&mut self, references: &Resolution, verdict: &Verdict) {
        self.found(&verdict.violations);
        for included in references.included.iter().filter(|included| included.is_cut) {
            self.cut(&included.name, SectionKind::Context, CutReason::FileLimit, 0);
        }
    }

    /// What was left of it within its budget.
    pub(super) fn compiled(&mut self, compiled: &CompiledPrompt, verdict: &Verdict, native_schema: bool) {
        self.found(&verdict.violations);
        for cut in &compiled.cuts {
            self.cut(&cut.name, cut.kind, cut.reason, cut.tokens_before.saturating_sub(cut.tokens_after));
        }
        let sent = sent_sections(compiled, native_schema);
        self.sections = sent.map(|section| (section.name.clone(), section.kind)).collect();
        self.tokens = compiled.is_counted.then_some(compiled.tokens);
        self.budget = Some(compiled.token_budget);
    }

    /// The name of the section that a block of the prompt was made from.
    pub(super) fn name(&self, block: usize) -> Option<&str> {
        self.sections.get(block).map(|(name, _)| name.as_str())
    }

    /// The hash of the Prompt IR that is asked.
    pub(super) fn source_hash(&self) -> Option<String> {
        self.prompt_ir.as_ref().map(|ir| format!("sha256:{}", ir.hash))
    }

    /// Adds the figures of a prompt that is whole to the node's: what governance flagged and what was cut. They are
    /// counted once, however many models are asked.
    pub(super) fn count(&self, call: &Call<'_>) {
        call.run.report(call.index, |report| report.prompts.add(&self.counts));
    }
}

fn change(done: &IrTransformation) -> PromptChange {
    PromptChange {
        plugin: done.applied_by.to_string(),
        what: done.transformation_type.to_string(),
        detail: done.description.clone(),
        before_hash: Some(done.before_hash.to_string()),
        after_hash: Some(done.after_hash.to_string()),
        at: Some(done.timestamp.to_string()),
    }
}

/// What a tool's answer is called in figures.
const TOOL_RESULT: &str = "tool_result";

/// Counts what the policies said about a tool's answer.
pub(super) fn tool_judged(call: &Call<'_>, verdict: &Verdict) {
    if verdict.violations.is_empty() {
        return;
    }
    call.run.report(call.index, |report| {
        verdict.violations.iter().for_each(|one| report.prompts.violation_in(one, TOOL_RESULT));
        report.prompts.denied += u64::from(!verdict.approved());
    });
}

/// Counts what the gate did with a tool's answer.
pub(super) fn tool_gated(call: &Call<'_>, records: &[GateRecord], is_refused: bool) {
    if records.is_empty() {
        return;
    }
    call.run.report(call.index, |report| {
        records.iter().for_each(|one| report.prompts.gate(one.action_word(), &one.rule, TOOL_RESULT, 1));
        report.prompts.denied += u64::from(is_refused);
    });
}

/// The place of a question that is kept; none when it is not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept(Option<usize>);

/// Counts that a model was not asked because its address holds what it may not have.
pub(super) fn address_refused(call: &Call<'_>) {
    call.run.report(call.index, |report| {
        report.prompts.requests += 1;
        report.prompts.denied += 1;
        report.prompts.gate("refuse", "label", "endpoint", 1);
    });
}

/// What the gate decided about a prompt on its way to one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GateOutcome {
    Sent,
    Refused,
    /// Another model is asked instead.
    Routed,
}

/// Counts and keeps a prompt that reached the gate, as the gate left it.
pub(super) fn asked(
    call: &Call<'_>,
    model: &Model,
    way: &Way,
    prompt: &BlockIr,
    records: &[GateRecord],
    outcome: GateOutcome,
) -> Kept {
    call.run.report(call.index, |report| {
        let counts = &mut report.prompts;
        for record in records {
            let field = way.sections.get(record.block).map_or("request", |(_, kind)| kind.word());
            counts.gate(record.action_word(), &record.rule, field, 1);
        }
        counts.requests += u64::from(outcome != GateOutcome::Routed);
        counts.denied += u64::from(outcome == GateOutcome::Refused);
    });
    if !is_wanted(call) {
        return Kept(None);
    }
    let is_sent = outcome == GateOutcome::Sent;
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
    question.block_ir = Some(AskedBlockIr {
        ir_id: prompt.ir_id.to_string(),
        created_at: prompt.created_at.to_string(),
        tool_schema_hashes: prompt.tool_schema_hashes.clone(),
        structured_output_schema_id: prompt.structured_output_schema_id.clone(),
        source_request_hash: prompt.source_request_hash.clone(),
    });
    for (index, block) in prompt.blocks.iter().enumerate() {
        let section = BlockSection::text(block.role, block.provenance, block.content.as_str())
            .content_type(block.content_type)
            .sensitivity(block.sensitivity);
        let block = KeptBlock {
            section: way.name(index).into_iter().fold(section, BlockSection::named),
            span_id: block.span_id.clone(),
            tokens: block.token_metadata.as_ref().map(|tokens| tokens.token_count),
        };
        question.blocks.push(block.kept(call, is_sent));
    }
    keep(call, question)
}

/// Counts and keeps that a prompt was not asked before it was whole: governance denied it, a reference cannot be read, or it is
/// too large. There is nothing of it to show but why.
pub(super) fn refused(call: &Call<'_>, model: &Model, way: &Way, stage: Option<&str>) {
    way.count(call);
    call.run.report(call.index, |report| {
        report.prompts.requests += 1;
        report.prompts.denied += 1;
    });
    if is_wanted(call) {
        keep(call, begun(call, model, way, stage));
    }
}

/// A block to be kept.
#[derive(Debug)]
pub(super) struct KeptBlock {
    pub(super) section: BlockSection,
    pub(super) span_id: SpanId,
    pub(super) tokens: Option<u32>,
}

impl KeptBlock {
    fn kept(self, call: &Call<'_>, is_sent: bool) -> AskedBlock {
        let section = self.section;
        let is_withheld = !is_sent && section.sensitivity == Sensitivity::Restricted;
        let content = if is_withheld { KeptText::default() } else { bounded(call, &section.content) };
        AskedBlock {
            name: section.name,
            span_id: Some(self.span_id.0),
            role: section.role,
            content_type: section.content_type,
            provenance: section.provenance,
            sensitivity: section.sensitivity,
            tokens: self.tokens,
            content_hash: (!is_withheld).then_some(content.hash),
            content: content.text,
            truncated: content.is_cut,
            withheld: is_withheld,
            repeated: false,
        }
    }
}

impl Kept {
    pub(super) fn is_kept(self) -> bool {
        self.0.is_some()
    }

    /// Puts the blocks of the wire in place of the sections of the prompt.
    pub(super) fn first_request(self, call: &Call<'_>, read: ReadRequest) {
        let blocks: Vec<AskedBlock> = read.blocks.into_iter().map(|block| block.kept(call, true)).collect();
        let most = call.services.limits.kept_prompt_bytes;
        self.question(call, |questions, place| {
            let sections = questions.get_mut(place).map(|question| std::mem::take(&mut question.blocks));
            let mut held = KeptBytes::of(questions);
            held.add_blocks(&blocks);
            let is_within = held.bytes() <= most;
            let Some(question) = questions.get_mut(place) else { return };
            // Tools may be larger than everything that a node keeps; the sections of the prompt fit.
            if !is_within {
                question.blocks = sections.unwrap_or_default();
                return;
            }
            for entry in &mut question.gate {
                let block =
                    usize::try_from(entry.block).ok().and_then(|block| read.section_blocks.get(&block));
                if let Some(block) = block {
                    entry.block = *block as u64;
                }
            }
            question.blocks = blocks;
            if let Some(around) = &mut question.block_ir {
                around.tool_schema_hashes = read.tool_schema_hashes.or(around.tool_schema_hashes.take());
                around.structured_output_schema_id = read.structured_output_schema_id;
            }
        });
    }

    /// Adds a request that continues the one before it. `index` is its number in the conversation.
    pub(super) fn later_request(self, call: &Call<'_>, index: usize, read: ReadRequest) {
        let blocks: Vec<AskedBlock> = read.blocks.into_iter().map(|block| block.kept(call, true)).collect();
        let asked_at = call.services.clock.now().to_string();
        let ir_id = call.services.ids.uuid();
        let most = call.services.limits.kept_prompt_bytes;
        self.question(call, |questions, place| {
            let added = questions.get(place).and_then(|question| {
                // A request that is not kept ends the chain, because the next one continues it.
                if question.request_count() != index || index >= TURNS {
                    return None;
                }
                let before = question.requests().last()?.blocks;
                let shared = before.iter().zip(&blocks).take_while(|(before, block)| **before == *block);
                let shared = shared.count();
                let new = blocks.get(shared..).unwrap_or_default();
                let mut held = KeptBytes::of(questions);
                held.add_blocks(new);
                (held.bytes() <= most).then(|| (shared, new.to_vec()))
            });
            let Some(question) = questions.get_mut(place) else { return };
            match added {
                Some((shared, blocks)) => question.later_requests.push(LaterRequest {
                    asked_at,
                    ir_id,
                    shared_blocks: shared as u64,
                    blocks,
                }),
                None => question.unkept_requests += 1,
            }
        });
    }

    pub(super) fn unkept_request(self, call: &Call<'_>) {
        self.question(call, |questions, place| {
            if let Some(question) = questions.get_mut(place) {
                question.unkept_requests += 1;
            }
        });
    }

    fn question(self, call: &Call<'_>, change: impl FnOnce(&mut Vec<AskedPrompt>, usize)) {
        let Kept(Some(place)) = self else { return };
        call.run.report(call.index, |report| change(&mut report.questions, place));
    }

    /// Adds what the model said.
    pub(super) fn turn(self, call: &Call<'_>, response: &Response) {
        let calls = response.tool_calls().map(|tool| {
            let arguments = bounded(call, &tool.arguments).text;
            CalledTool { name: tool.name.clone(), arguments }
        });
        let text = response.text();
        let text = Some(text).filter(|text| !text.is_empty()).map(|text| bounded(call, &text).text);
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
        let text = bounded(call, text).text;
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
            if KeptBytes::of(&report.questions).bytes() > most {
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
        provider: model.provider.word().to_owned(),
        model: model.name.as_str().to_owned(),
        asked_at: Some(call.services.clock.now().to_string()),
        prompt_ir: way.prompt_ir.clone(),
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
        block_ir: None,
        later_requests: Vec::new(),
        unkept_requests: 0,
        turns: Vec::new(),
    }
}

/// Keeps a question in the node's report, unless there are too many or too much of them already.
fn keep(call: &Call<'_>, question: AskedPrompt) -> Kept {
    let most = call.services.limits.kept_prompt_bytes;
    let mut kept = Kept(None);
    call.run.report(call.index, |report| {
        let mut held = KeptBytes::of(&report.questions);
        held.add(&question);
        if report.questions.len() < QUESTIONS && held.bytes() <= most {
            kept = Kept(Some(report.questions.len()));
            report.questions.push(question);
        }
    });
    kept
}

/// A text without secrets, within its bound.
#[derive(Debug, Default)]
struct KeptText {
    text: String,
    /// Of the whole text without secrets.
    hash: String,
    is_cut: bool,
}

fn bounded(call: &Call<'_>, text: &str) -> KeptText {
    let mut text = call.services.secrets.hide(text);
    let hash = stave_canon::prefixed_sha256(&text);
    let end = text.floor_char_boundary(TEXT_BYTES);
    let is_cut = end < text.len();
    text.truncate(end);
    KeptText { text, hash, is_cut }
}
