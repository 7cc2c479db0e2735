//! `stave compile --emit kserve`: manifests that Kubernetes and the `kserve` package understand.

use stave_canon::Value;
use tokio::process::Command;

use crate::folder::Folder;
use crate::process::stave;
use crate::python::python_with;
use crate::serve::client::Served;

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
    let container = folder.read("build/deploy/support/Containerfile");
    assert!(container.contains("COPY flows/ /srv/flows/"), "{container}");
    let address = "- name: REDIS_URL\n            valueFrom:\n              secretKeyRef:";
    assert!(manifest.contains(address), "the replicas share no store\n{manifest}");
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
    let lambda = made("lambda").await;
    assert!(
        ["support/bootstrap", "support/package.json"].iter().all(|own| lambda.iter().any(|it| it == own))
    );
    assert!(
        !lambda.iter().any(|path| path.contains("Containerfile") || path.ends_with(".yaml")),
        "{lambda:?}"
    );
    let local = made("local").await;
    assert!(local.iter().any(|path| path == "support/Containerfile"), "{local:?}");
    assert!(!local.iter().any(|path| path == "support.yaml" || path.ends_with("bootstrap")), "{local:?}");
}

/// A flow that needs its project while it runs: rows of a feature group, and a variable.
const LOOKS_UP: &str = r#"version: "1.0"
metadata: {name: visits}
context: {requires: [customer], optional: [region]}
nodes:
  look:
    type: transform
    inputs: [{name: key, type: string}]
    outputs: [{name: features, type: object}]
    transform:
      mode: declarative
      spec:
        op: hopsworks.read_features
        args: {feature_group: customers, key: "${key}"}
  say:
    type: transform
    inputs: [{name: features, type: object}]
    outputs: [{name: reply, type: string}]
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            return {"reply": str(inputs["features"]) + " in " + str(context.get("region", "nowhere"))}
edges:
  - {from: _input.customer, to: look.key}
  - {from: look.features, to: say.features}
  - {from: say.reply, to: _output.reply}
deployment:
  target: TARGET
  context: {region: {env: REGION}}
"#;

/// A project that serves the flow above.
fn project_with_features(target: &str) -> Folder {
    let folder = Folder::new();
    add_project_with_features(&folder, "", "acme", target);
    folder
}

fn add_project_with_features(folder: &Folder, below: &str, tenant: &str, target: &str) {
    let write = |path: &str, text: String| folder.write(&format!("{below}{path}"), text);
    let owner = format!("[project]\ntenant = \"{tenant}\"\nrepo = \"shop\"\n");
    write("stave.toml", owner + "[context]\nenv = [\"REGION\"]\n");
    write("flows/visits.yaml", LOOKS_UP.replace("TARGET", target));
    write("features/customers.jsonl", row(37));
    write("features/notes.txt", "not read by any run".to_owned());
    write("keys/release.key", "a secret of the project".to_owned());
    let rule =
        "{id: kind, subject: shop, predicate: required, object: kindness, kind: soft, summary: be kind}";
    write("knowledge/rules.yaml", format!("constraints:\n  - {rule}\n"));
}

/// A row of the feature group.
fn row(visits: u32) -> String {
    let time = "2026-01-01T00:00:00Z";
    format!("{{\"key\": \"c1\", \"event_time\": \"{time}\", \"features\": {{\"visits\": {visits}}}}}\n")
}

/// The files that a container file copies, in a folder that holds nothing else, and the arguments that start it.
fn image_of(folder: &Folder, context: &str) -> (Folder, Vec<String>) {
    let image = Folder::new();
    let text = folder.read(&format!("{context}/Containerfile"));
    let root = folder.path().join(context);
    let files = folder.files();
    for line in text.lines().filter_map(|line| line.strip_prefix("COPY ")) {
        let (from, to) = line.split_once(' ').expect("a COPY has two paths");
        let Some(to) = to.strip_prefix("/srv/") else {
            assert_eq!(from, "stave", "only the program lies elsewhere");
            continue;
        };
        assert_eq!(from, to);
        let copied = files.iter().filter_map(|(path, bytes)| {
            let path = path.strip_prefix(&root).ok()?.display().to_string();
            (path == from || from.ends_with('/') && path.starts_with(from)).then_some((path, bytes))
        });
        let copied: Vec<_> = copied.collect();
        assert!(!copied.is_empty(), "`COPY {from}` finds nothing");
        copied.into_iter().for_each(|(path, bytes)| image.write(&path, bytes));
    }
    let entry = text.lines().find_map(|line| line.strip_prefix("ENTRYPOINT ")).expect("an entry point");
    let entry = stave_canon::parse(entry).expect("the entry point is a list");
    let words = entry.as_array().unwrap().iter().skip(1).map(|word| word.as_str().unwrap().to_owned());
    (image, words.collect())
}

