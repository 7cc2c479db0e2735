//! The result of a run with the result of each node.

use std::time::Duration;

use stave_canon::Value;
use stave_exec::dataflow::Origin;
use stave_llm::Usage;
use stave_llm::prices::Cost;
use stave_prompt::PromptCounts;
use stave_shape::Shape;

use crate::Failure;
use crate::evidence::AskedPrompt;
use crate::report_document::RunReportDocument;
use crate::spend::Unsettled;
use crate::volume::Volume;
use stave_engine::{FailureKind, RunFailure};

#[derive(Debug, Clone, PartialEq)]
pub struct RunReport {
    pub run_id: String,
    pub flow: String,
    /// The output, or why there is none.
    pub result: Result<Value, RunFailure>,
    pub nodes: Vec<NodeReport>,
    pub duration: Duration,
}

#[derive(Debug, Clone, PartialEq)]
pub struct NodeReport {
    pub id: String,
    pub kind: String,
    pub status: Status,
    pub attempts: u32,
    /// When it first began, counted from the run's beginning; none when it never did.
    pub started: Option<Duration>,
    pub duration: Duration,
    /// Why it was skipped or cancelled.
    pub reason: Option<String>,
    pub failure: Option<Failure>,
    /// What its model calls used.
    pub usage: Option<Usage>,
    pub model: Option<String>,
    /// What they cost, when every model has a price.
    pub cost: Option<Cost>,
    /// What its calls may have used whose answer was lost with their process. It counts against the budget.
    pub unsettled: Option<Unsettled>,
    /// The calls to models and hosts that it made, every attempt counted.
    pub calls: u32,
    /// The bytes that it wrote.
    pub volume: Volume,
    /// Whether the result was taken from the cache.
    pub cached: bool,
    /// Whether the result is that of the run which this one replays. Nothing was done, so nothing was used.
    pub reused: bool,
    /// The items of its list that were done in the run which this one replays.
    pub reused_items: u32,
    /// Whether a fallback answered instead of the model that was asked.
    pub degraded: bool,
    /// Keys of its result that no output port has.
    pub dropped_outputs: Vec<String>,
    /// Texts that a flagging policy noticed in its prompt.
    pub flagged: Vec<String>,
    /// What its code printed, in lines.
    pub logs: Vec<String>,
    /// What models were asked on its behalf, as far as that is kept; see `steps::llm_chat`.
    pub questions: Vec<AskedPrompt>,
    /// What policies, gate and budgets did to all of them, those that are not kept included.
    pub prompts: PromptCounts,
    pub origin: Option<Origin>,
}

/// The most of what a node's code printed that is kept.
const LOG_LINES: usize = 200;
const LOG_LINE_BYTES: usize = 1000;

/// The status of a node of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Shape)]
#[shape(words, name = "NodeStatus")]
pub enum Status {
    Waiting,
    Ok,
    Error,
    Skipped,
    Cancelled,
}

impl NodeReport {
    #[must_use]
    pub fn waiting(id: &str, kind: &str, origin: Option<Origin>) -> Self {
        NodeReport {
            id: id.to_owned(),
            kind: kind.to_owned(),
            status: Status::Waiting,
            attempts: 0,
            started: None,
            duration: Duration::ZERO,
            reason: None,
            failure: None,
            usage: None,
            model: None,
            cost: None,
            unsettled: None,
            calls: 0,
            volume: Volume::default(),
            cached: false,
            reused: false,
            reused_items: 0,
            degraded: false,
            dropped_outputs: Vec::new(),
            flagged: Vec::new(),
            logs: Vec::new(),
            questions: Vec::new(),
            prompts: PromptCounts::default(),
            origin,
        }
    }

    /// The report of a node whose result another run takes over: there it took no time, no call and no money.
    pub(crate) fn reused(self) -> Self {
        NodeReport {
            attempts: 0,
            started: None,
            duration: Duration::ZERO,
            usage: None,
            cost: None,
            unsettled: None,
            calls: 0,
            volume: Volume::default(),
            cached: false,
            reused: true,
            reused_items: 0,
            prompts: PromptCounts::default(),
            ..self
        }
    }

    /// Adds what the node's code printed, within bounds, and gives the bytes that were kept. That something does not
    /// fit is said once.
    pub(crate) fn log(&mut self, printed: &str) -> u64 {
        let mut kept = 0;
        for line in printed.lines() {
            if self.logs.len() == LOG_LINES {
                self.logs.push("… more was printed".to_owned());
            }
            if self.logs.len() > LOG_LINES {
                break;
            }
            let end = line.floor_char_boundary(LOG_LINE_BYTES);
            let cut = if end < line.len() { "…" } else { "" };
            self.logs.push(format!("{}{cut}", &line[..end]));
            kept += end as u64;
        }
        kept
    }

    /// Whether the node did nothing.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.status, Status::Skipped | Status::Cancelled | Status::Waiting)
    }
}

impl RunReport {
    /// The machine form: one object with the status, the output or the error, every node and the usage.
    #[must_use]
    pub fn to_value(&self) -> Value {
        RunReportDocument::from(self).write()
    }

    /// What all model calls of the run used.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let mut total = Usage::default();
        for usage in self.nodes.iter().filter_map(|node| node.usage.as_ref()) {
            total += *usage;
        }
        total
    }

    /// What the run cost, when every model it used has a price.
    #[must_use]
    pub fn cost(&self) -> Option<Cost> {
        let mut called = self.nodes.iter().filter(|node| node.usage.is_some());
        called.try_fold(Cost::from_micros(0), |total, node| Some(total + node.cost?))
    }

    /// Whether governance or a capability rule refused the run.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        matches!(&self.result, Err(failed) if failed.failure.kind == FailureKind::Refused)
    }
}
