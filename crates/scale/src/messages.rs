//! The messages between the services of a run.

use std::collections::HashMap;
use std::time::Duration;

use stave_canon::{Object, Timestamp, Value};
use stave_llm::prices::Cost;
use stave_runtime::interpreter::StepCall;
use stave_runtime::journal::{Decision, Ending, Question, RunStatus, StepRecord, Times, codec};
use stave_runtime::{RunReport, Spent, Volume};

use crate::error::ScaleError;
use crate::store::Packed;

/// A run as it is handed over.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    pub(crate) flow: String,
    /// The hash of the document, which the run keeps.
    pub(crate) document: String,
    pub(crate) request: Packed,
    pub(crate) times: Times,
    pub(crate) replay_of: Option<String>,
    /// What was asked, when the same run may be asked for again.
    pub(crate) digest: Option<String>,
    /// The results that it begins with: a list of records.
    pub(crate) known: Option<Packed>,
    pub(crate) decisions: HashMap<String, Decision>,
    /// How many steps are done at the same time. It goes with the run, because the order of its calls follows
    /// from it.
    pub(crate) parallel_steps: usize,
}

/// A step that is to be done.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) run: String,
    pub(crate) project: String,
    pub(crate) document: String,
    pub(crate) request: Packed,
    pub(crate) times: Times,
    pub(crate) node: String,
    /// The inputs of the step and of its tools.
    pub(crate) inputs: Packed,
    pub(crate) tool_reports: String,
    pub(crate) spent: Spent,
    pub(crate) effects: bool,
    /// What people decided about the step and what it runs, by path.
    pub(crate) decisions: HashMap<String, Decision>,
}

/// The result of a step.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// It waits for people, as the reports say. The questions are calls.
    Waits {
        reports: String,
        questions: Vec<String>,
    },
    Done {
        node: String,
        record: Packed,
    },
}

impl Start {
    pub(crate) fn to_value(&self) -> Value {
        Value::from_iter([
            ("flow", Value::from(self.flow.as_str())),
            ("document", self.document.as_str().into()),
            ("request", self.request.to_value()),
            ("started_at", self.times.started_at.to_string().into()),
            ("arrived_at", self.times.arrived_at.to_string().into()),
            ("replay_of", self.replay_of.clone().into()),
            ("digest", self.digest.clone().into()),
            ("known", self.known.as_ref().map_or(Value::Null, Packed::to_value)),
            ("decisions", decisions_value(&self.decisions)),
            ("parallel_steps", self.parallel_steps.into()),
        ])
    }

    pub(crate) fn of_value(value: &Value) -> Result<Start, ScaleError> {
        Ok(Start {
            flow: text(value, "flow")?,
            document: text(value, "document")?,
            request: packed(value, "request")?,
            times: times(value)?,
            replay_of: value.get("replay_of").and_then(Value::as_str).map(str::to_owned),
            digest: value.get("digest").and_then(Value::as_str).map(str::to_owned),
            known: value.get("known").and_then(Packed::of_value),
            decisions: decisions_of(value.get("decisions"))?,
            parallel_steps: count(value, "parallel_steps")?.try_into().unwrap_or(usize::MAX),
        })
    }
}

impl Job {
    pub(crate) fn to_value(&self) -> Value {
        Value::from_iter([
            ("run", Value::from(self.run.as_str())),
            ("project", self.project.as_str().into()),
            ("document", self.document.as_str().into()),
            ("request", self.request.to_value()),
            ("started_at", self.times.started_at.to_string().into()),
            ("arrived_at", self.times.arrived_at.to_string().into()),
            ("node", self.node.as_str().into()),
            ("inputs", self.inputs.to_value()),
            ("tool_reports", self.tool_reports.as_str().into()),
            ("tokens", self.spent.tokens.into()),
            ("cost_picodollars", self.spent.cost.picodollars().to_string().into()),
            ("calls", self.spent.calls.into()),
            ("steps", self.spent.steps.into()),
            ("state_bytes", self.spent.volume.state.into()),
            ("result_bytes", self.spent.volume.results.into()),
            ("log_bytes", self.spent.volume.logs.into()),
            ("effects", self.effects.into()),
            ("decisions", decisions_value(&self.decisions)),
        ])
    }

