//! The gate that a prompt passes on its way to a model: what is restricted stays inside its scope.
//!
//! Labels come from the flow, baked into the document's policy under `sensitivity`, and from what secrets and
//! personal data look like. A model takes what its endpoint's host or its provider is said to accept, and
//! private data at most when nobody said anything. What it may not have is refused, taken out or sent to the
//! fallback model, as the policy says, and the step's report holds every decision.
//!
//! Invariant: nothing is sent to a model that was not governed for that very model.

use std::borrow::Cow;

use stave_block::{
    BlockIr, DataScope, Destination, Gate, GateAction, GateRecord, GateVerdict, Provenance, Sensitivity,
    SensitivityPolicy, govern_blocks,
};
use stave_diag::codes::run as codes;
use stave_script::Read;
use stave_script::address::HostPort;

use super::arguments::{Arguments, Model};
use super::evidence::{self, GateOutcome, Kept, Way};
use super::question::Question;
use crate::labels::{self, bad, read, rules};
use crate::run::Call;
use crate::{Failure, failure::FailureKind};

/// The label of a text that was made of these values, or whose presence they decided.
pub(super) fn label<'r>(
    call: &Call<'_>,
    reads: impl IntoIterator<Item = &'r Read>,
) -> Result<Sensitivity, Failure> {
    let mut most = Sensitivity::Public;
    if call.run.plan.graph.reads_references() {
        most = labels::of_read(call, &Read::EveryInput)?;
    }
    for read in reads {
        most = most.join(labels::of_read(call, read)?);
    }
    Ok(most)
}

/// The prompt as a model may have it, and the model that it goes to: the one that was asked for, or the
/// fallback when the policy routes to it.
pub(super) fn pass<'a>(
    call: &Call<'_>,
    arguments: &'a Arguments,
    question: &Question,
    model: &'a Model,
) -> Result<(BlockIr, &'a Model, Kept), Failure> {
    let fallback = arguments.fallback.as_ref().and_then(|fallback| fallback.model.as_ref());
    let mut model = model;
    let blocks = &question.blocks;
    loop {
        let rules = Rules::read(call, model)?;
        // The address is part of what the model's host receives, and nothing can be taken out of it.
        if model.address_label > rules.accepts {
            evidence::address_refused(call);
            let message = format!(
                "the address of the model has {} data, which `{}` may not have",
                model.address_label,
                model.provider.word()
            );
            return Err(Failure::new(codes::PROMPT_REFUSED, FailureKind::Refused, message));
        }
        let governed = rules
            .on(|policy, origin, destination| govern_blocks(blocks.clone(), policy, origin, destination));
        report(call, model, &governed.records);
        let route = match &governed.verdict {
            GateVerdict::Route(to) => fallback.filter(|other| is_named(other, to) && !is_named(model, to)),
            GateVerdict::Send | GateVerdict::Refuse => None,
        };
        let outcome = match (&governed.verdict, route) {
            (GateVerdict::Send, _) => GateOutcome::Sent,
            (_, Some(_)) => GateOutcome::Routed,
            (_, None) => GateOutcome::Refused,
        };
        let kept = evidence::asked(call, model, &question.way, &governed.prompt, &governed.records, outcome);
        match (outcome, route) {
            (GateOutcome::Sent, _) => return Ok((governed.prompt, model, kept)),
            (_, Some(other)) => model = other,
            (_, None) => return Err(refused(model, &governed.records)),
        }
    }
}

/// The request for a digest as its model may have it; `None` when the model may not have all of it.
pub(super) fn pass_digest(
    call: &Call<'_>,
    model: &Model,
    blocks: &BlockIr,
    way: &Way,
) -> Result<Option<(BlockIr, Kept)>, Failure> {
    let governed = Rules::read(call, model)?
        .on(|policy, origin, destination| govern_blocks(blocks.clone(), policy, origin, destination));
    report(call, model, &governed.records);
    let is_sent = governed.verdict == GateVerdict::Send;
    let outcome = if is_sent { GateOutcome::Sent } else { GateOutcome::Refused };
    let kept = evidence::asked(call, model, way, &governed.prompt, &governed.records, outcome);
    Ok(is_sent.then_some((governed.prompt, kept)))
}

