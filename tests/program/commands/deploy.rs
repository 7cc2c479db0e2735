//! `stave compile --emit kserve`: manifests that Kubernetes and the `kserve` package understand.

use tokio::process::Command;

use crate::folder::Folder;
use crate::process::stave;
use crate::python::python_with;

use super::system::{FLOW, compiled, project};

const EMIT: [&str; 6] = ["compile", "flows", "--out", "build", "--emit", "exec,kserve"];

#[tokio::test]
async fn a_served_flow_has_a_manifest_and_a_container_file() {
    let folder = project("redis");
    compiled(&folder).await;
    let manifest = folder.read("build/deploy/support.yaml");
    for wanted in [
        "kind: InferenceService",
        "name: support\n",
        "namespace: agents",
        "minReplicas: 2",
        "maxReplicas: 4",
        "scaleMetric: rps",
        "scaleTarget: 20",
        "path: /v2/health/ready",
        "name: support-secrets",
        "key: ORDERS_TOKEN",
        "key: OPENAI_API_KEY",
        "kind: ConfigMap",
    ] {
        assert!(manifest.contains(wanted), "{wanted}\n{manifest}");
    }
    assert!(!manifest.contains("test-key"), "a secret is in the manifest");
    let container = folder.read("build/deploy/support.Containerfile");
    assert!(container.contains("COPY flows/support.ir.json"), "{container}");
}

#[tokio::test]
async fn sessions_in_memory_are_not_deployed_to_several_replicas() {
    let folder = project("memory");
    let refused = stave(&folder, EMIT).finish().await.exits(2);
    assert!(refused.stderr.contains("in memory"), "{refused}");
    assert!(!folder.has("build/deploy/support.yaml") && !folder.has("build/flows/support.ir.json"));
    // A compile that was not asked to deploy does everything else, and says what it left out.
    let told = stave(&folder, ["compile", "flows", "--out", "build"]).finish().await.exits(0);
    assert!(told.stderr.contains("no deployment was written"), "{told}");
    assert!(folder.has("build/flows/support.ir.json") && !folder.has("build/deploy/support.yaml"));
}

#[tokio::test]
async fn other_targets_get_what_they_need_and_no_more() {
    let flow = FLOW.replace("BACKEND", "redis");
    let (head, _) = flow.split_once("deployment:").expect("the flow is deployed");
    let made = async |target: &str| -> Vec<String> {
        let folder = Folder::new();
        folder.write("flows/support.yaml", format!("{head}deployment:\n  target: {target}\n"));
        stave(&folder, EMIT).finish().await.exits(0);
        let root = folder.path().join("build/deploy");
        let files = folder
            .files()
            .into_iter()
            .filter_map(|(path, _)| path.strip_prefix(&root).ok().map(|path| path.display().to_string()));
        files.collect()
    };
    assert_eq!(made("lambda").await, ["support.lambda/bootstrap", "support.lambda/package.json"]);
    assert_eq!(made("local").await, ["support.Containerfile"]);
}

/// Makes the package's own models of the manifest, field by field, and says what it understood.
const PROGRAM: &str = r#"
import re, sys, yaml
import kserve, kubernetes.client as kubernetes

def build(kind, value, path):
    """Makes the package's own model of a value; a field that no model has is a fault."""
    inner = re.fullmatch(r"list\[(.*)\]", kind)
    if inner:
        return [build(inner.group(1), item, f"{path}[]") for item in value]
    model = getattr(kserve, kind, None) or getattr(kubernetes, kind, None)
    if model is None:
        return value
    names = {wire: name for name, wire in model.attribute_map.items()}
    unknown = set(value) - set(names)
    assert not unknown, (path, unknown)
    members = {names[key]: build(model.openapi_types[names[key]], member, f"{path}.{key}") for key, member in value.items()}
    return model(**members)

config, service = yaml.safe_load_all(open(sys.argv[1]))
made = build("V1beta1InferenceService", service, "service")
predictor = made.spec.predictor
assert isinstance(predictor, kserve.V1beta1PredictorSpec), type(predictor)
container = predictor.containers[0]
assert container.resources.limits == container.resources.requests, container.resources
assert build("V1ConfigMap", config, "config").data["STAVE_TENANT"] == "acme"
print(predictor.min_replicas, predictor.max_replicas, predictor.scale_metric, predictor.scale_target, predictor.timeout,
      container.name, container.readiness_probe.http_get.path, sorted(one.value_from.secret_key_ref.key for one in container.env))
"#;

#[tokio::test]
async fn the_kserve_package_understands_the_manifest() {
    let Some(python) = python_with("kserve", "kserve").await else { return };
    let folder = project("redis");
    compiled(&folder).await;
    let manifest = folder.path().join("build/deploy/support.yaml");
    let output =
        Command::new(python).arg("-c").arg(PROGRAM).arg(manifest).output().await.expect("python starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    let wanted = "2 4 rps 20 75 kserve-container /v2/health/ready ['OPENAI_API_KEY', 'ORDERS_TOKEN']";
    assert_eq!(said.trim(), wanted, "{errors}");
}
