//! Whether a request may go to an upstream: the gate for sensitive content, and the project's policies.
//!
//! Invariant: closed by default. What could not be judged is not sent, and neither is what a rule of ours
//! failed on.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use hyper::StatusCode;
use stave_block::{
    DataScope, Destination, Gate, GateRecord, GateVerdict, Position, PositionKind, PromptRole, Provenance,
    Sensitivity, SensitivityPolicy, WirePrompt,
};
use stave_canon::{Clock, Ids};
use stave_lower::{JudgedTooLong, Splice, gate_body_until, outside_texts, position_texts};
use stave_prompt::governance::{AskedModel, ConversationText, PolicyAction, PolicySet, TextSource, Verdict};
use stave_prompt::{PromptBuildError, PromptIr, PromptIrBuilder};

use super::interface::Fault;
use super::seen::CleanPrefixes;
use super::upstream::Upstream;
use crate::config::{Enforcement, RequestPolicy};
use crate::records::GateDecision;

/// How long gate and policies may compute for one request. The time is linear in the body.
const LONGEST_JUDGING: Duration = Duration::from_secs(1);

/// What was decided about a request that may be sent.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// What is taken out of it.
    pub(crate) splices: Vec<Splice>,
    /// The upstream that it has to go to instead.
    pub(crate) route: Option<String>,
    pub(crate) decisions: Vec<GateDecision>,
    /// By position, the labels of what the gate acted on.
    pub(crate) labels: Vec<(usize, Sensitivity)>,
    /// Whether judging failed, and the operator wants such a request sent.
    pub(crate) is_unjudged: bool,
}

/// A request that must not be sent, with what was decided.
#[derive(Debug)]
pub(crate) struct Denied {
    pub(crate) fault: Fault,
    pub(crate) decisions: Vec<GateDecision>,
}

/// Why judging ended without a request that may be sent.
enum Verdictless {
    Denied(Denied),
    /// Something of ours did not work.
    Failed,
}

impl From<Denied> for Verdictless {
    fn from(denied: Denied) -> Self {
        Verdictless::Denied(denied)
    }
}

impl From<PromptBuildError> for Verdictless {
    fn from(_: PromptBuildError) -> Self {
        Verdictless::Failed
    }
}

/// What judging needs beside the request.
#[derive(Debug)]
pub(crate) struct Judge<'j> {
    pub(crate) policy: &'j RequestPolicy,
    pub(crate) clean: &'j CleanPrefixes,
    /// The labels of the request as a whole, each with what it comes from.
    pub(crate) labels: &'j [(&'static str, Sensitivity)],
    pub(crate) tenant: &'j str,
    pub(crate) ids: &'j dyn Ids,
    pub(crate) clock: &'j dyn Clock,
    /// How much this thread had computed when judging began.
    pub(crate) began: Duration,
}