/// What a tool answered, as the model may have it, with its label. A failure may quote what an output does not.
pub(super) fn tool_answer<'t>(
    call: &Call<'_>,
    model: &Model,
    node: Option<&str>,
    text: &'t str,
    is_error: bool,
) -> Result<(Cow<'t, str>, Sensitivity), Failure> {
    let labels = rules(call).and_then(|rules| match is_error {
        // A document of an earlier version has no levels of errors; what a node reads is as much or more.
        true => rules.get("errors").or_else(|| rules.get("reads")),
        false => rules.get("outputs"),
    });
    let label = node.and_then(|node| labels?.get(node)).map_or(Ok(Sensitivity::Public), read)?;
    let (left, label, verdict, records) = Rules::read(call, model)?.on(|policy, origin, destination| {
        let mut gate = Gate::new(policy, origin, destination);
        let label = policy.label(label, Provenance::Tool, &[]);
        let left = gate.text(0, label, text);
        let (verdict, records) = gate.finished();
        (left, label, verdict, records)
    });
    report(call, model, &records);
    evidence::tool_gated(call, &records, verdict != GateVerdict::Send);
    match verdict {
        GateVerdict::Send => Ok((left.map_or(Cow::Borrowed(text), Cow::Owned), label)),
        // The conversation is with this model already.
        GateVerdict::Route(_) | GateVerdict::Refuse => Err(refused(model, &records)),
    }
}

/// The policy for one model.
struct Rules {
    policy: SensitivityPolicy,
    accepts: Sensitivity,
}

impl Rules {
    fn read(call: &Call<'_>, model: &Model) -> Result<Rules, Failure> {
        let rules = rules(call);
        let host = model.endpoint.as_deref().and_then(HostPort::of);
        let host = host.map(|host| labels::accepted_host(call, &host)).transpose()?.flatten();
        let accepted = match host {
            Some(host) => Some(host),
            None => labels::accepted(call, "providers", model.provider.word())?,
        };
        let mut policy = (*call.services.gate).clone();
        if let Some(said) = rules.and_then(|rules| rules.get("restricted")) {
            let action = said
                .as_str()
                .and_then(GateAction::from_words)
                .ok_or_else(|| bad("`restricted` is not `refuse`, `redact` or `route:` and a name"))?;
            policy.restricted = action.clone();
            policy.block = Some(action);
        }
        Ok(Rules { policy, accepts: accepted.unwrap_or(Sensitivity::Private) })
    }

    /// A model that takes restricted data is inside the scope of the run; one that takes public data only is
    /// like a place that others read.
    fn on<T>(&self, decide: impl FnOnce(&SensitivityPolicy, &DataScope, Destination<'_>) -> T) -> T {
        let run = DataScope::new("run");
        let destination = match self.accepts {
            Sensitivity::Restricted => Destination::Within(&run),
            Sensitivity::Private => Destination::External,
            Sensitivity::Public => Destination::Shared,
        };
        decide(&self.policy, &run, destination)
    }
}

/// Whether a policy means this model, by its provider or by its endpoint's host.
fn is_named(model: &Model, name: &str) -> bool {
    let host = model.endpoint.as_deref().and_then(HostPort::of);
    model.provider.word() == name || host.is_some_and(|host| host.entries().any(|entry| entry == name))
}

/// Puts the decisions into the step's report, without the content.
fn report(call: &Call<'_>, model: &Model, records: &[GateRecord]) {
    if records.is_empty() {
        return;
    }
    let notes: Vec<String> = records.iter().map(|record| note(model, record)).collect();
    call.run.report(call.index, |report| {
        for note in notes {
            if !report.flagged.contains(&note) {
                report.flagged.push(note);
            }
        }
    });
}

fn note(model: &Model, record: &GateRecord) -> String {
    let done = match (&record.action, record.is_report) {
        (GateAction::Redact, false) => "was taken out",
        (GateAction::Refuse, false) => "was refused",
        (GateAction::Route(_), false) => "was routed elsewhere",
        (GateAction::Redact, true) => "would have been taken out (report only)",
        (GateAction::Refuse, true) => "would have been refused (report only)",
        (GateAction::Route(_), true) => "would have been routed elsewhere (report only)",
    };
    format!(
        "{} content ({}) in block {} {done} on its way to `{}`",
        record.label,
        record.rule,
        record.block,
        model.provider.word()
    )
}

fn refused(model: &Model, records: &[GateRecord]) -> Failure {
    let notes: Vec<String> = records.iter().map(|record| note(model, record)).collect();
    let message = format!("the prompt cannot be sent to `{}`: {}", model.provider.word(), notes.join("; "));
    Failure::new(codes::PROMPT_REFUSED, FailureKind::Refused, message).details(notes)
}
