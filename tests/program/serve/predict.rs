//! Both protocols of KServe, and the statuses of failures.

use stave_canon::Value;

use super::client::Served;
use super::sample::{caller, careful, project};
use crate::json::{items, text};
use crate::scripted::host::HostScript;

#[tokio::test]
async fn one_object_is_one_run_and_instances_are_a_batch() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let models = served.get("/v1/models").await.is(200).json();
    assert_eq!(models, Value::from_iter([("models", vec!["careful", "echo"])]));
    let model = served.get("/v1/models/echo").await.is(200).json();
    assert_eq!(model.to_string(), r#"{"name":"echo","ready":true}"#);

    let answer = served.post("/v1/models/echo:predict", r#"{"query": "hello"}"#).await.is(200);
    assert_eq!(answer.body, r#"{"reply":"hello"}"#);
    let run_id = answer.head.lines().find_map(|line| line.strip_prefix("x-stave-run-id: ")).unwrap();
    let run = served.get(&format!("/runs/{run_id}")).await.is(200).json();
    assert_eq!((text(&run, "status"), text(&run, "flow")), (Some("ok"), Some("echo")), "{run}");

    let body = r#"{"instances": [{"query": "a"}, {"query": "fail"}, {}, {"query": "b"}]}"#;
    let answer = served.post("/v1/models/echo:predict", body).await.is(200).json();
    let predictions = items(&answer, "predictions");
    assert_eq!(predictions.len(), 4);
    assert_eq!(predictions[0].get("reply"), Some(&"a".into()));
    assert_eq!(predictions[1].pointer("/error/status"), Some(&500_i64.into()), "{answer}");
    assert_eq!(predictions[1].pointer("/error/node"), Some(&"say".into()), "{answer}");
    assert_eq!(predictions[2].pointer("/error/status"), Some(&400_i64.into()), "{answer}");
    assert_eq!(predictions[3].get("reply"), Some(&"b".into()));

    let filled = [("content-type", "application/json"), ("x-user", "ann")];
    let claimed = r#"{"query": "for ", "user": "root"}"#;
    let answer = served.ask("POST", "/v1/models/echo:predict", &filled, Some(claimed)).await.is(200);
    assert_eq!(answer.json().get("reply"), Some(&"for ann".into()));
    let answer = served.post("/v1/models/echo:predict", claimed).await.is(200);
    assert_eq!(answer.json().get("reply"), Some(&"for ".into()), "a client named the user itself");
}

#[tokio::test]
async fn the_open_inference_protocol_is_spoken() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    for path in ["/v2/health/live", "/v2/health/ready", "/v2", "/v2/models/echo/ready"] {
        served.get(path).await.is(200);
    }
    let model = served.get("/v2/models/echo").await.is(200).json();
    assert_eq!(model.pointer("/inputs/0/datatype"), Some(&"BYTES".into()), "{model}");
    let version = model.pointer("/versions/0").and_then(Value::as_str).unwrap().to_owned();

    let body = r#"{"id": "7", "inputs": [{"name": "request", "datatype": "BYTES", "shape": [2], "data": ["{\"query\":\"a\"}", "{\"query\":\"fail\"}"]}]}"#;
    let answer = served.post("/v2/models/echo/infer", body).await.is(200).json();
    assert_eq!((text(&answer, "id"), text(&answer, "model_version")), (Some("7"), Some(version.as_str())));
    assert_eq!(answer.pointer("/outputs/0/shape"), Some(&vec![2_i64].into()), "{answer}");
    assert_eq!(answer.pointer("/outputs/0/data/0"), Some(&r#"{"reply":"a"}"#.into()), "{answer}");
    assert_eq!(answer.pointer("/parameters/failed"), Some(&1_i64.into()), "{answer}");

    let columns = r#"{"inputs": [{"name": "query", "datatype": "BYTES", "shape": [1], "data": ["column"]}]}"#;
    let path = format!("/v2/models/echo/versions/{version}/infer");
    let answer = served.post(&path, columns).await.is(200).json();
    assert_eq!(answer.pointer("/outputs/0/data/0"), Some(&r#"{"reply":"column"}"#.into()), "{answer}");

    let failing = body
        .replace("\\\"a\\\"", "\\\"fail\\\"")
        .replace("[2]", "[1]")
        .replace(", \"{\\\"query\\\":\\\"fail\\\"}\"", "");
    served.post("/v2/models/echo/infer", &failing).await.problem(500, "code-failed");
    served.post("/v2/models/echo/infer", "{}").await.problem(400, "bad-request");
}

#[tokio::test]
async fn failures_are_problems_with_the_statuses_that_clients_act_on() {
    let folder = project();
    let pages = [
        r#"{"method": "GET", "path": "/broken", "status": 500, "text": "no", "times": 9}"#,
        r#"{"method": "GET", "path": "/slow", "delay_ms": 5000, "json": {}, "times": 9}"#,
    ];
    let host = HostScript::new(&pages.map(|page| stave_canon::parse(page).unwrap()));
    let server = host.serve().await;
    folder.write("flows/caller.yaml", caller(server.port));
    let served = Served::start(&folder, &[]).await;
    let predict =
        async |flow: &str, body: &str| served.post(&format!("/v1/models/{flow}:predict"), body).await;

    let missing = predict("echo", "{}").await.problem(400, "missing-context");
    assert!(text(&missing, "detail").is_some_and(|detail| detail.contains("query")), "{missing}");
    assert!(text(&missing, "trace_id").is_some_and(|run| run.starts_with("run_")), "{missing}");
    predict("echo", r#"{"query": 1}"#).await.problem(422, "invalid-input");
    let failed = predict("echo", r#"{"query": "fail"}"#).await.problem(500, "code-failed");
    assert_eq!(text(&failed, "node"), Some("say"), "{failed}");
    predict("caller", r#"{"page": "broken"}"#).await.problem(502, "http-failed");
    predict("caller", r#"{"page": "slow"}"#).await.problem(504, "step-timeout");
    let waiting = predict("careful", r#"{"amount": 3}"#).await.is(202).json();
    assert_eq!((text(&waiting, "status"), text(&waiting, "node")), (Some("waiting"), Some("ask")));
    assert_eq!(items(&waiting, "nodes"), ["ask".into()]);

    predict("nobody", "{}").await.problem(404, "not-found");
    predict("echo", "{").await.problem(400, "bad-request");
    served.get("/v1/models/echo:predict").await.problem(405, "method-not-allowed");
    served.get("/v3").await.problem(404, "not-found");
    let plain = [("content-type", "text/plain")];
    served
        .ask("POST", "/v1/models/echo:predict", &plain, Some("{}"))
        .await
        .problem(415, "unsupported-media-type");
    let foreign = [("content-type", "application/json"), ("origin", "http://evil.example")];
    served.ask("POST", "/v1/models/echo:predict", &foreign, Some("{}")).await.problem(403, "foreign-origin");
    let rebound = [("host", "evil.example")];
    served.ask("GET", "/v1/models", &rebound, None).await.problem(403, "foreign-origin");
}

#[tokio::test]
async fn the_server_says_what_it_can_do_and_what_it_did() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    served.post("/v1/models/echo:predict", r#"{"query": "hello"}"#).await.is(200);
    served.post("/v1/models/echo:predict", r#"{"query": "fail"}"#).await.is(500);
    let metrics = served.get("/metrics").await.is(200).body;
    for line in [
        "stave_runs_total{tenant=\"acme\",flow=\"echo\",status=\"ok\"} 1",
        "stave_runs_total{tenant=\"acme\",flow=\"echo\",status=\"error\"} 1",
        "stave_requests_total{path=\"/v1/models/{name}:predict\",method=\"POST\",status=\"200\"} 1",
        "stave_run_seconds_count{tenant=\"acme\",flow=\"echo\"} 2",
        "stave_runs_in_progress 0",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line}\n{metrics}");
    }
    let document = served.get("/openapi.json").await.is(200).json();
    assert_eq!(text(&document, "openapi"), Some("3.1.0"));
    let schema = "/paths/~1v1~1models~1echo:predict/post/requestBody/content/application~1json/schema/anyOf/0/required";
    assert_eq!(document.pointer(schema), Some(&vec!["query"].into()), "{document}");
    assert!(document.pointer("/paths/~1runs~1{run}~1events/get").is_some(), "{document}");
}

#[tokio::test]
async fn a_run_that_asks_two_people_names_both_questions() {
    let folder = project();
    let one = careful("paid");
    let (start, end) = (one.find("  ask:").unwrap(), one.find("  pay:").unwrap());
    let also = one[start..end].replace("  ask:", "  also:");
    let both = one.replace("  pay:", &format!("{also}  pay:")).replace(
        "edges:\n",
        "edges:\n  - {from: _input.amount, to: also.amount}\n  - {from: also.amount, to: _output.also}\n",
    );
    folder.write("flows/careful.yaml", both);
    let served = Served::start(&folder, &[]).await;
    let waiting = served.post("/v1/models/careful:predict", r#"{"amount": 3}"#).await.is(202).json();
    let mut nodes: Vec<&str> = items(&waiting, "nodes").iter().filter_map(Value::as_str).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, ["also", "ask"], "{waiting}");
    let body = r#"{"inputs": [{"name": "amount", "datatype": "FP64", "shape": [1], "data": [3]}]}"#;
    let waiting = served.post("/v2/models/careful/infer", body).await.is(202).json();
    assert_eq!(items(&waiting, "nodes").len(), 2, "{waiting}");
}
