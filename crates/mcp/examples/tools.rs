//! The tests' own MCP server on standard streams.

#![expect(
    clippy::disallowed_methods,
    reason = "a program of its own, which reports what it sees and exits on request"
)]

#[path = "../tests/tools/handler.rs"]
mod handler;

use rmcp::service::ServiceExt;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let service = handler::Tools.serve(rmcp::transport::stdio()).await?;
    service.waiting().await?;
    Ok(())
}