#[tokio::test]
async fn the_files_of_an_image_are_enough_to_serve_its_flow() {
    let folder = Folder::new();
    add_project_with_features(&folder, "acme/", "acme", "kserve");
    // Another tenant's flow in the same output folder.
    add_project_with_features(&folder, "zeta/", "zeta", "kserve");
    folder.write(
        "zeta/flows/visits.yaml",
        LOOKS_UP.replace("TARGET", "kserve").replace("name: visits}", "name: secret}"),
    );
    let arguments = ["compile", "acme/flows", "zeta/flows", "--out", "build", "--emit", "kserve"];
    stave(&folder, arguments).finish().await.exits(0);
    let (image, words) = image_of(&folder, "build/deploy/visits");
    for (path, bytes) in image.files() {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let is_foreign =
            text.contains("zeta") || text.contains("a secret of the project") || text.contains("not read");
        assert!(!is_foreign, "{}", path.display());
    }
    assert!(image.has("stave.toml") && image.has("knowledge/rules.yaml") && image.has("manifest.json"));
    assert!(image.files().iter().any(|(path, _)| path.to_string_lossy().ends_with(".snapshot.json")));

    let scratch = Folder::new();
    let words: Vec<String> = words
        .into_iter()
        .map(|word| match word.as_str() {
            "0.0.0.0" => "127.0.0.1".to_owned(),
            "8080" => "0".to_owned(),
            "/tmp/stave" => scratch.path().join("state").display().to_string(),
            _ => word,
        })
        .collect();
    let served = Served::of(stave(&image, words).env("REGION", "the north")).await;
    served.get("/v2/health/ready").await.is(200);
    let answer = served.post("/v1/models/visits:predict", r#"{"customer": "c1"}"#).await.is(200);
    assert!(answer.body.contains("37") && answer.body.contains("the north"), "{}", answer.body);
}

#[tokio::test]
async fn what_a_build_context_holds_decides_the_image_and_changes_only_with_it() {
    let folder = project_with_features("kserve");
    let image = async || {
        stave(&folder, ["compile", "flows", "--out", "build", "--emit", "kserve"]).finish().await.exits(0);
        let manifest = folder.read("build/deploy/visits.yaml");
        manifest.lines().find(|line| line.contains("image:")).unwrap().to_owned()
    };
    let first = image().await;
    let document = folder.read("build/deploy/visits/flows/visits.ir.json");
    assert_eq!(image().await, first);
    assert_eq!(folder.read("build/deploy/visits/flows/visits.ir.json"), document);
    folder.write("features/customers.jsonl", row(38));
    let second = image().await;
    assert_ne!(second, first, "another image has another tag");
    folder.write("stave.toml", folder.read("stave.toml") + "[limits]\nrun_seconds = 9\n");
    assert_ne!(image().await, second, "other settings make another image");
}

#[tokio::test]
async fn features_are_not_written_to_the_disk_of_a_copy() {
    let folder = project_with_features("kserve");
    let writes = LOOKS_UP
        .replace("TARGET", "kserve")
        .replace("hopsworks.read_features", "hopsworks.write_features")
        .replace("key: \"${key}\"", "data: {key: \"${key}\"}");
    folder.write("flows/visits.yaml", writes);
    let refused =
        stave(&folder, ["compile", "flows", "--out", "build", "--emit", "kserve"]).finish().await.exits(2);
    assert!(
        refused.stderr.contains("visits.yaml:12:13") && refused.stderr.contains("features-on-own-disk"),
        "{refused}"
    );
    let settings = folder.read("stave.toml") + "[hopsworks]\nurl = \"${secrets.FEATURES}\"\n";
    folder.write("stave.toml", settings);
    stave(&folder, ["compile", "flows", "--out", "build", "--emit", "kserve"]).finish().await.exits(0);
    let manifest = folder.read("build/deploy/visits.yaml");
    assert!(manifest.contains("key: FEATURES"), "{manifest}");
}

#[tokio::test]
async fn values_that_kubernetes_refuses_have_a_finding_at_their_line() {
    let folder = project("redis");
    let flow = folder.read("flows/support.yaml");
    for (good, bad) in [
        ("namespace: agents", "namespace: \"Bad_Namespace!\""),
        ("cpu: \"1\"", "cpu: \"1e\""),
        ("memory: 1Gi", "memory: 1gi"),
        ("memory: 1Gi", "gpu: \"0.5\""),
    ] {
        folder.write("flows/support.yaml", flow.replace(good, bad));
        let refused = stave(&folder, ["check", "flows/support.yaml"]).finish().await.exits(2);
        let line = flow.lines().position(|line| line.contains(good)).unwrap() + 1;
        let place = format!("flows/support.yaml:{line}:");
        assert!(refused.to_string().contains("invalid-deployment-value"), "{refused}");
        assert!(refused.to_string().contains(&place), "{place} {refused}");
    }
    folder.write("flows/support.yaml", flow.replace("memory: 1Gi", "memory: \"1e9\""));
    compiled(&folder).await;
}

/// Answers one event as the service of Lambda does, then ends the handler.
const CURL: &str = r#"#!/bin/sh
for last; do :; done
case "$last" in
  */next)
    [ -f asked ] && exit 1
    touch asked
    printf 'lambda-runtime-aws-request-id: 7\r\n' >"$3"
    cat event.json ;;
  */response | */error)
    printf '%s\n' "$last" >replied
    while [ $# -gt 0 ]; do case "$1" in @*) cat "${1#@}" >reply.json ;; esac; shift; done ;;
esac
"#;

#[cfg(unix)]
#[tokio::test]
async fn lambda_answers_the_output_of_a_run() {
    use std::os::unix::fs::PermissionsExt;

    let folder = project_with_features("lambda");
    stave(&folder, ["compile", "flows", "--out", "build", "--emit", "kserve"]).finish().await.exits(0);
    let root = folder.path().join("build/deploy/visits");
    let list = stave_canon::parse(&folder.read("build/deploy/visits/package.json")).unwrap();
    let archive = Folder::new();
    for file in list.get("files").and_then(Value::as_array).unwrap() {
        let file = file.as_str().unwrap();
        if file != "stave" {
            archive.write(file, std::fs::read(root.join(file)).unwrap());
        }
    }
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_stave"), archive.path().join("stave")).unwrap();
    archive.write("bin/curl", CURL);
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(archive.path().join("bin/curl"), executable).unwrap();
    let path = format!("{}:{}", archive.path().join("bin").display(), std::env::var("PATH").unwrap());
    let answer = async |event: &str| {
        archive.write("event.json", event);
        let _ = std::fs::remove_file(archive.path().join("asked"));
        let mut handler = Command::new("sh");
        handler.arg("bootstrap").current_dir(archive.path()).env_clear().env("PATH", &path);
        let handler = handler.env("AWS_LAMBDA_RUNTIME_API", "unused");
        let ended = handler.output().await.expect("the handler starts");
        let reply = stave_canon::parse(&archive.read("reply.json"));
        (archive.read("replied"), reply.unwrap_or_else(|error| panic!("{error}: {ended:?}")))
    };
    let (to, reply) = answer(r#"{"customer": "c1"}"#).await;
    assert!(to.trim_end().ends_with("/7/response"), "{to} {reply}");
    let text = reply.get("reply").and_then(Value::as_str).unwrap_or_default();
    assert!(text.contains("37"), "{reply}");
    let (to, reply) = answer("{}").await;
    assert!(to.trim_end().ends_with("/7/error"), "{to} {reply}");
    assert_eq!(reply.get("errorType"), Some(&"RunFailed".into()));
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
    let wanted =
        "2 4 rps 20 75 kserve-container /v2/health/ready ['OPENAI_API_KEY', 'ORDERS_TOKEN', 'REDIS_URL']";
    assert_eq!(said.trim(), wanted, "{errors}");
}
