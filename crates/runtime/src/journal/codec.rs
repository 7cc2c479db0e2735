//! Records as JSON text and back.
//!
//! Invariant: decoding what was encoded gives the same record. A value that an edge carries unchanged is
//! written once, as the output that it is.

use std::time::Duration;

use stave_canon::{Object, Value};
use stave_diag::Code;
use stave_exec::dataflow::Origin;
use stave_llm::Usage;
use stave_llm::prices::Cost;
use stave_shape::Shape;

use super::{CallRecord, Decision, Ending, JournalError, RunStatus, StepRecord};
use crate::evidence::{read_questions, write_questions};
use crate::report::{NodeReport, Status};
use crate::spend::Unsettled;
use crate::state::{Commit, RecordKey, Write};
use crate::volume::Volume;
use stave_engine::{Failure, FailureKind};
use stave_engine::{RunFailure, Signal, StepResult};

/// A step as text.
#[must_use]
pub fn encode_step(record: &StepRecord) -> String {
    step_value(record).to_string()
}

/// A step as a value. An edge that carries an output as it is names the output.
pub(crate) fn step_value(record: &StepRecord) -> Value {
    let mut object = Object::new();
    match &record.result.outputs {
        Ok(outputs) => object.insert("outputs".into(), outputs.clone().into()),
        Err(failure) => object.insert("failure".into(), failure_value(failure)),
    };
    let outputs = record.result.outputs.as_ref().ok();
    let signals = record.result.signals.iter().map(|(edge, signal)| {
        let carried = match signal {
            Signal::Inactive(reason) => ("reason", Value::from(reason.as_str())),
            Signal::Active(value) => {
                let port = outputs.and_then(|outputs| outputs.iter().find(|(_, output)| *output == value));
                match port {
                    Some((port, _)) => ("output", port.as_str().into()),
                    None => ("value", value.clone()),
                }
            }
        };
        Value::from_iter([("edge", Value::from(*edge)), carried])
    });
    object.insert("signals".into(), Value::Array(signals.collect()));
    if let Some(failure) = &record.result.unhandled {
        object.insert("unhandled".into(), failure_value(failure));
    }
    object.insert("attempts".into(), record.result.attempts.into());
    object.insert("reports".into(), record.reports.iter().map(report_value).collect::<Vec<_>>().into());
    Value::Object(object)
}

pub fn decode_step(node: &str, text: &str) -> Result<StepRecord, JournalError> {
    step_of(node, &parse(text)?)
}

pub(crate) fn step_of(node: &str, value: &Value) -> Result<StepRecord, JournalError> {
    let outputs = match (value.get("outputs"), value.get("failure")) {
        (Some(Value::Object(outputs)), None) => Ok(outputs.clone()),
        (None, Some(failure)) => Err(failure_of(failure)?),
        _ => return Err(damaged("a result is neither outputs nor a failure")),
    };
    let mut signals = Vec::new();
    for signal in list(value, "signals")? {
        let edge = count(signal, "edge")?;
        let edge = usize::try_from(edge).map_err(|_| damaged("an edge's index is too large"))?;
        let carried = if let Some(reason) = signal.get("reason") {
            Signal::Inactive(reason.as_str().ok_or_else(|| damaged("a reason is not text"))?.to_owned())
        } else if let Some(port) = signal.get("output").and_then(Value::as_str) {
            let output = outputs.as_ref().ok().and_then(|outputs| outputs.get(port));
            Signal::Active(
                output.ok_or_else(|| damaged("an edge carries an output that is not there"))?.clone(),
            )
        } else {
            Signal::Active(signal.get("value").ok_or_else(|| damaged("an edge carries nothing"))?.clone())
        };
        signals.push((edge, carried));
    }
    let unhandled = value.get("unhandled").map(failure_of).transpose()?;
    let attempts = small(value, "attempts")?;
    Ok(StepRecord {
        node: node.to_owned(),
        result: StepResult { outputs, signals, unhandled, attempts },
        reports: list(value, "reports")?.iter().map(report_of).collect::<Result<_, _>>()?,
    })
}

#[must_use]
pub fn encode_ending(ending: &Ending) -> String {
    ending_value(ending).to_string()
}

pub(crate) fn ending_value(ending: &Ending) -> Value {
    match ending {
        Ending::Ok(output) => output.clone(),
        Ending::Failed(failed) => {
            let mut object = Object::new();
            object.insert("failure".into(), failure_value(&failed.failure));
            object.insert("node".into(), failed.node.clone().into());
            object.insert("attempts".into(), failed.attempts.into());
            Value::Object(object)
        }
        Ending::Cancelled => Value::Null,
    }
}

