//! Flows as tools: the `mcp` package from PyPI, which is the protocol's official SDK, talks to them.

use tokio::process::Command;

use super::client::Served;
use super::sample::project;
use crate::python::python_with;

const PROGRAM: &str = r#"
import asyncio, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def talk(session, told):
    about = await session.initialize()
    assert about.server_info.name == "stave", about
    tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    assert set(tools) == {"echo", "careful"}, tools
    schema = tools["echo"].input_schema
    assert schema["required"] == ["query"] and schema["properties"]["query"]["type"] == "string", schema
    steps = []
    async def progress(done, total, message):
        steps.append((done, total))
    answer = await session.call_tool("echo", {"query": "hi"}, progress_callback=progress)
    assert not answer.is_error and answer.structured_content == {"reply": "hi"}, answer
    failed = await session.call_tool("echo", {"query": "fail"})
    assert failed.is_error and "asked to fail" in failed.content[0].text, failed
    missing = await session.call_tool("echo", {})
    assert missing.is_error and "query" in missing.content[0].text, missing
    waits = await session.call_tool("careful", {"amount": 1})
    assert not waits.is_error and waits.structured_content["status"] == "waiting", waits
    try:
        unknown = await session.call_tool("nothing", {})
        assert unknown.is_error, unknown
    except Exception as error:
        assert "nothing" in str(error), error
    many = await asyncio.gather(*(session.call_tool("echo", {"query": str(n)}) for n in range(20)))
    assert [one.structured_content["reply"] for one in many] == [str(n) for n in range(20)]
    if told:
        assert steps and [step[0] for step in steps] == sorted(step[0] for step in steps), steps
    print("understood")

async def main():
    if sys.argv[1] == "stdio":
        server = StdioServerParameters(command=sys.argv[2], args=["mcp"], cwd=sys.argv[3])
        async with stdio_client(server) as (reads, writes):
            async with ClientSession(reads, writes) as session:
                await talk(session, True)
    else:
        from mcp.client.streamable_http import streamable_http_client
        async with streamable_http_client(sys.argv[2]) as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                await talk(session, True)

asyncio.run(main())
"#;

async fn understood(python: &std::path::Path, arguments: &[&str]) {
    let output = Command::new(python)
        .args(["-c", PROGRAM])
        .args(arguments)
        .env("NO_PROXY", "127.0.0.1")
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(std::time::Duration::from_secs(90), output).await;
    let output = output.expect("the client ends in time").expect("python starts");
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{arguments:?}\n{said}\n{errors}");
    assert_eq!(said.trim(), "understood", "{errors}");
}

#[tokio::test]
async fn the_official_client_calls_flows_over_standard_streams() {
    let Some(python) = python_with("mcp>=2,<3", "mcp").await else { return };
    let folder = project();
    let folder_path = folder.path().display().to_string();
    understood(&python, &["stdio", env!("CARGO_BIN_EXE_stave"), &folder_path]).await;
}

#[tokio::test]
async fn the_official_client_calls_flows_over_http() {
    let Some(python) = python_with("mcp>=2,<3", "mcp").await else { return };
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    understood(&python, &["http", &format!("http://127.0.0.1:{}/mcp", served.port)]).await;
}

#[tokio::test]
async fn over_http_tools_are_behind_the_same_doors_as_everything_else() {
    let folder = project();
    folder.write("keys.txt", "acme acme-key-0123456789\nglobex globex-key-0123456789\n");
    let mut served = Served::start(&folder, &["--api-keys", "keys.txt"]).await;
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2025-06-18"),
    ];
    let ask = async |served: &Served| served.ask("POST", "/mcp", &headers, Some(list)).await;
    ask(&served).await.problem(401, "unauthorized");
    served.with_key(Some("acme-key-0123456789"));
    let answer = ask(&served).await.is(200);
    assert!(answer.body.contains(r#""name":"echo""#), "{answer:?}");
    served.with_key(Some("globex-key-0123456789"));
    let answer = ask(&served).await.is(200);
    assert!(!answer.body.contains("echo"), "another tenant's flow is offered: {answer:?}");
    let mut foreign = headers.to_vec();
    foreign.push(("origin", "https://evil.example"));
    served.ask("POST", "/mcp", &foreign, Some(list)).await.problem(403, "foreign-origin");
    served.get("/mcp").await.problem(405, "method-not-allowed");
}
