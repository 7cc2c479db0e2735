//! Flows as tools of the Model Context Protocol: over standard streams, and over HTTP at `/mcp`.
//!
//! A call of a tool is a run like any other: in the journal, within the server's bounds, of its tenant, and under an
//! `Idempotency-Key` the same run as before. What goes
//! wrong in it is a result that says so, which a model can read; only what names no tool is an error of the
//! protocol.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::header::HeaderMap;
use hyper::{Request, StatusCode};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, JsonObject,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig,
    Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, ServerHandler, ServiceExt};
use stave_canon::Value;
use stave_runtime::{FailureKind, RunReport};

use crate::access::Principal;
use crate::catalog::ServedFlow;
use crate::connection::drain;
use crate::context::{fill, trace_parent};
use crate::events::grown;
use crate::handlers::Held;
use crate::message::Reply;
use crate::problem::Problem;
use crate::server::{Server, Shared};
use crate::start::{once_each, start_name};

/// The longest name of a tool.
const NAME_LENGTH: usize = 64;

/// The flows of a principal, as tools.
#[derive(Debug, Clone)]
struct Tools {
    shared: Arc<Shared>,
    principal: Principal,
    /// Those of the HTTP request; none over standard streams.
    headers: HeaderMap,
    /// The room that the request's body takes, until the last of its work is done.
    _held: Held,
}

impl Server {
    /// Offers the flows as tools on standard input and output, until the other side is gone or `end` comes.
    /// Gives the number of runs that were left.
    pub async fn serve_tools(&self, end: impl Future<Output = ()>) -> Result<usize, String> {
        let shared = self.shared();
        let tools = Tools {
            shared: Arc::clone(shared),
            principal: Principal::anyone(),
            headers: HeaderMap::new(),
            _held: Held::default(),
        };
        let session = tools.serve(rmcp::transport::stdio()).await.map_err(|error| error.to_string())?;
        let stop = session.cancellation_token();
        tokio::select! {
            _ = session.waiting() => {}
            () = end => stop.cancel(),
        }
        drain(shared, async {}).await;
        Ok(shared.in_progress())
    }
}

/// Answers a message over HTTP. Every request is independent; no session is kept. Its body was read within the
/// bounds that hold for every path.
pub(crate) async fn answer(
    shared: &Arc<Shared>,
    principal: Principal,
    held: Held,
    request: Request<Full<Bytes>>,
) -> Result<Reply, Problem> {
    let headers = request.headers().clone();
    let tools = Tools { shared: Arc::clone(shared), principal, headers, _held: held };
    let mut config = StreamableHttpServerConfig::default();
    config.legacy_session_mode = false;
    config.max_request_body_bytes = shared.limits().body_bytes;
    // Who asks and from where was judged before, by the rule that holds for every path.
    config.allowed_hosts = Vec::new();
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(tools.clone()), sessions, config);
    // A run has this long for its turn and again for its work; nothing else takes as long.
    let limit = shared.limits().request.saturating_mul(2);
    match tokio::time::timeout(limit, service.handle(request)).await {
        Ok(reply) => Ok(reply.map(BodyExt::boxed_unsync)),
        Err(_) => {
            let detail = "the call was not answered in time";
            Err(Problem::new(StatusCode::GATEWAY_TIMEOUT, "request-timeout", detail))
        }
    }
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("stave", self.shared.options.version))
            .with_instructions("Every tool is an agent flow; its arguments are the flow's request.")
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.named().into_iter().map(|(name, model)| tool(name, &model));
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut named = self.named().into_iter();
        let Some((_, model)) = named.find(|(name, _)| *name == request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None));
        };
        let input = Value::from(serde_json::Value::Object(request.arguments.unwrap_or_default()));
        let result = match self.run(&model, input, &context).await {
            Ok(report) => outcome(&report),
            Err(problem) => failed(&problem),
        };
        Ok(result.into())
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let mut named = self.named().into_iter();
        named.find(|(known, _)| known == name).map(|(name, model)| tool(name, &model))
    }
}

impl Tools {
    /// The flows with the names that their tools have: what a tool's name may not hold is replaced, and names
    /// that are then the same are numbered.
    fn named(&self) -> Vec<(String, Arc<ServedFlow>)> {
        let mut named: Vec<(String, Arc<ServedFlow>)> = Vec::new();
        for model in self.shared.catalog().seen(&self.principal) {
            let plain = tool_name(&model.name);
            let mut name = plain.clone();
            let mut number = 2;
            while named.iter().any(|(known, _)| *known == name) {
                name = format!("{plain}_{number}");
                number += 1;
            }
            named.push((name, Arc::clone(model)));
        }
        named
    }