pub fn decode_ending(status: RunStatus, text: &str) -> Result<Option<Ending>, JournalError> {
    ending_of(status, parse(text)?)
}

pub(crate) fn ending_of(status: RunStatus, value: Value) -> Result<Option<Ending>, JournalError> {
    Ok(match status {
        RunStatus::Ok => Some(Ending::Ok(value)),
        RunStatus::Cancelled => Some(Ending::Cancelled),
        RunStatus::Error => {
            let failure = value.get("failure").ok_or_else(|| damaged("a failed run has no failure"))?;
            Some(Ending::Failed(RunFailure {
                failure: failure_of(failure)?,
                node: value.get("node").and_then(Value::as_str).map(str::to_owned),
                attempts: small(&value, "attempts")?,
            }))
        }
        RunStatus::Running
        | RunStatus::Interrupted
        | RunStatus::Queued
        | RunStatus::Quarantined
        | RunStatus::Waiting => None,
    })
}

#[must_use]
pub fn encode_reports(reports: &[NodeReport]) -> String {
    Value::Array(reports.iter().map(report_value).collect()).to_string()
}

pub fn decode_reports(text: &str) -> Result<Vec<NodeReport>, JournalError> {
    let value = parse(text)?;
    let reports = value.as_array().ok_or_else(|| damaged("the reports are not a list"))?;
    reports.iter().map(report_of).collect()
}

#[must_use]
pub fn encode_decision(decision: &Decision) -> String {
    Value::from_iter([
        ("approved", Value::from(decision.approved)),
        ("comment", decision.comment.clone().into()),
        ("decided_at", decision.decided_at.to_string().into()),
        ("digest", decision.digest.clone().into()),
        ("decided_by", decision.decided_by.clone().into()),
    ])
    .to_string()
}

pub fn decode_decision(text: &str) -> Result<Decision, JournalError> {
    let value = parse(text)?;
    let approved = value.get("approved").and_then(Value::as_bool);
    let decided_at = value.get("decided_at").and_then(Value::as_str).and_then(|at| at.parse().ok());
    Ok(Decision {
        approved: approved.ok_or_else(|| damaged("a decision does not say what was decided"))?,
        comment: value.get("comment").and_then(Value::as_str).map(str::to_owned),
        decided_at: decided_at.ok_or_else(|| damaged("a decision does not say when"))?,
        digest: value.get("digest").and_then(Value::as_str).map(str::to_owned),
        decided_by: value.get("decided_by").and_then(Value::as_str).map(str::to_owned),
    })
}

#[must_use]
pub fn encode_call(call: &CallRecord) -> String {
    Value::from_iter([
        ("node", Value::from(call.node.as_str())),
        ("number", call.number.into()),
        ("fingerprint", call.fingerprint.as_str().into()),
        ("result", call.result.clone()),
    ])
    .to_string()
}

pub fn decode_call(text_of_call: &str) -> Result<CallRecord, JournalError> {
    let value = parse(text_of_call)?;
    Ok(CallRecord {
        node: text(&value, "node")?.to_owned(),
        number: small(&value, "number")?,
        fingerprint: text(&value, "fingerprint")?.to_owned(),
        result: value.get("result").cloned().unwrap_or_default(),
    })
}

#[must_use]
pub fn encode_commit(commit: &Commit) -> String {
    let writes = commit.writes.iter().map(|write| match write {
        Write::Set(field, value) => {
            Value::from_iter([("set", Value::from(field.as_str())), ("to", value.clone())])
        }
        Write::Delete(field) => Value::from_iter([("delete", field.as_str())]),
    });
    Value::from_iter([
        ("key", Value::from(commit.key.as_str())),
        ("backend", commit.key.backend().map(str::to_owned).into()),
        ("writes", Value::Array(writes.collect())),
        ("read", commit.read.map_or(Value::Null, Value::from)),
        ("by", commit.by.as_str().into()),
        ("at", commit.at.to_string().into()),
        ("expires_at", commit.expires_at.map(|at| at.to_string()).into()),
    ])
    .to_string()
}

pub fn decode_commit(text_of_commit: &str) -> Result<Commit, JournalError> {
    let value = parse(text_of_commit)?;
    let time = |key: &str| match value.get(key).and_then(Value::as_str) {
        None => Ok(None),
        Some(at) => at.parse().map(Some).map_err(|_| damaged(&format!("`{key}` is not a time"))),
    };
    let writes = list(&value, "writes")?.iter().map(|write| match (write.get("set"), write.get("delete")) {
        (Some(Value::String(field)), None) => {
            Ok(Write::Set(field.clone(), write.get("to").cloned().unwrap_or_default()))
        }
        (None, Some(Value::String(field))) => Ok(Write::Delete(field.clone())),
        _ => Err(damaged("a write says neither what it sets nor what it deletes")),
    });
    let writes = writes.collect::<Result<_, _>>()?;
    let mut key = RecordKey::of_text(text(&value, "key")?);
    if let Some(backend) = value.get("backend").and_then(Value::as_str) {
        key = key.in_backend(backend);
    }
    Ok(Commit {
        key,
        writes,
        read: value.get("read").and_then(Value::as_i64),
        by: text(&value, "by")?.to_owned(),
        at: time("at")?.ok_or_else(|| damaged("a commit does not say when"))?,
        expires_at: time("expires_at")?,
    })
}

