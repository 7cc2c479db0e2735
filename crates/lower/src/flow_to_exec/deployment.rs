//! Deployment hints: where the author means the flow to be served. A runtime may pass over them.

use stave_canon::{Object, Value};
use stave_flow::model::{ContextSource, Deployment, DeploymentTarget, Kserve, Text};

/// The hints as metadata of the document; `None` when the author gave none.
pub(super) fn hints(deployment: &Deployment) -> Option<Value> {
    let mut hints = Object::new();
    if let Some(target) = deployment.target {
        let word = match target.value {
            DeploymentTarget::Kserve => "kserve",
            DeploymentTarget::Lambda => "lambda",
            DeploymentTarget::Local => "local",
        };
        hints.insert("target".into(), word.into());
    }
    if let Some(kserve) = &deployment.kserve {
        hints.insert("kserve".into(), kserve_hints(kserve));
    }
    if let Some(context) = deployment.context.as_ref() {
        let sources = context.fields.iter().map(|(field, source)| (field.as_str(), source_of(&source.value)));
        hints.insert("context".into(), sources.collect());
    }
    (!hints.is_empty()).then_some(Value::Object(hints))
}

/// Where a field of the context comes from when the flow is served.
pub(crate) fn source_of(source: &ContextSource) -> Value {
    match source {
        ContextSource::Constant(value) => Value::from_iter([("value", value.clone())]),
        ContextSource::Environment(name) => Value::from_iter([("env", name.as_str())]),
        ContextSource::Header(name) => Value::from_iter([("header", name.as_str())]),
    }
}

fn kserve_hints(kserve: &Kserve) -> Value {
    let text = |text: &Option<Text>| text.as_ref().map(|text| Value::from(text.as_str()));
    let mut hints = Object::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            hints.insert(key.to_owned(), value);
        }
    };
    put("namespace", text(&kserve.namespace));
    put("service_name", text(&kserve.service_name));
    put("min_replicas", kserve.min_replicas.map(|count| count.value.into()));
    put("max_replicas", kserve.max_replicas.map(|count| count.value.into()));
    put("target_rps", kserve.target_rps.as_ref().map(|rate| Value::Number(rate.value.clone())));
    put(
        "resources",
        kserve.resources.as_ref().map(|resources| {
            let parts = [("cpu", &resources.cpu), ("memory", &resources.memory), ("gpu", &resources.gpu)];
            parts.into_iter().filter_map(|(key, part)| Some((key, text(part)?))).collect()
        }),
    );
    Value::Object(hints)
}
