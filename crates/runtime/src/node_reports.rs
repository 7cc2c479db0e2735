//! The reports of a run's nodes while it runs.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::plan::PlannedNode;
use crate::report::{NodeReport, Status};

/// By node, in document order.
#[derive(Debug)]
pub struct NodeReports(Mutex<Vec<NodeReport>>);

impl NodeReports {
    pub(crate) fn new(reports: Vec<NodeReport>) -> NodeReports {
        NodeReports(Mutex::new(reports))
    }

    /// Changes a node's report.
    pub(crate) fn change(&self, index: usize, change: impl FnOnce(&mut NodeReport)) {
        if let Some(report) = self.lock().get_mut(index) {
            change(report);
        }
    }

    /// Reads a node's report.
    pub(crate) fn read<T>(&self, index: usize, read: impl FnOnce(&NodeReport) -> T) -> Option<T> {
        self.lock().get(index).map(read)
    }

    /// Reads all of them at once.
    pub(crate) fn read_all<T>(&self, read: impl FnOnce(&[NodeReport]) -> T) -> T {
        read(&self.lock())
    }

    /// Takes all of them, which ends the run.
    pub(crate) fn take(&self) -> Vec<NodeReport> {
        std::mem::take(&mut *self.lock())
    }

    /// The report of a node, and those of the nodes it has called.
    pub(crate) fn with_called(&self, index: usize, node: &PlannedNode) -> Vec<NodeReport> {
        self.with_tools(index, node, |tool| tool.status != Status::Waiting)
    }

    /// The report of a node that waits for a person, and those of the nodes it has called, which may wait too.
    pub(crate) fn of_waiting(&self, index: usize, node: &PlannedNode) -> Vec<NodeReport> {
        self.with_tools(index, node, |tool| tool.status != Status::Waiting || tool.reason.is_some())
    }

    fn with_tools(
        &self,
        index: usize,
        node: &PlannedNode,
        is_called: impl Fn(&NodeReport) -> bool,
    ) -> Vec<NodeReport> {
        let reports = self.lock();
        let tools = node.tools.iter().filter_map(|tool| reports.get(*tool));
        reports.get(index).into_iter().chain(tools.filter(|tool| is_called(tool))).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<NodeReport>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