    pub(crate) fn of_value(value: &Value) -> Result<Job, ScaleError> {
        let cost = text(value, "cost_picodollars")?.parse().map_err(|_| damaged("cost_picodollars"))?;
        Ok(Job {
            run: text(value, "run")?,
            project: text(value, "project")?,
            document: text(value, "document")?,
            request: packed(value, "request")?,
            times: times(value)?,
            node: text(value, "node")?,
            inputs: packed(value, "inputs")?,
            tool_reports: text(value, "tool_reports")?,
            spent: Spent {
                tokens: count(value, "tokens")?,
                cost: Cost::from_picodollars(cost),
                calls: count(value, "calls")?,
                steps: count(value, "steps")?,
                volume: Volume {
                    state: count(value, "state_bytes").unwrap_or_default(),
                    results: count(value, "result_bytes").unwrap_or_default(),
                    logs: count(value, "log_bytes").unwrap_or_default(),
                },
            },
            effects: value.get("effects").and_then(Value::as_bool).unwrap_or_default(),
            decisions: decisions_of(value.get("decisions"))?,
        })
    }

    /// The call that the job asks for; `inputs` is what its inputs unpack to.
    pub(crate) fn call(&self, inputs: &str) -> Result<StepCall, ScaleError> {
        let (inputs, tool_inputs) = inputs_of(inputs)?;
        Ok(StepCall {
            node: self.node.clone(),
            inputs,
            tool_inputs,
            tool_reports: codec::decode_reports(&self.tool_reports)
                .map_err(|error| ScaleError::Damaged(error.to_string()))?,
            spent: self.spent,
            effects: self.effects,
        })
    }
}

/// The inputs of a step and of its tools as one text.
pub(crate) fn inputs_text(call: &StepCall) -> String {
    let tools = call
        .tool_inputs
        .iter()
        .map(|(tool, inputs)| Value::Array(vec![tool.as_str().into(), Value::Object(inputs.clone())]));
    Value::Array(vec![Value::Object(call.inputs.clone()), Value::Array(tools.collect())]).to_string()
}

fn inputs_of(text: &str) -> Result<(Object, Vec<(String, Object)>), ScaleError> {
    let value = stave_canon::parse(text).map_err(|error| ScaleError::Damaged(error.to_string()))?;
    let read = || {
        let [Value::Object(inputs), Value::Array(tools)] = value.as_array()? else { return None };
        let tools = tools.iter().map(|tool| match tool.as_array()? {
            [Value::String(tool), Value::Object(inputs)] => Some((tool.clone(), inputs.clone())),
            _ => None,
        });
        Some((inputs.clone(), tools.collect::<Option<_>>()?))
    };
    read().ok_or_else(|| damaged("inputs"))
}

impl Answer {
    pub(crate) fn to_value(&self) -> Value {
        match self {
            Answer::Waits { reports, questions } => Value::from_iter([
                ("waits", Value::from(reports.as_str())),
                ("asks", questions.clone().into()),
            ]),
            Answer::Done { node, record } => {
                Value::from_iter([("node", Value::from(node.as_str())), ("record", record.to_value())])
            }
        }
    }

    pub(crate) fn of_value(value: &Value) -> Result<Answer, ScaleError> {
        match value.get("waits").and_then(Value::as_str) {
            Some(reports) => {
                let asks = value.get("asks").and_then(Value::as_array).unwrap_or_default();
                let questions = asks.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                Ok(Answer::Waits { reports: reports.to_owned(), questions })
            }
            None => Ok(Answer::Done { node: text(value, "node")?, record: packed(value, "record")? }),
        }
    }
}

/// The question that a text is; see [`Answer::Waits`].
pub(crate) fn question_of(text: &str) -> Result<Question, ScaleError> {
    let call = codec::decode_call(text).map_err(|error| ScaleError::Damaged(error.to_string()))?;
    Question::of_call(&call).ok_or_else(|| damaged("asks"))
}

/// Several records as one text.
pub(crate) fn records_text(records: &[StepRecord]) -> String {
    let records = records
        .iter()
        .map(|record| Value::Array(vec![record.node.as_str().into(), codec::encode_step(record).into()]));
    Value::Array(records.collect()).to_string()
}

pub(crate) fn records_of(text: &str) -> Result<Vec<StepRecord>, ScaleError> {
    let value = stave_canon::parse(text).map_err(|error| ScaleError::Damaged(error.to_string()))?;
    let records =
        value.as_array().ok_or_else(|| damaged("records"))?.iter().map(|record| match record.as_array() {
            Some([Value::String(node), Value::String(text)]) => record_of(node, text),
            _ => Err(damaged("records")),
        });
    records.collect()
}

