//! What happens in runs, told while it happens.

use stave_canon::{Object, Value};
use stave_shape::Shape as _;

use crate::report::{NodeReport, RunReport};
use crate::report_document::ReportedNode;

/// An observer of runs. It receives events in the order in which they happen, and must not block.
pub trait RunObserver: Send + Sync + std::fmt::Debug {
    fn on(&self, event: &RunEvent<'_>);

    /// Whether anyone looks; nothing is reported otherwise.
    fn is_watching(&self) -> bool {
        true
    }
}

/// Something that happened.
#[derive(Debug, Clone, Copy)]
pub enum RunEvent<'e> {
    RunStarted {
        run_id: &'e str,
        flow: &'e str,
        /// Their state when the run begins or is taken up again.
        nodes: &'e [NodeReport],
    },
    NodeStarted {
        run_id: &'e str,
        node: &'e str,
    },
    /// A node ended, or a call of it that a tool or a list made.
    NodeEnded {
        run_id: &'e str,
        node: &'e NodeReport,
    },
    RunEnded {
        report: &'e RunReport,
    },
}

/// Nobody watches.
impl RunObserver for () {
    fn on(&self, _: &RunEvent<'_>) {}

    fn is_watching(&self) -> bool {
        false
    }
}

impl RunEvent<'_> {
    /// The event as one JSON object; the last one holds the whole report.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut object = Object::new();
        let mut insert = |key: &str, value: Value| object.insert(key.to_owned(), value);
        match self {
            RunEvent::RunStarted { run_id, flow, nodes } => {
                insert("event", "run_started".into());
                insert("run_id", (*run_id).into());
                insert("flow", (*flow).into());
                let ids = nodes.iter().filter(|node| !node.id.starts_with('_'));
                insert("nodes", ids.map(|node| node.id.as_str()).collect::<Vec<_>>().into());
            }
            RunEvent::NodeStarted { run_id, node } => {
                insert("event", "node_started".into());
                insert("run_id", (*run_id).into());
                insert("node", (*node).into());
            }
            RunEvent::NodeEnded { run_id, node } => {
                insert("event", "node_ended".into());
                insert("run_id", (*run_id).into());
                insert("node", node.id.as_str().into());
                insert("report", ReportedNode::from(*node).write());
            }
            RunEvent::RunEnded { report } => {
                insert("event", "run_ended".into());
                insert("run_id", report.run_id.as_str().into());
                insert("report", report.to_value());
            }
        }
        Value::Object(object)
    }
}
