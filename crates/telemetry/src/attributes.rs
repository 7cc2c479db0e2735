//! The names that OpenTelemetry's conventions and Stave give to what spans and metrics say.

use opentelemetry::{Array, KeyValue, StringValue, Value};
use stave_llm::{Provider, Response, StopReason, Target, Usage};

pub(crate) const OPERATION: &str = "gen_ai.operation.name";
pub(crate) const PROVIDER: &str = "gen_ai.provider.name";
pub(crate) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(crate) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(crate) const TOKEN_TYPE: &str = "gen_ai.token.type";
pub(crate) const WORKFLOW: &str = "gen_ai.workflow.name";
pub(crate) const TOOL: &str = "gen_ai.tool.name";
pub(crate) const ERROR: &str = "error.type";
pub(crate) const RUN: &str = "stave.run.id";
pub(crate) const STATUS: &str = "stave.status";
pub(crate) const NODE: &str = "stave.node.id";
pub(crate) const KIND: &str = "stave.node.kind";

/// A text that is not known at compile time.
pub(crate) fn text(key: &'static str, value: &str) -> KeyValue {
    KeyValue::new(key, value.to_owned())
}

pub(crate) fn count(key: &'static str, value: u64) -> KeyValue {
    KeyValue::new(key, i64::try_from(value).unwrap_or(i64::MAX))
}

/// The conventions' name for a provider; one that they do not have keeps its own.
pub(crate) fn provider(provider: Provider) -> &'static str {
    match provider {
        Provider::OpenAi | Provider::OpenAiResponses => "openai",
        Provider::Anthropic => "anthropic",
        Provider::Azure => "azure.ai.openai",
        Provider::Bedrock => "aws.bedrock",
        Provider::Ollama => "ollama",
    }
}

/// The host that a model is asked at.
pub(crate) fn server(target: &Target) -> Vec<KeyValue> {
    let Ok(url) = target.url(&target.model) else { return Vec::new() };
    let address = url.host_str().map(|host| text("server.address", host));
    let port = url.port_or_known_default().map(|port| count("server.port", port.into()));
    address.into_iter().chain(port).collect()
}

pub(crate) fn response(response: &Response) -> Vec<KeyValue> {
    let mut attributes = Vec::new();
    attributes.extend(response.id.as_deref().map(|id| text("gen_ai.response.id", id)));
    attributes.extend(response.model.as_deref().map(|model| text(RESPONSE_MODEL, model)));
    if let Some(stop) = &response.stop {
        let reasons = Array::String(vec![StringValue::from(finish_reason(stop).to_owned())]);
        attributes.push(KeyValue::new("gen_ai.response.finish_reasons", Value::Array(reasons)));
    }
    attributes.extend(response.usage.iter().flat_map(usage));
    attributes
}

pub(crate) fn usage(usage: &Usage) -> Vec<KeyValue> {
    let mut attributes = vec![
        count("gen_ai.usage.input_tokens", usage.input),
        count("gen_ai.usage.output_tokens", usage.output),
    ];
    if usage.cache_read > 0 {
        attributes.push(count("gen_ai.usage.cache_read.input_tokens", usage.cache_read));
    }
    if usage.cache_write > 0 {
        attributes.push(count("gen_ai.usage.cache_creation.input_tokens", usage.cache_write));
    }
    attributes
}

/// The conventions' word for why a model stopped.
pub(crate) fn finish_reason(stop: &StopReason) -> &str {
    match stop {
        StopReason::End | StopReason::StopSequence => "stop",
        StopReason::MaxTokens => "length",
        StopReason::ToolUse => "tool_call",
        StopReason::Refusal => "content_filter",
        StopReason::Other(word) => word,
    }
}