    /// Runs a flow, and reports its progress to a client that asks for it. A call that is taken back is cancelled.
    async fn run(
        &self,
        model: &Arc<ServedFlow>,
        input: Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<RunReport, Problem> {
        let request = fill(input, &model.context, &self.headers);
        let name = start_name(&self.headers, None, &self.principal)?;
        let once = once_each(name.as_ref(), model, std::slice::from_ref(&request))?.pop().flatten();
        let started = self.shared.start_once(model, request, trace_parent(&self.headers), once).await?;
        let run_id = started.run_id.clone();
        let log = model.archive.hub.log(&run_id);
        let mut token = context.meta.get_progress_token();
        let total = model.document.graph.nodes.iter().filter(|node| !node.id.starts_with('_')).count();
        let mut waiting = std::pin::pin!(self.shared.wait(&model.archive, started));
        let mut seen = log.as_ref().map(|log| log.watch());
        let mut told = 0;
        loop {
            let more = async {
                match (&token, &mut seen) {
                    (Some(_), Some(seen)) => {
                        grown(seen, told).await;
                        *seen.borrow()
                    }
                    _ => std::future::pending().await,
                }
            };
            tokio::select! {
                report = waiting.as_mut() => return report,
                () = context.ct.cancelled() => {
                    let cancelled = model.archive.runs.cancel(&run_id, self.shared.options.clock.now()).await;
                    // One that has ended meanwhile has nothing left to cancel.
                    drop(cancelled);
                    let detail = "the call was taken back, and its run cancelled";
                    return Err(Problem::new(StatusCode::CONFLICT, "run-stopped", detail).of_run(&run_id));
                }
                progress = more => {
                    told = progress.events;
                    if let Some(token) = token.take_if(|_| progress.is_closed).or_else(|| token.clone()) {
                        let mut told = ProgressNotificationParam::new(token, told as f64);
                        // The beginning and the end are events too.
                        told.total = Some((total + 2) as f64);
                        // A client that does not listen is no reason to stop.
                        let _ = context.peer.notify_progress(told).await;
                    }
                }
            }
        }
    }
}

fn tool(name: String, model: &ServedFlow) -> Tool {
    let schema = match Value::Object(model.document.inputs_schema.clone()).to_serde() {
        serde_json::Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    let about = model.about.clone().unwrap_or_else(|| format!("Runs the flow `{}`.", model.name));
    Tool::new(name, about, schema).with_title(model.name.clone())
}

/// A name that every client takes.
fn tool_name(flow: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let name: String =
        flow.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).take(NAME_LENGTH).collect();
    if name.is_empty() { "flow".to_owned() } else { name }
}

fn outcome(report: &RunReport) -> CallToolResult {
    match &report.result {
        Ok(output @ Value::Object(_)) => CallToolResult::structured(output.to_serde()),
        Ok(Value::String(text)) => CallToolResult::success(vec![ContentBlock::text(text.as_str())]),
        Ok(output) => CallToolResult::success(vec![ContentBlock::text(output.to_string())]),
        Err(failed) if failed.failure.kind == FailureKind::Waiting => {
            let waits = Value::from_iter([
                ("status", Value::from("waiting")),
                ("run_id", report.run_id.as_str().into()),
                ("node", failed.node.clone().into()),
                ("message", failed.failure.message.as_str().into()),
            ]);
            CallToolResult::structured(waits.to_serde())
        }
        Err(failure) => failed(&Problem::failed(&report.run_id, failure)),
    }
}

/// A problem that the model can read.
fn failed(problem: &Problem) -> CallToolResult {
    let value = problem.to_value();
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let said = format!("{}: {}", text("title"), text("detail"));
    let mut result = CallToolResult::error(vec![ContentBlock::text(said)]);
    result.structured_content = Some(value.to_serde());
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_named_as_every_client_takes_it() {
        assert_eq!(tool_name("support"), "support");
        assert_eq!(tool_name("Kunden Dienst/ä"), "Kunden_Dienst__");
        assert_eq!(tool_name(""), "flow");
        assert_eq!(tool_name(&"x".repeat(99)).len(), NAME_LENGTH);
    }
}
