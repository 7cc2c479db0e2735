//! Manifests from bundles: what people read, and what is refused.

#![expect(clippy::unwrap_used, reason = "a test stops at a surprise")]

use stave_canon::Value;
use stave_system::SystemDocument;
use stave_system::bundle::{Bundle, BundleOptions, BundleSource, specifications};
use stave_system::deploy::{
    DeployOptions, ImagePackage, Service, ServiceTarget, container_file, kserve_manifest, lambda_handler,
    lambda_package, services,
};

fn service(properties: &str) -> Service {
    let text = format!(
        r#"{{"schema_kind": "akc_ir", "tenant_id": "acme", "repo_id": "support", "nodes": [
          {{"id": "infra", "tenant_id": "acme", "kind": "infrastructure", "name": "deployment:support", "properties": {properties},
           "effects": {{"network": true, "secrets": ["OPENAI_API_KEY", "CRM_TOKEN"]}}}},
          {{"id": "w", "tenant_id": "acme", "kind": "workflow", "name": "answer", "properties": {{"plan_id": "support"}}, "depends_on": ["infra"],
           "contract": {{"contract_id": "c", "contract_category": "runtime", "triggers": [{{"trigger_id": "t", "source": "s"}}],
                        "io_contract": {{"input_keys": ["a"], "output_keys": ["b"]}}, "runtime_budget": {{"max_seconds": 45}}}}}}]}}"#
    );
    let document = SystemDocument::from_text(&text).unwrap();
    let specifications = specifications("run_1", &document);
    let bundle = Bundle::emit(BundleSource {
        run_id: "run_1",
        document: &document,
        intent: None,
        orchestration: &specifications.orchestration,
        coordination: &Value::Null,
        delivery_plan: None,
        options: BundleOptions::default(),
    });
    services(&bundle.unwrap()).remove(0)
}

fn kserve(settings: &str) -> Service {
    service(&format!(r#"{{"flow": "support", "target": "kserve", "service_name": "support", {settings}}}"#))
}

const FULL: &str = r#""kserve": {"namespace": "agents", "min_replicas": 2, "max_replicas": 10, "target_rps": 12.5,
   "resources": {"cpu": "500m", "memory": "1Gi", "gpu": "1"}}, "context": {"region": {"env": "REGION"}, "plan": {"value": "x"}},
   "session_state_backends": ["redis"]"#;

#[test]
fn a_manifest_has_everything_that_the_flow_asks_for() {
    let options = DeployOptions { registry: Some("registry.internal/agents/".to_owned()), image: None };
    insta::assert_snapshot!(kserve_manifest(&kserve(FULL), &options));
}

#[test]
fn a_bare_deployment_has_a_bare_manifest() {
    let service = kserve(r#""session_state_backends": ["memory"]"#);
    let text = kserve_manifest(
        &service,
        &DeployOptions { image: Some("example/support:3".to_owned()), registry: None },
    );
    assert!(text.contains("image: \"example/support:3\""), "{text}");
    for absent in ["minReplicas", "scaleMetric", "resources", "namespace"] {
        assert!(!text.contains(absent), "{absent}\n{text}");
    }
}

#[test]
fn a_text_can_not_leave_its_place_in_a_manifest() {
    let service = Service { namespace: Some("a: b\n  evil: true".to_owned()), ..kserve(FULL) };
    let text = kserve_manifest(&service, &DeployOptions::default());
    assert!(text.contains(r#"namespace: "a: b\n  evil: true""#), "{text}");
    assert!(!text.lines().any(|line| line.trim_start().starts_with("evil")), "{text}");
}

fn package(service: &Service) -> ImagePackage {
    let project =
        ["stave.toml", "features/customers.jsonl", "features/more/visits.jsonl", "spoken words.jsonl"];
    ImagePackage::new(service, "flows/support.ir.json".to_owned(), project.map(str::to_owned))
}

#[test]
fn the_container_file_copies_what_was_compiled_and_nothing_twice() {
    let service = kserve(FULL);
    let package = package(&service);
    insta::assert_snapshot!(container_file(&service, &package));
    let own = package.files.iter().filter(|path| path.starts_with(".akc/"));
    assert!(own.clone().count() >= 5 && own.into_iter().all(|path| path.contains("run_1")), "{package:?}");
}

#[test]
fn a_lambda_package_is_a_handler_and_a_list() {
    let service = service(r#"{"flow": "support", "target": "lambda", "service_name": "support"}"#);
    assert_eq!(service.target, ServiceTarget::Lambda);
    let package = package(&service);
    insta::assert_snapshot!(lambda_package(&service, &package));
    let handler = lambda_handler(&package);
    assert!(handler.starts_with("#!/bin/sh\n") && handler.contains("flows/support.ir.json"), "{handler}");
}