impl Judge<'_> {
    /// Judges a request on its way to an upstream. A defect of ours is a refusal, unless the operator wants it
    /// otherwise.
    pub(crate) fn judge(
        &self,
        body: &str,
        wire: &WirePrompt,
        upstream: &Upstream,
        model: &str,
    ) -> Result<Judged, Denied> {
        match catch_unwind(AssertUnwindSafe(|| self.decide(body, wire, upstream, model))) {
            Ok(Ok(judged)) => Ok(judged),
            Ok(Err(Verdictless::Denied(denied))) => Err(denied),
            Ok(Err(Verdictless::Failed)) | Err(_) if self.policy.forward_unjudged => {
                Ok(Judged { is_unjudged: true, ..Judged::default() })
            }
            Ok(Err(Verdictless::Failed)) | Err(_) => {
                let message = "the request could not be judged, so it was not sent";
                let fault = Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "policy_failed", message);
                Err(Denied { fault, decisions: Vec::new() })
            }
        }
    }

    /// Judges the models that a body names beside the one that it asks for: its provider may let them answer.
    pub(crate) fn judge_other_models(&self, models: &[String], upstream: &Upstream) -> Result<(), Denied> {
        if self.policy.enforcement == Enforcement::Off {
            return Ok(());
        }
        models.iter().try_for_each(|model| {
            let asked = AskedModel { provider: upstream.config.provider.word(), name: Some(model) };
            self.enforce(&self.policy.governance.check_model(asked), &mut Vec::new())
        })
    }

    /// Whether judging has taken longer than it may.
    fn is_late(&self) -> bool {
        self.clock.computed().saturating_sub(self.began) > LONGEST_JUDGING
    }

    fn decide(
        &self,
        body: &str,
        wire: &WirePrompt,
        upstream: &Upstream,
        model: &str,
    ) -> Result<Judged, Verdictless> {
        let accepts = upstream.config.accepts;
        let enforcement = self.policy.enforcement;
        let mut of_model = Vec::new();
        if enforcement != Enforcement::Off {
            let asked = AskedModel { provider: upstream.config.provider.word(), name: Some(model) };
            self.enforce(&self.policy.governance.check_model(asked), &mut of_model)?;
        }
        // What a prefix holds does not change, so it is judged once.
        let rules = rules(accepts, self.tenant);
        let known = if has_plain_marks(body, wire) { self.clean.known(rules, wire) } else { 0 };
        let mut judged = Judged::default();
        if self.policy.gate {
            self.gate(&self.policy.sensitivity, body, wire, known, accepts, &mut judged)?;
        }
        if enforcement != Enforcement::Off {
            let verdict = self.texts(body, wire, known, upstream, model)?;
            self.enforce(&verdict, &mut judged.decisions)?;
        }
        if known < wire.positions.len() && judged.decisions.is_empty() && judged.splices.is_empty() {
            self.clean.add(rules, wire, known);
        }
        // New instructions are judged with their model, and what was found about it is counted once.
        of_model.retain(|decision| !judged.decisions.iter().any(|known| known.rule == decision.rule));
        judged.decisions.extend(of_model);
        Ok(judged)
    }

    /// Judges a body that was made from one that was judged. What is found in it now was hidden from the gate before,
    /// so it is not sent.
    pub(crate) fn judge_translated(
        &self,
        body: &str,
        wire: &WirePrompt,
        upstream: &Upstream,
    ) -> Result<(), Denied> {
        if !self.policy.gate {
            return Ok(());
        }
        let mut judged = Judged::default();
        // Where a text came from was decided before; here it only counts what it looks like.
        let policy = SensitivityPolicy { provenance: Vec::new(), ..self.policy.sensitivity.clone() };
        self.gate(&policy, body, wire, 0, upstream.config.accepts, &mut judged)?;
        if judged.splices.is_empty() && judged.route.is_none() {
            return Ok(());
        }
        let message = "the request holds content that may not leave here, in a form that cannot be taken out";
        let fault = Fault::new(StatusCode::FORBIDDEN, "content_refused", message);
        Err(Denied { fault, decisions: judged.decisions })
    }

    fn gate(
        &self,
        policy: &SensitivityPolicy,
        body: &str,
        wire: &WirePrompt,
        known: usize,
        accepts: Sensitivity,
        judged: &mut Judged,
    ) -> Result<(), Denied> {
        let origin = DataScope::new(self.tenant);
        let gate = Gate::new(policy, &origin, destination(accepts, &origin));
        let gated = gate_body_until(body, wire, known, policy, gate, &|| self.is_late())
            .map_err(|JudgedTooLong| too_long())?;
        judged.decisions = decisions(&gated.records, Some(wire));
        judged.labels = gated.records.iter().map(|record| (record.block, record.label)).collect();
        match gated.verdict {
            GateVerdict::Send => judged.splices = gated.splices,
            GateVerdict::Route(to) => judged.route = Some(to),
            GateVerdict::Refuse => {
                let message = "the request holds content that may not leave here";
                return Err(refused(message, std::mem::take(&mut judged.decisions)));
            }
        }
        Ok(())
    }

    /// Judges what the request is labelled as a whole, whatever its body holds and whether anybody can read it.
    pub(crate) fn judge_labels(&self, upstream: &Upstream) -> Result<Judged, Denied> {
        let mut judged = Judged::default();
        if !self.policy.gate || self.labels.is_empty() {
            return Ok(judged);
        }
        let origin = DataScope::new(self.tenant);
        let destination = destination(upstream.config.accepts, &origin);
        let mut gate = Gate::new(&self.policy.sensitivity, &origin, destination);
        for (from, label) in self.labels {
            gate.request(from, *label);
        }
        let (verdict, records) = gate.finished();
        judged.decisions = decisions(&records, None);
        match verdict {
            GateVerdict::Send => {}
            GateVerdict::Route(to) => judged.route = Some(to),
            GateVerdict::Refuse => {
                return Err(refused("the request has a label that may not leave here", judged.decisions));
            }
        }
        Ok(judged)
    }

    /// What the policies say about the texts. Instructions are the intent, and content too: only the default policy about
    /// injected instructions says nothing about them.
    fn texts(
        &self,
        body: &str,
        wire: &WirePrompt,
        known: usize,
        upstream: &Upstream,
        model: &str,
    ) -> Result<Verdict, Verdictless> {
        let policies = &self.policy.governance;
        let mut texts: Vec<(String, TextSource, String)> = Vec::new();
        for position in wire.positions.iter().skip(known) {
            let source = source_of(position);
            let place = match (position.message, source) {
                (Some(at), _) => format!("messages[{at}]"),
                (None, TextSource::Instruction) => "system".to_owned(),
                (None, TextSource::Written | TextSource::Brought) => "request".to_owned(),
            };
            texts
                .extend(position_texts(body, position).into_iter().map(|text| (place.clone(), source, text)));
        }
        texts.extend(joined(&texts));
        let outside = outside_texts(body, wire);
        texts.extend(outside.into_iter().map(|text| ("request".to_owned(), TextSource::Written, text)));
        let contents: Vec<ConversationText<'_>> = texts
            .iter()
            .map(|(reference, source, text)| ConversationText { reference, source: *source, text })
            .collect();
        let mut verdict = Verdict { violations: Vec::new() };
        for some in chunks(&contents) {
            if self.is_late() {
                return Err(too_long().into());
            }
            let judged = policies.check_conversation_until(some, &|| self.is_late()).ok_or_else(too_long)?;
            verdict.violations.extend(judged.violations);
        }
        let is_new = wire.positions.iter().skip(known).any(is_instruction);
        if is_new {
            verdict.violations.extend(self.intent(policies, body, wire, upstream, model)?.violations);
        }
        Ok(verdict)
    }

    fn intent(
        &self,
        policies: &PolicySet,
        body: &str,
        wire: &WirePrompt,
        upstream: &Upstream,
        model: &str,
    ) -> Result<Verdict, PromptBuildError> {
        let texts = wire.positions.iter().filter(|position| is_instruction(position));
        let system: Vec<String> = texts.flat_map(|position| position_texts(body, position)).collect();
        let ir = prompt_of(&system.join("\n"), upstream, model, self.ids, self.clock)?;
        Ok(policies.check(&ir))
    }

    /// Refuses what a verdict denies, and keeps what it flags.
    fn enforce(&self, verdict: &Verdict, decisions: &mut Vec<GateDecision>) -> Result<(), Denied> {
        if verdict.violations.is_empty() {
            return Ok(());
        }
        let is_refused = !verdict.approved() && self.policy.enforcement == Enforcement::Enforce;
        for violation in &verdict.violations {
            let denies = is_refused && violation.action == PolicyAction::Deny;
            add(
                decisions,
                GateDecision {
                    action: Cow::Borrowed(if denies { "refuse" } else { "flag" }),
                    rule: Cow::Owned(violation.policy.to_string()),
                    places: 1,
                    field: Cow::Owned(violation.field.word().to_owned()),
                    is_policy: true,
                },
            );
        }
        if !is_refused {
            return Ok(());
        }
        let message = format!("governance refused the request: {}", verdict.texts().join("; "));
        let fault = Fault::new(StatusCode::FORBIDDEN, "prompt_refused", message);
        Err(Denied { fault, decisions: std::mem::take(decisions) })
    }
}

