//! The engine port and the embedded engine: a run from request to report.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use stave_canon::Value;
use stave_diag::codes::run as codes;
use stave_exec::Document;

use crate::Failure;
use crate::failure::Kind;
use crate::plan::Plan;
use crate::report::{NodeReport, RunFailure, RunReport, Status};
use crate::request::Request;
use crate::run::Run;
use crate::services::Services;

/// Something that runs exec documents.
#[async_trait]
pub trait Engine: Send + Sync + std::fmt::Debug {
    /// Runs a document on a request. A failed run is a report too.
    async fn run(&self, document: Arc<Document>, request: &Value) -> RunReport;
}

/// Runs documents in this process.
#[derive(Debug, Clone)]
pub struct EmbeddedEngine {
    services: Services,
}

impl EmbeddedEngine {
    #[must_use]
    pub fn new(services: Services) -> Self {
        EmbeddedEngine { services }
    }
}

#[async_trait]
impl Engine for EmbeddedEngine {
    async fn run(&self, document: Arc<Document>, request: &Value) -> RunReport {
        let services = &self.services;
        let started = services.clock.elapsed();
        let run_id = format!("run_{}", services.ids.uuid().replace('-', ""));
        let flow = document.flow.name.clone();
        let report = |result, nodes| RunReport {
            run_id: run_id.clone(),
            flow: flow.clone(),
            result,
            nodes,
            duration: services.clock.elapsed().saturating_sub(started),
        };
        let refuse = |failure| Err(RunFailure { failure, node: None, attempts: 0 });
        let plan = match Plan::new(Arc::clone(&document)) {
            Ok(plan) => plan,
            Err(failure) => return report(refuse(failure), Vec::new()),
        };
        let waiting: Vec<NodeReport> =
            plan.nodes.iter().map(|node| NodeReport::waiting(&node.id, &node.kind, node.origin)).collect();
        let request = match Request::new(request, &document.inputs_schema, &run_id, services.clock.now()) {
            Ok(request) => request,
            Err(failure) => return report(refuse(failure), finish(waiting, "the request was refused")),
        };
        let run = Run { id: run_id.clone(), plan: &plan, request, services, reports: Mutex::new(waiting) };
        let limit = match document.flow.timeout_ms {
            0 => services.limits.run,
            limit => services.limits.run.min(std::time::Duration::from_millis(limit.into())),
        };
        let result = match tokio::time::timeout(limit, run.drive()).await {
            Ok(result) => result,
            Err(_) => {
                let message = format!("the run took longer than {} ms", limit.as_millis());
                refuse(Failure::new(codes::RUN_TIMEOUT, Kind::Timeout, message))
            }
        };
        let mut nodes = run.reports.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (node, report) in plan.nodes.iter().zip(&mut nodes) {
            if node.tool && report.status == Status::Waiting {
                report.status = Status::Skipped;
                report.reason = Some("no model called it".to_owned());
            }
        }
        report(result, finish(nodes, "the run ended before it"))
    }
}

/// Nodes that the run did not come to were cancelled by its end.
fn finish(mut nodes: Vec<NodeReport>, reason: &str) -> Vec<NodeReport> {
    for node in nodes.iter_mut().filter(|node| node.status == Status::Waiting) {
        node.status = Status::Cancelled;
        node.reason = Some(reason.to_owned());
    }
    nodes
}
