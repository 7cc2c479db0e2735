//! Tools on real servers of the official SDK: over standard streams and over HTTP.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise, and its servers end with it"
)]

mod handler;

use std::path::PathBuf;
use std::sync::Arc;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use stave_canon::Value;
use stave_llm::Secret;
use stave_mcp::{McpEndpoint, McpServers};
use stave_runtime::tool_servers::{ToolServerCall, ToolServerFault, ToolServers};
use tokio::net::TcpListener;

/// The example that is this folder's server, which cargo builds beside the tests.
fn program() -> String {
    let tests = std::env::current_exe().unwrap();
    let folder = tests.parent().and_then(|deps| deps.parent()).unwrap();
    let program: PathBuf = folder.join("examples").join("tools");
    assert!(program.is_file(), "{} is not built", program.display());
    program.display().to_string()
}

fn on_streams() -> McpServers {
    let server = McpEndpoint::Command {
        program: program(),
        arguments: Vec::new(),
        folder: std::env::temp_dir(),
        environment: vec![("CITY".to_owned(), "Oslo".to_owned())],
    };
    McpServers::new([("local".to_owned(), server)])
}

async fn over_http() -> McpServers {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = StreamableHttpService::new(
        || Ok(handler::Tools),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let service = TowerToHyperService::new(service.clone());
            tokio::spawn(async move {
                let builder = Builder::new(TokioExecutor::new());
                let _ = builder.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    let url = format!("http://{address}/mcp");
    McpServers::new([("local".to_owned(), McpEndpoint::Http { url, bearer: Some(Secret::new("hunter2")) })])
}

async fn call(servers: &McpServers, tool: &str, arguments: &str) -> Result<Value, ToolServerFault> {
    let arguments = stave_canon::parse(arguments).unwrap().as_object().unwrap().clone();
    servers.call(&ToolServerCall { server: "local".to_owned(), tool: tool.to_owned(), arguments }).await
}

fn json(text: &str) -> Value {
    stave_canon::parse(text).unwrap()
}

async fn answers(servers: &McpServers) {
    let echo = call(servers, "echo", r#"{"n":1,"list":["ü",null]}"#).await.unwrap();
    assert_eq!(echo, json(r#"{"echo":{"n":1,"list":["ü",null]}}"#));
    assert_eq!(call(servers, "greet", r#"{"name":"Ada"}"#).await.unwrap(), Value::from("Hello Ada"));
    let two = call(servers, "two", "{}").await.unwrap();
    assert_eq!(two.pointer("/1/text"), Some(&Value::from("b")));
    let failed = call(servers, "fail", "{}").await.unwrap_err();
    assert_eq!(failed.to_string(), "`fail` on `local` failed: no such city");
    let refused = call(servers, "nothing", "{}").await.unwrap_err();
    assert!(
        matches!(&refused, ToolServerFault::Refused { message, .. } if message.contains("no tool nothing"))
    );
}

#[tokio::test]
async fn tools_answer_over_standard_streams() {
    answers(&on_streams()).await;
}

#[tokio::test]
async fn tools_answer_over_http() {
    answers(&over_http().await).await;
}

#[tokio::test]
async fn a_program_sees_only_the_variables_it_is_given() {
    assert_eq!(call(&on_streams(), "seen", "{}").await.unwrap(), json(r#"["CITY"]"#));
}

#[tokio::test]
async fn a_program_is_started_once_and_again_when_it_went_away() {
    let servers = on_streams();
    let (first, second) = tokio::join!(call(&servers, "process", "{}"), call(&servers, "process", "{}"));
    let first = first.unwrap();
    assert_eq!(first, second.unwrap());
    let died = call(&servers, "die", "{}").await.unwrap_err();
    assert!(matches!(died, ToolServerFault::Unreachable { .. }), "{died}");
    assert_ne!(call(&servers, "process", "{}").await.unwrap(), first);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_said_to_be() {
    let servers = McpServers::new([(
        "local".to_owned(),
        McpEndpoint::Command {
            program: "/nowhere/tools".to_owned(),
            arguments: Vec::new(),
            folder: std::env::temp_dir(),
            environment: Vec::new(),
        },
    )]);
    let fault = call(&servers, "echo", "{}").await.unwrap_err();
    assert!(fault.to_string().contains("`/nowhere/tools` cannot be started"), "{fault}");
    let other =
        ToolServerCall { server: "other".to_owned(), tool: "t".to_owned(), arguments: Default::default() };
    let fault = servers.call(&other).await.unwrap_err();
    assert_eq!(fault.to_string(), "the project names no tool server `other`; it names `local`");
}
