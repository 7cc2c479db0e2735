//! Which nodes and edges tests have reached.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use stave_canon::{Timestamp, Value};
use stave_exec::Document;
use stave_exec::dataflow::EdgeData;
use stave_runtime::journal::{
    CallRecord, Driver, Ending, Going, Journal, JournalError, NewRun, Pause, StepRecord, StoredRun,
};
use stave_runtime::state::Commit;
use stave_runtime::{NodeReport, RunReport, Signal, Status};

/// The pseudo-node of the request.
const INPUT: &str = "_input";

/// What the tests of one flow reached.
#[derive(Debug, Clone, Default)]
pub(super) struct Coverage {
    pub(super) nodes: BTreeSet<String>,
    /// By index in the document.
    pub(super) edges: BTreeSet<usize>,
}

/// A journal that keeps nothing but which edges carried a value.
#[derive(Debug, Default)]
pub(super) struct EdgeLog(Mutex<BTreeSet<usize>>);

impl Coverage {
    /// Adds what one run reached.
    pub(super) fn add(&mut self, document: &Document, report: &RunReport, log: &EdgeLog) {
        let ran = |id: &str| {
            let node = report.nodes.iter().find(|node| node.id == id);
            node.is_some_and(|node| matches!(node.status, Status::Ok | Status::Error))
        };
        self.nodes.extend(report.nodes.iter().map(|node| node.id.clone()).filter(|id| ran(id)));
        self.edges.extend(log.0.lock().unwrap_or_else(PoisonError::into_inner).iter());
        // The request itself is no step of the journal; its edges are known by whom they reached.
        for (index, edge) in document.graph.edges.iter().enumerate() {
            if edge.from == INPUT && (ran(&edge.to) || (edge.to == "_output" && report.result.is_ok())) {
                self.edges.insert(index);
            }
        }
    }

    pub(super) fn missing_nodes(&self, document: &Document) -> Vec<String> {
        let nodes = nodes_of(document);
        nodes.into_iter().filter(|id| !self.nodes.contains(id)).collect()
    }

    /// The edges that no test has reached, as the flow has them.
    pub(super) fn missing_edges(&self, document: &Document) -> Vec<String> {
        let edges = document.graph.edges.iter().enumerate();
        let missing = edges.filter(|(index, _)| !self.edges.contains(index));
        missing
            .map(|(_, edge)| {
                let data = match EdgeData::read(&edge.extra) {
                    Ok(data) => data,
                    Err(faults) => return format!("{} -> {}: {faults}", edge.from, edge.to),
                };
                let end = |node: &str, port: Option<&String>| match port {
                    Some(port) => format!("{node}.{port}"),
                    None => node.to_owned(),
                };
                format!(
                    "{} -> {}",
                    end(&edge.from, data.from_port.as_ref()),
                    end(&edge.to, data.to_port.as_ref())
                )
            })
            .collect()
    }

    pub(super) fn to_value(&self, document: &Document) -> Value {
        let part = |total: usize, missing: Vec<String>| {
            Value::from_iter([
                ("total", Value::from(total)),
                ("covered", (total - missing.len()).into()),
                ("missing", missing.into()),
            ])
        };
        Value::from_iter([
            ("nodes", part(nodes_of(document).len(), self.missing_nodes(document))),
            ("edges", part(document.graph.edges.len(), self.missing_edges(document))),
        ])
    }
}

pub(super) fn nodes_of(document: &Document) -> Vec<String> {
    let nodes = document.graph.nodes.iter().map(|node| node.id.clone());
    nodes.filter(|id| !id.starts_with('_')).collect()
}

#[async_trait]
impl Journal for EdgeLog {
    fn is_durable(&self) -> bool {
        // Otherwise it would not receive what the edges carried.
        true
    }

    async fn begin(&self, _: &NewRun) -> Result<Driver, JournalError> {
        Ok(Driver::unkept())
    }

    async fn start(&self, _: &str, _: Timestamp) -> Result<(), JournalError> {
        Ok(())
    }

    async fn claim(&self, run: &str, _: Timestamp) -> Result<(StoredRun, Driver), JournalError> {
        Err(JournalError::UnknownRun(run.to_owned()))
    }

    async fn record(&self, _: &str, step: &StepRecord, _: Option<Commit>) -> Result<Going, JournalError> {
        let active = step.result.signals.iter().filter(|(_, signal)| matches!(signal, Signal::Active(_)));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(active.map(|(edge, _)| *edge));
        Ok(Going::On)
    }

    async fn record_call(&self, _: &str, _: &CallRecord, _: Option<Commit>) -> Result<(), JournalError> {
        Ok(())
    }

    async fn suspend(&self, _: &str, _: Pause<'_>) -> Result<bool, JournalError> {
        Ok(false)
    }

    async fn end(&self, _: &str, _: &Ending, _: &[NodeReport], _: Timestamp) -> Result<bool, JournalError> {
        Ok(true)
    }

    async fn is_cancelled(&self, _: &str) -> Result<bool, JournalError> {
        Ok(false)
    }
}
