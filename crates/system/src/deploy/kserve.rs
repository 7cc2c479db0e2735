//! An InferenceService, and the ConfigMap that it refers to.

use stave_canon::{Object, Value};

use super::{DeployOptions, Service, yaml};

const PORT: i64 = 8080;
const SCRATCH: &str = "scratch";
/// KServe's own limit of a request, beyond which a service needs another shape.
const LONGEST_SECONDS: u64 = 3600;

/// The manifest's text: two documents, the ConfigMap first.
#[must_use]
pub fn kserve_manifest(service: &Service, options: &DeployOptions) -> String {
    let documents = [config_map(service), inference_service(service, options)];
    documents.iter().map(yaml::document).collect::<Vec<_>>().join("---\n")
}

fn config_name(service: &Service) -> String {
    format!("{}-config", service.name)
}

fn metadata(service: &Service, name: &str) -> Value {
    let labels =
        [("app.kubernetes.io/name", service.name.as_str()), ("app.kubernetes.io/managed-by", "stave")];
    let annotations = [
        ("stave/run-id", service.run_id.as_str()),
        ("stave/tenant", &service.tenant_id),
        ("stave/repo", &service.repo_id),
        ("stave/system-ir", &service.ir_fingerprint),
        ("stave/node", &service.node_id),
    ];
    let mut metadata = object([("name", name.into())]);
    if let Some(namespace) = &service.namespace {
        metadata.insert("namespace".into(), namespace.as_str().into());
    }
    metadata.insert("labels".into(), labels.into_iter().collect());
    metadata.insert("annotations".into(), annotations.into_iter().collect());
    metadata.into()
}

fn config_map(service: &Service) -> Value {
    let data = [
        ("STAVE_FLOW", service.flow.as_str()),
        ("STAVE_TENANT", &service.tenant_id),
        ("STAVE_REPO", &service.repo_id),
        ("STAVE_RUN_ID", &service.run_id),
    ];
    object([
        ("apiVersion", "v1".into()),
        ("kind", "ConfigMap".into()),
        ("metadata", metadata(service, &config_name(service))),
        ("data", data.into_iter().collect()),
    ])
    .into()
}

fn inference_service(service: &Service, options: &DeployOptions) -> Value {
    let mut predictor = Object::new();
    for (key, count) in [("minReplicas", service.min_replicas), ("maxReplicas", service.max_replicas)] {
        if let Some(count) = count {
            predictor.insert(key.to_owned(), count.into());
        }
    }
    if let Some(rate) = &service.target_rps {
        predictor.insert("scaleMetric".into(), "rps".into());
        // The field takes whole numbers; rounding up never asks for more copies than was meant.
        predictor.insert("scaleTarget".into(), (rate.as_f64().ceil() as i64).into());
    }
    if service.max_seconds > 0 {
        predictor.insert("timeout".into(), service.max_seconds.min(LONGEST_SECONDS).into());
    }
    let scratch = object([("name", SCRATCH.into()), ("emptyDir", Object::new().into())]);
    predictor.insert("volumes".into(), Value::Array(vec![scratch.into()]));
    predictor.insert("containers".into(), Value::Array(vec![container(service, options)]));
    object([
        ("apiVersion", "serving.kserve.io/v1beta1".into()),
        ("kind", "InferenceService".into()),
        ("metadata", metadata(service, &service.name)),
        ("spec", object([("predictor", predictor.into())]).into()),
    ])
    .into()
}

fn container(service: &Service, options: &DeployOptions) -> Value {
    let mut container = object([
        ("name", "kserve-container".into()),
        ("image", service.image(options).into()),
        (
            "ports",
            Value::Array(vec![object([("containerPort", PORT.into()), ("protocol", "TCP".into())]).into()]),
        ),
    ]);
    let environment = environment(service);
    if !environment.is_empty() {
        container.insert("env".into(), environment.into());
    }
    let reference = object([("configMapRef", object([("name", config_name(service).into())]).into())]);
    container.insert("envFrom".into(), Value::Array(vec![reference.into()]));
    let resources = resources(service);
    if !resources.is_empty() {
        // Requests equal limits, so that a pod is never put where its limits do not fit.
        let both = [("requests", resources.clone()), ("limits", resources)];
        container.insert("resources".into(), both.into_iter().collect());
    }
    // The file system is read-only but for this, which goes with the pod.
    let mount = object([("name", SCRATCH.into()), ("mountPath", "/tmp".into())]);
    container.insert("volumeMounts".into(), Value::Array(vec![mount.into()]));
    container.insert("readinessProbe".into(), probe("/v2/health/ready", 2));
    container.insert("livenessProbe".into(), probe("/v2/health/live", 10));
    container.insert("securityContext".into(), security());
    container.into()
}

/// Secrets by reference, never by value.
fn environment(service: &Service) -> Vec<Value> {
    let secret = format!("{}-secrets", service.name);
    let secrets = service.secrets.iter().map(|name| {
        let key = object([("name", secret.as_str().into()), ("key", name.as_str().into())]);
        let from = object([("secretKeyRef", key.into())]);
        object([("name", name.as_str().into()), ("valueFrom", from.into())]).into()
    });
    let own = format!("{}-context", service.name);
    let context = service.environment.iter().map(|name| {
        let key = object([("name", own.as_str().into()), ("key", name.as_str().into())]);
        let from = object([("configMapKeyRef", key.into())]);
        object([("name", name.as_str().into()), ("valueFrom", from.into())]).into()
    });
    secrets.chain(context).collect()
}

fn resources(service: &Service) -> Object {
    let members = [("cpu", &service.cpu), ("memory", &service.memory), ("nvidia.com/gpu", &service.gpu)];
    members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value.as_deref()?.into()))).collect()
}

fn probe(path: &str, period: i64) -> Value {
    object([
        ("httpGet", object([("path", path.into()), ("port", PORT.into())]).into()),
        ("periodSeconds", period.into()),
    ])
    .into()
}

fn security() -> Value {
    let dropped = object([("drop", vec!["ALL"].into())]);
    object([
        ("allowPrivilegeEscalation", false.into()),
        ("runAsNonRoot", true.into()),
        ("readOnlyRootFilesystem", true.into()),
        ("capabilities", dropped.into()),
    ])
    .into()
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Object {
    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}
