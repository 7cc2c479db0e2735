//! Flows that read and set values of a plant, from their text to what the plant holds afterwards.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use stave_canon::{CountingIds, FixedClock, Object, Timestamp, Value};
use stave_diag::Sources;
use stave_exec::Document;
use stave_llm::prices::Prices;
use stave_llm::recording::{Recording, Replayer};
use stave_lower::{ExecSettings, flow_to_exec};
use stave_opcua::Plants;
use stave_runtime::cache::MemoryCache;
use stave_runtime::features::EmbeddedFeatures;
use stave_runtime::http::{AllowList, HttpClient};
use stave_runtime::journal::Ephemeral;
use stave_runtime::opcua::Opcua;
use stave_runtime::state::MemoryStore;
use stave_runtime::tool_servers::NoToolServers;
use stave_runtime::{EmbeddedEngine, Engine, ModelHosts, RunLimits, RunReport, Secrets, Services};
use stave_script::{PoolOptions, PythonPool, TemplateRenderer, WorkerCommand};

use crate::plant::Plant;
use crate::{PASSWORD, plants};

/// Slows a machine that has become too hot. [`document`] fills in the words in capitals.
const FLOW: &str = r#"version: "1.0"
metadata: {name: cooling}
context: {requires: [speed]}
nodes:
  measure:
    type: transform
    inputs: [{name: speed, type: number}]
    outputs: [{name: values, type: object}, {name: qualities, type: object}]
    transform:
      mode: declarative
      spec:
        op: opcua.read
        args: {endpoint: "ADDRESS", node_ids: ["TEMPERATURE"]}
  slow:
    type: transform
    inputs: [{name: values, type: object}]
    outputs: [{name: written, type: object}]
    error: {name: failed, type: object}
    transform:
      mode: declarative
      spec:
        op: opcua.write
        args: {endpoint: "ADDRESS", node_id: "TARGET", value: "${context.speed}", type: Int32}
  explain:
    type: transform
    inputs: [{name: problem, type: object}]
    outputs: [{name: written, type: object}]
    transform:
      mode: declarative
      spec: {op: io.format_response, args: {template: {status: "${problem.code}"}}}
edges:
  - {from: _input.speed, to: measure.speed}
  - {from: measure.values, to: slow.values, condition: "value['TEMPERATURE'] > LIMIT"}
  - {from: measure.values, to: _output.values}
  - {from: measure.qualities, to: _output.qualities}
  - {from: slow.written, to: _output.written}
  - {from: slow.failed, to: explain.problem}
  - {from: explain.written, to: _output.written}
"#;

fn document(plant: &Plant, limit: u32, target: &str) -> Arc<Document> {
    let text = FLOW
        .replace("ADDRESS", &plant.address)
        .replace("TEMPERATURE", &plant.node("temperature"))
        .replace("TARGET", target)
        .replace("LIMIT", &limit.to_string());
    compiled(&text)
}

pub(crate) fn compiled(text: &str) -> Arc<Document> {
    let mut sources = Sources::new();
    let source = sources.add("flow.yaml", text);
    let loaded = stave_flow::load(source, text, &stave_flow::CheckOptions::default());
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    let settings = ExecSettings {
        policy_ref: "default".to_owned(),
        policy: Object::new(),
        default_model: None,
        templates: Default::default(),
        generated_at: "2026-01-02T03:04:05Z".to_owned(),
        source_file: "flow.yaml".to_owned(),
    };
    Arc::new(flow_to_exec(&loaded.flow.unwrap(), &sources, &settings))
}

async fn slowed(plants: &Arc<Plants>, document: Arc<Document>) -> RunReport {
    run(plants, document, &Value::from_iter([("speed", Value::from(900_i64))])).await
}

pub(crate) async fn run(plants: &Arc<Plants>, document: Arc<Document>, request: &Value) -> RunReport {
    // The condition is decided without a worker, so that none is started.
    let command = WorkerCommand { program: PathBuf::from("no-worker"), arguments: Vec::new() };
    let python = Arc::new(PythonPool::new(PoolOptions { command, size: 1 }));
    let services = Services {
        clock: Arc::new(FixedClock(Timestamp::UNIX_EPOCH)),
        ids: Arc::new(CountingIds::new()),
        templates: Arc::new(TemplateRenderer::new(Arc::clone(&python))),
        python,
        models: Arc::new(Replayer::new(Recording::default())),
        planning: None,
        prices: Arc::new(Prices::built_in()),
        model_hosts: ModelHosts::everywhere(),
        http: HttpClient::new(AllowList::public()).unwrap(),
        state: Arc::new(MemoryStore::default()),
        journal: Arc::new(Ephemeral),
        cache: Arc::new(MemoryCache::default()),
        observer: Arc::new(()),
        tracer: Arc::new(()),
        opcua: Some(Arc::clone(plants) as Arc<dyn Opcua>),
        references: Arc::new(stave_runtime::NoSource),
        digests: stave_runtime::DigestSettings::default(),
        prompt_plugins: Vec::new(),
        gate: Arc::default(),
        heavy_work: Arc::default(),
        features: Arc::new(EmbeddedFeatures::new()),
        tool_servers: Arc::new(NoToolServers),
        secrets: Secrets::default(),
        limits: RunLimits { run: Duration::from_secs(60), ..RunLimits::default() },
        policy: None,
    };
    EmbeddedEngine::new(services).run(document, request).await.unwrap()
}

async fn speed(plants: &Plants, plant: &Plant) -> Value {
    plants.read(&plant.address, &[plant.node("speed")]).await.unwrap()[0].value.clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_reads_a_plant_and_writes_only_when_it_has_to() {
    let folder = tempfile::tempdir().unwrap();
    let plant = Plant::start(folder.path(), PASSWORD).await;
    let plants = Arc::new(plants(&plant.address, None));
    let calm = slowed(&plants, document(&plant, 100, &plant.node("speed"))).await.result.unwrap();
    let temperature = plant.node("temperature");
    assert_eq!(calm.get("values").and_then(|values| values.get(&temperature)), Some(&Value::from(80.5)));
    assert_eq!(calm.get("qualities").and_then(|values| values.get(&temperature)), Some(&"good".into()));
    assert_eq!(speed(&plants, &plant).await, Value::from(1500_i64));
    let hot = slowed(&plants, document(&plant, 70, &plant.node("speed"))).await.result.unwrap();
    assert_eq!(hot.pointer("/written/value"), Some(&Value::from(900_i64)), "{hot}");
    assert_eq!(speed(&plants, &plant).await, Value::from(900_i64));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_plant_refuses_goes_to_the_error_port_and_is_not_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let plant = Plant::start(folder.path(), PASSWORD).await;
    let plants = Arc::new(plants(&plant.address, None));
    let report = slowed(&plants, document(&plant, 70, &plant.node("sealed"))).await;
    let slow = report.nodes.iter().find(|node| node.id == "slow").unwrap();
    assert_eq!((slow.status.word(), slow.attempts), ("error", 1));
    let output = report.result.unwrap();
    assert_eq!(output.pointer("/written/status"), Some(&"plant-failed".into()), "{output}");
}
