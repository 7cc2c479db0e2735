//! A server of the official SDK with a few tools, for the tests to call.

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Tools;

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let text = |text: String| CallToolResult::success(vec![ContentBlock::text(text)]);
        let result = match request.name.as_ref() {
            "echo" => CallToolResult::structured(json!({ "echo": arguments })),
            "greet" => text(format!("Hello {}", arguments["name"].as_str().unwrap_or_default())),
            "two" => CallToolResult::success(vec![ContentBlock::text("a"), ContentBlock::text("b")]),
            "seen" => {
                let mut names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
                names.sort();
                CallToolResult::structured(json!(names))
            }
            "process" => CallToolResult::structured(json!(std::process::id())),
            "fail" => CallToolResult::error(vec![ContentBlock::text("no such city")]),
            "die" => std::process::exit(3),
            other => return Err(ErrorData::invalid_params(format!("there is no tool {other}"), None)),
        };
        Ok(result.into())
    }
}