/// The prompt that policies and plugins see of a request: its system text.
pub(crate) fn prompt_of(
    system: &str,
    upstream: &Upstream,
    model: &str,
    ids: &dyn Ids,
    clock: &dyn Clock,
) -> Result<PromptIr, PromptBuildError> {
    PromptIrBuilder::new("gateway", system)
        .set_model_hint(upstream.config.provider.word())
        .add_metadata("model", model)
        .build(ids, clock)
}

/// An upstream that takes restricted content is inside the scope of the tenant; one that takes public content only is like
/// a place that others read.
fn destination<'d>(accepts: Sensitivity, origin: &'d DataScope) -> Destination<'d> {
    match accepts {
        Sensitivity::Restricted => Destination::Within(origin),
        Sensitivity::Private => Destination::External,
        Sensitivity::Public => Destination::Shared,
    }
}

fn refused(message: &str, decisions: Vec<GateDecision>) -> Denied {
    let mut rules: Vec<&str> = decisions.iter().map(|decision| &*decision.rule).collect();
    // One rule decides about several parts of a request.
    let mut named = std::collections::HashSet::new();
    rules.retain(|rule| named.insert(*rule));
    let message = format!("{message}: {}", rules.join(", "));
    Denied { fault: Fault::new(StatusCode::FORBIDDEN, "content_refused", message), decisions }
}

/// A request that nobody has time to judge is not sent, whatever is done with those that could not be judged.
fn too_long() -> Denied {
    let message = "judging the request took too long; make it smaller or try again";
    let fault = Fault::new(StatusCode::SERVICE_UNAVAILABLE, "judging_timeout", message);
    Denied { fault: fault.after(Some(Duration::from_secs(1))), decisions: Vec::new() }
}

/// How much text is judged before the clock is looked at.
const CHUNK_BYTES: usize = 256 * 1024;