fn failure_value(failure: &Failure) -> Value {
    let mut object = Object::new();
    object.insert("code".into(), failure.code.0.into());
    object.insert("kind".into(), failure.kind.word().into());
    object.insert("message".into(), failure.message.as_str().into());
    object.insert("retryable".into(), failure.retryable.into());
    if let Some(wait) = failure.retry_after {
        object.insert("retry_after_us".into(), micros(wait));
    }
    if !failure.details.is_null() {
        object.insert("details".into(), failure.details.clone());
    }
    insert_origin(&mut object, failure.origin);
    Value::Object(object)
}

fn failure_of(value: &Value) -> Result<Failure, JournalError> {
    let code: Code = stave_diag::lookup(text(value, "code")?)
        .map(|info| info.code)
        .ok_or_else(|| damaged("a failure has a code that is not known"))?;
    let kind =
        FailureKind::from_word(text(value, "kind")?).ok_or_else(|| damaged("a failure has no kind"))?;
    let mut failure = Failure::new(code, kind, text(value, "message")?);
    failure.retryable = flag(value, "retryable");
    failure.retry_after = value.get("retry_after_us").and_then(as_count).map(Duration::from_micros);
    failure.details = value.get("details").cloned().unwrap_or_default();
    failure.origin = origin_of(value)?;
    Ok(failure)
}

fn report_value(report: &NodeReport) -> Value {
    let mut object = Object::new();
    object.insert("id".into(), report.id.as_str().into());
    object.insert("kind".into(), report.kind.as_str().into());
    object.insert("status".into(), report.status.word().into());
    object.insert("attempts".into(), report.attempts.into());
    object.insert("duration_us".into(), micros(report.duration));
    if let Some(started) = report.started {
        object.insert("started_us".into(), micros(started));
    }
    if let Some(reason) = &report.reason {
        object.insert("reason".into(), reason.as_str().into());
    }
    if let Some(failure) = &report.failure {
        object.insert("failure".into(), failure_value(failure));
    }
    if let Some(usage) = &report.usage {
        object.insert("usage".into(), usage_value(usage));
    }
    if let Some(model) = &report.model {
        object.insert("model".into(), model.as_str().into());
    }
    if let Some(cost) = report.cost {
        // Wider than a JSON integer is safe to be, so it is written as text.
        object.insert("cost_picodollars".into(), cost.picodollars().to_string().into());
    }
    if let Some(unsettled) = report.unsettled {
        object.insert("unsettled".into(), unsettled.to_value());
    }
    if report.calls > 0 {
        object.insert("calls".into(), report.calls.into());
    }
    if !report.volume.is_empty() {
        let Volume { state, results, logs } = report.volume;
        let bytes = [("state", state), ("results", results), ("logs", logs)];
        let bytes: Object = bytes.into_iter().map(|(name, bytes)| (name.to_owned(), bytes.into())).collect();
        object.insert("bytes".into(), Value::Object(bytes));
    }
    if report.cached {
        object.insert("cached".into(), true.into());
    }
    if report.reused {
        object.insert("reused".into(), true.into());
    }
    if report.reused_items > 0 {
        object.insert("reused_items".into(), report.reused_items.into());
    }
    if report.degraded {
        object.insert("degraded".into(), true.into());
    }
    if !report.dropped_outputs.is_empty() {
        object.insert("dropped_outputs".into(), report.dropped_outputs.clone().into());
    }
    if !report.flagged.is_empty() {
        object.insert("flagged".into(), report.flagged.clone().into());
    }
    if !report.logs.is_empty() {
        object.insert("logs".into(), report.logs.clone().into());
    }
    if !report.questions.is_empty() {
        object.insert("questions".into(), Value::Array(write_questions(&report.questions)));
    }
    if !report.prompts.is_empty() {
        object.insert("prompts".into(), report.prompts.write());
    }
    insert_origin(&mut object, report.origin);
    Value::Object(object)
}

