//! The tests' own MCP server on standard streams.

#[path = "../tests/tools/handler.rs"]
mod handler;

use rmcp::service::ServiceExt;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let service = handler::Tools.serve(rmcp::transport::stdio()).await?;
    service.waiting().await?;
    Ok(())
}
