//! The `kserve` package from PyPI talks to the server.

use tokio::process::Command;

use super::client::Served;
use super::sample::project;
use crate::python::python_with;

const PROGRAM: &str = r#"
import asyncio, json, sys
from kserve import InferInput, InferRequest, InferenceRESTClient
from kserve.inference_client import RESTConfig

base = f"http://127.0.0.1:{sys.argv[1]}"

async def main():
    first = InferenceRESTClient(RESTConfig(protocol="v1"))
    answer = await first.infer(base, {"instances": [{"query": "a"}, {"query": "b"}]}, model_name="echo")
    assert answer == {"predictions": [{"reply": "a"}, {"reply": "b"}]}, answer
    assert await first.is_model_ready(base, "echo")

    second = InferenceRESTClient(RESTConfig(protocol="v2"))
    assert await second.is_server_live(base) and await second.is_server_ready(base)
    assert await second.is_model_ready(base, "echo")
    rows = InferInput("request", [2], "BYTES", [json.dumps({"query": "c"}), json.dumps({"query": "d"})])
    request = InferRequest(model_name="echo", infer_inputs=[rows], request_id="7")
    response = await second.infer(base, request, model_name="echo")
    assert response.id == "7" and response.model_name == "echo", response
    texts = [json.loads(text) for text in response.outputs[0].data]
    assert texts == [{"reply": "c"}, {"reply": "d"}], texts
    column = InferInput("query", [1], "BYTES", ["e"])
    response = await second.infer(base, InferRequest(model_name="echo", infer_inputs=[column]), model_name="echo")
    assert json.loads(response.outputs[0].data[0]) == {"reply": "e"}, response
    print("understood")

asyncio.run(main())
"#;

#[tokio::test]
async fn the_kserve_client_is_understood_and_understands() {
    let Some(python) = python_with("kserve", "kserve").await else { return };
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let output = Command::new(python)
        .args(["-c", PROGRAM, &served.port.to_string()])
        .env("NO_PROXY", "127.0.0.1")
        .output()
        .await
        .expect("python starts");
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{errors}");
    assert_eq!(said.trim(), "understood", "{errors}");
}