pub(crate) fn record_of(node: &str, text: &str) -> Result<StepRecord, ScaleError> {
    codec::decode_step(node, text).map_err(|error| ScaleError::Damaged(error.to_string()))
}

/// A report as one text.
pub(crate) fn report_text(report: &RunReport) -> String {
    let ending = match &report.result {
        Ok(output) => Ending::Ok(output.clone()),
        Err(failed) => Ending::Failed(failed.clone()),
    };
    Value::from_iter([
        ("run_id", Value::from(report.run_id.as_str())),
        ("flow", report.flow.as_str().into()),
        ("ok", report.result.is_ok().into()),
        ("result", codec::encode_ending(&ending).into()),
        ("nodes", codec::encode_reports(&report.nodes).into()),
        ("duration_us", u64::try_from(report.duration.as_micros()).unwrap_or(u64::MAX).into()),
    ])
    .to_string()
}

pub(crate) fn report_of(report: &str) -> Result<RunReport, ScaleError> {
    let value = stave_canon::parse(report).map_err(|error| ScaleError::Damaged(error.to_string()))?;
    let unreadable = |error: stave_runtime::journal::JournalError| ScaleError::Damaged(error.to_string());
    let is_ok = value.get("ok").and_then(Value::as_bool).unwrap_or_default();
    let status = if is_ok { RunStatus::Ok } else { RunStatus::Error };
    let ending = codec::decode_ending(status, &text(&value, "result")?).map_err(unreadable)?;
    Ok(RunReport {
        run_id: text(&value, "run_id")?,
        flow: text(&value, "flow")?,
        result: match ending {
            Some(Ending::Ok(output)) => Ok(output),
            Some(Ending::Failed(failed)) => Err(failed),
            Some(Ending::Cancelled) | None => return Err(damaged("result")),
        },
        nodes: codec::decode_reports(&text(&value, "nodes")?).map_err(unreadable)?,
        duration: Duration::from_micros(count(&value, "duration_us")?),
    })
}

pub(crate) fn decisions_value(decisions: &HashMap<String, Decision>) -> Value {
    let mut decisions: Vec<(&String, &Decision)> = decisions.iter().collect();
    decisions.sort_by_key(|(node, _)| *node);
    decisions
        .into_iter()
        .map(|(node, decision)| (node.clone(), Value::from(codec::encode_decision(decision))))
        .collect()
}

fn decisions_of(value: Option<&Value>) -> Result<HashMap<String, Decision>, ScaleError> {
    let decisions = value.and_then(Value::as_object).into_iter().flatten().map(|(node, decision)| {
        let decision = decision.as_str().ok_or_else(|| damaged("decisions"))?;
        let decision = codec::decode_decision(decision);
        Ok((node.clone(), decision.map_err(|error| ScaleError::Damaged(error.to_string()))?))
    });
    decisions.collect()
}

pub(crate) fn text(value: &Value, key: &str) -> Result<String, ScaleError> {
    value.get(key).and_then(Value::as_str).map(str::to_owned).ok_or_else(|| damaged(key))
}

pub(crate) fn packed(value: &Value, key: &str) -> Result<Packed, ScaleError> {
    value.get(key).and_then(Packed::of_value).ok_or_else(|| damaged(key))
}

pub(crate) fn time(value: &Value, key: &str) -> Result<Timestamp, ScaleError> {
    text(value, key)?.parse().map_err(|_| damaged(key))
}

/// When a run began. Runs that an earlier version handed over have no arrival of their own.
fn times(value: &Value) -> Result<Times, ScaleError> {
    let started_at = time(value, "started_at")?;
    let arrived_at = value.get("arrived_at").map_or(Ok(started_at), |_| time(value, "arrived_at"))?;
    Ok(Times { arrived_at, started_at })
}

fn count(value: &Value, key: &str) -> Result<u64, ScaleError> {
    let count = value.get(key).and_then(Value::as_i64).and_then(|count| u64::try_from(count).ok());
    count.ok_or_else(|| damaged(key))
}

fn damaged(key: &str) -> ScaleError {
    ScaleError::Damaged(format!("`{key}` is not there or not what it should be"))
}
