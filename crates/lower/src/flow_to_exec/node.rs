//! Nodes: the step kind, its arguments, its ports, its state, its time.

use stave_canon::{Object, Value};
use stave_exec::dataflow::{NodeData, Ordered, Origin, PortType, StepCache, StepPort, StepState};
use stave_exec::spacing::{self, RetrySpacing};
use stave_exec::{DocumentNode, MAX_INTEGER, Retry};
use stave_flow::model::{self, Backend, NodeStateScope, Text, Transform};
use stave_operations::{LLM_CHAT, PYTHON};

use super::Lowering;

impl Lowering<'_> {
    pub(super) fn node(&self, node: &model::Node) -> DocumentNode {
        let mut text_origins = Vec::new();
        let (kind, with) = match (node.prompt.as_ref(), node.transform.as_ref()) {
            (Some(prompt), transform) => {
                let mut with = self.prompt(prompt, &mut text_origins);
                if let Some(transform) = transform {
                    let (kind, arguments) = self.transform(transform, &mut text_origins);
                    let follow: Value =
                        [("type", Value::from(kind)), ("with", arguments.into())].into_iter().collect();
                    with.insert("transform".into(), follow);
                }
                (LLM_CHAT.name.to_owned(), with)
            }
            (None, Some(transform)) => self.transform(transform, &mut text_origins),
            (None, None) => (PYTHON.name.to_owned(), Object::new()),
        };
        let data = NodeData {
            inputs: self.input_ports(node),
            outputs: node.outputs.iter().map(port).collect(),
            error: node.error.as_ref().map(port),
            state: node.state.as_ref().map(state),
            requires_context: node
                .runtime
                .requires_context
                .iter()
                .map(|text| text.as_str().to_owned())
                .collect(),
            concurrency: node.runtime.concurrency.map(|limit| bounded(limit.value)),
            cache: node.runtime.cache.as_ref().and_then(|cache| self.cache(node, cache)),
            effects: node.has_effects(),
            tool: self.only_called.contains(node.id.as_str()),
            origin: self.origin(node.id.span),
            text_origins: Ordered(text_origins),
        };
        let retry = Retry { max: bounded(node.retries()), backoff_ms: bounded(node.retry_backoff_ms()) };
        let mut extra = data.write();
        if retry.max > 0 {
            spacing::write(RetrySpacing::ExponentialJitter, &mut extra);
        }
        let (id, timeout_ms) = (node.id.value.clone(), bounded(node.timeout_ms()));
        DocumentNode { id, kind, with, timeout_ms, retry, extra }
    }

    fn cache(&self, node: &model::Node, cache: &model::Cache) -> Option<StepCache> {
        Some(StepCache {
            ttl_seconds: bounded(cache.ttl_seconds?.value),
            key: cache.key.as_ref().map(|key| key.as_str().to_owned()),
            context: self.cached.get(node.id.as_str()).cloned().flatten(),
        })
    }

    /// Input ports; those of a prompt say where their values come from, so that its blocks can.
    fn input_ports(&self, node: &model::Node) -> Vec<StepPort> {
        let ports = node.inputs.iter().map(|input| {
            let provenance = || self.provenance.word(node, input.name.as_str()).to_owned();
            StepPort { provenance: node.prompt.is_read().then(provenance), ..port(input) }
        });
        ports.collect()
    }

    fn transform(&self, transform: &Transform, text_origins: &mut Vec<(String, Origin)>) -> (String, Object) {
        if let Some(code) = transform.code() {
            self.text_origin("code", code, text_origins);
            let with = [("code".to_owned(), Value::from(code.as_str()))].into_iter().collect();
            return (PYTHON.name.to_owned(), with);
        }
        let Some(operation) = transform.operation() else { return (PYTHON.name.to_owned(), Object::new()) };
        let arguments = operation.args.as_ref().map(stave_flow::yaml::Tree::to_value);
        let with = match arguments {
            Some(Value::Object(arguments)) => arguments,
            _ => Object::new(),
        };
        (operation.op.as_ref().map_or("", Text::as_str).to_owned(), with)
    }

    /// Remembers where a text inside `with` begins, so that an error in it has a place in the file.
    pub(super) fn text_origin(&self, key: &str, text: &Text, text_origins: &mut Vec<(String, Origin)>) {
        if let Some(origin) = self.origin(text.at(0..0)) {
            text_origins.push((key.to_owned(), origin));
        }
    }
}

fn port(port: &model::Port) -> StepPort {
    let port_type = port.port_type.map_or(PortType::Object, |port_type| port_type.value);
    StepPort {
        name: port.name.as_str().to_owned(),
        port_type,
        schema: port.schema.as_ref().map(stave_flow::yaml::Tree::to_value),
        optional: port.is_optional(),
        provenance: None,
    }
}

fn state(state: &model::State) -> StepState {
    StepState {
        session: state.scope.is_some_and(|scope| scope.value == NodeStateScope::Session),
        key: state.key_template().to_owned(),
        ttl_seconds: state.ttl_seconds.map(|ttl| bounded(ttl.value)),
        backend: match state.backend() {
            Backend::Memory => "memory",
            Backend::Redis => "redis",
            Backend::Hopsworks => "hopsworks",
        }
        .to_owned(),
    }
}

/// A number within what the exec line can hold. The checker refuses larger ones.
pub(crate) fn bounded(value: u64) -> u32 {
    u32::try_from(value.min(MAX_INTEGER.unsigned_abs())).unwrap_or(u32::MAX)
}