fn report_of(value: &Value) -> Result<NodeReport, JournalError> {
    let status = Status::from_word(text(value, "status")?).ok_or_else(|| damaged("a step has no status"))?;
    let texts = |key: &str| -> Vec<String> {
        let items = value.get(key).and_then(Value::as_array).unwrap_or_default();
        items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    Ok(NodeReport {
        status,
        attempts: small(value, "attempts")?,
        started: value.get("started_us").and_then(as_count).map(Duration::from_micros),
        duration: Duration::from_micros(count(value, "duration_us")?),
        reason: value.get("reason").and_then(Value::as_str).map(str::to_owned),
        failure: value.get("failure").map(failure_of).transpose()?,
        usage: value.get("usage").map(usage_of).transpose()?,
        model: value.get("model").and_then(Value::as_str).map(str::to_owned),
        cost: value
            .get("cost_picodollars")
            .and_then(Value::as_str)
            .and_then(|cost| cost.parse().ok())
            .map(Cost::from_picodollars),
        unsettled: value.get("unsettled").and_then(Unsettled::of),
        calls: value.get("calls").and_then(as_count).and_then(|calls| u32::try_from(calls).ok()).unwrap_or(0),
        volume: {
            let bytes = |name: &str| value.get("bytes").and_then(|bytes| bytes.get(name)).and_then(as_count);
            Volume {
                state: bytes("state").unwrap_or(0),
                results: bytes("results").unwrap_or(0),
                logs: bytes("logs").unwrap_or(0),
            }
        },
        cached: flag(value, "cached"),
        reused: flag(value, "reused"),
        reused_items: value
            .get("reused_items")
            .and_then(as_count)
            .and_then(|items| u32::try_from(items).ok())
            .unwrap_or(0),
        degraded: flag(value, "degraded"),
        dropped_outputs: texts("dropped_outputs"),
        flagged: texts("flagged"),
        logs: texts("logs"),
        questions: read_questions(value.get("questions").and_then(Value::as_array).unwrap_or_default()),
        prompts: value
            .get("prompts")
            .and_then(|counts| stave_shape::read_leniently(counts).0)
            .unwrap_or_default(),
        ..NodeReport::waiting(text(value, "id")?, text(value, "kind")?, origin_of(value)?)
    })
}

pub(crate) fn usage_value(usage: &Usage) -> Value {
    [
        ("input", usage.input),
        ("output", usage.output),
        ("cache_read", usage.cache_read),
        ("cache_write", usage.cache_write),
        ("cache_write_1h", usage.cache_write_1h),
        ("reasoning", usage.reasoning),
    ]
    .into_iter()
    .collect()
}

pub(crate) fn usage_of(value: &Value) -> Result<Usage, JournalError> {
    Ok(Usage {
        input: count(value, "input")?,
        output: count(value, "output")?,
        cache_read: count(value, "cache_read")?,
        cache_write: count(value, "cache_write")?,
        cache_write_1h: count(value, "cache_write_1h")?,
        reasoning: count(value, "reasoning")?,
    })
}

fn insert_origin(object: &mut Object, origin: Option<Origin>) {
    if let Some(origin) = origin {
        object.insert("line".into(), origin.line.into());
        object.insert("column".into(), origin.column.into());
    }
}

fn origin_of(value: &Value) -> Result<Option<Origin>, JournalError> {
    match value.get("line") {
        None => Ok(None),
        Some(_) => Ok(Some(Origin { line: small(value, "line")?, column: small(value, "column")? })),
    }
}

fn parse(text: &str) -> Result<Value, JournalError> {
    stave_canon::parse(text).map_err(|error| damaged(&error.to_string()))
}

fn text<'v>(value: &'v Value, key: &str) -> Result<&'v str, JournalError> {
    value.get(key).and_then(Value::as_str).ok_or_else(|| damaged(&format!("`{key}` is not text")))
}

fn list<'v>(value: &'v Value, key: &str) -> Result<&'v [Value], JournalError> {
    value.get(key).and_then(Value::as_array).ok_or_else(|| damaged(&format!("`{key}` is not a list")))
}

fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or_default()
}

fn as_count(value: &Value) -> Option<u64> {
    value.as_i64().and_then(|number| u64::try_from(number).ok())
}

fn count(value: &Value, key: &str) -> Result<u64, JournalError> {
    value.get(key).and_then(as_count).ok_or_else(|| damaged(&format!("`{key}` is not a number")))
}

fn small(value: &Value, key: &str) -> Result<u32, JournalError> {
    u32::try_from(count(value, key)?).map_err(|_| damaged(&format!("`{key}` is too large")))
}

fn micros(duration: Duration) -> Value {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX).into()
}

fn damaged(reason: &str) -> JournalError {
    JournalError::Damaged(reason.to_owned())
}