/// The texts in groups of about that much.
fn chunks<'c, 't>(mut contents: &'c [ConversationText<'t>]) -> Vec<&'c [ConversationText<'t>]> {
    let mut chunks = Vec::new();
    while !contents.is_empty() {
        let mut bytes = 0;
        let count = contents.iter().take_while(|content| {
            let fits = bytes < CHUNK_BYTES;
            bytes += content.text.len();
            fits
        });
        let (chunk, rest) = contents.split_at(count.count());
        chunks.push(chunk);
        contents = rest;
    }
    chunks
}

/// Whether the marks say nothing but that they are marks: anything else in them is not part of the prefix's hash.
fn has_plain_marks(body: &str, wire: &WirePrompt) -> bool {
    let mut marks =
        wire.positions.iter().filter_map(|position| position.mark.as_ref()).chain(&wire.surplus_marks);
    marks.all(|mark| {
        let text = body.get(mark.value.clone()).unwrap_or_default();
        let plain: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
        PLAIN_MARKS.contains(&plain.as_str())
    })
}

const PLAIN_MARKS: [&str; 5] = [
    r#"{"type":"ephemeral"}"#,
    r#"{"type":"ephemeral","ttl":"5m"}"#,
    r#"{"type":"ephemeral","ttl":"1h"}"#,
    r#"{"ttl":"5m","type":"ephemeral"}"#,
    r#"{"ttl":"1h","type":"ephemeral"}"#,
];

/// What the texts of each message say one after the other, for messages of several texts. A message of which a
/// participant wrote a part is judged as his.
fn joined(texts: &[(String, TextSource, String)]) -> Vec<(String, TextSource, String)> {
    let mut joined = Vec::new();
    for same in texts.chunk_by(|one, next| one.0 == next.0).filter(|same| same.len() > 1) {
        let is_all = |wanted| same.iter().all(|(_, source, _)| *source == wanted);
        let all = [TextSource::Brought, TextSource::Instruction].into_iter().find(|source| is_all(*source));
        let source = all.unwrap_or(TextSource::Written);
        joined.push((same[0].0.clone(), source, same.iter().map(|(.., text)| text.as_str()).collect()));
    }
    joined
}

/// The source of the content at a position. What a client says of its tools is its author's.
fn source_of(position: &Position) -> TextSource {
    if is_instruction(position) {
        return TextSource::Instruction;
    }
    let is_brought = position.role == PromptRole::Tool
        || matches!(position.kind, PositionKind::Document | PositionKind::ToolResult)
        || matches!(position.provenance, Provenance::Tool | Provenance::Retrieval);
    if is_brought && position.kind != PositionKind::Tool { TextSource::Brought } else { TextSource::Written }
}

pub(crate) fn is_instruction(position: &Position) -> bool {
    position.role == PromptRole::System && position.kind == PositionKind::Text
}

/// A number for what a request is judged by, beside the policies, which are the same for all.
fn rules(accepts: Sensitivity, tenant: &str) -> u128 {
    let mut number = match accepts {
        Sensitivity::Public => 1,
        Sensitivity::Private => 2,
        Sensitivity::Restricted => 3,
    };
    for byte in tenant.bytes() {
        number = (number ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    number
}

/// The gate's decisions by rule and part of the request.
fn decisions(records: &[GateRecord], wire: Option<&WirePrompt>) -> Vec<GateDecision> {
    let mut decisions = Vec::new();
    for record in records {
        let position = wire.and_then(|wire| wire.positions.get(record.block));
        let field = position.map_or("request", field);
        add(
            &mut decisions,
            GateDecision {
                action: Cow::Borrowed(record.action_word()),
                rule: Cow::Owned(record.rule.clone()),
                places: 1,
                field: Cow::Borrowed(field),
                is_policy: false,
            },
        );
    }
    decisions
}

/// The part of a request that a position belongs to, as figures name it.
fn field(position: &Position) -> &'static str {
    match position.kind {
        PositionKind::Tool => "tools",
        PositionKind::OutputSchema => "output_schema",
        PositionKind::ToolResult => "tool_result",
        PositionKind::Document | PositionKind::Image | PositionKind::Audio => "context",
        PositionKind::Text | PositionKind::ToolUse | PositionKind::Thinking | PositionKind::Other => {
            match position.role {
                PromptRole::System => "instructions",
                PromptRole::User => "input",
                PromptRole::Assistant => "history",
                PromptRole::Tool => "tool_result",
            }
        }
    }
}

pub(crate) fn add(decisions: &mut Vec<GateDecision>, decision: GateDecision) {
    let known = decisions.iter_mut().find(|known| {
        (&known.action, &known.rule, &known.field) == (&decision.action, &decision.rule, &decision.field)
    });
    match known {
        Some(known) => known.places = known.places.saturating_add(decision.places),
        None => decisions.push(decision),
    }
}
