//! Which interface a body is written for.

use stave_block::Surface;

use super::tape::{ROOT, Tape};

/// The surface of a body; `None` when it is no request of a known one.
///
/// A list of `messages` is Anthropic's or OpenAI's. What only one of them has decides; a body that has
/// nothing of either is Anthropic's when its model is.
pub(super) fn detect(tape: &Tape<'_>) -> Option<Surface> {
    let has = |key: &str| tape.get(ROOT, key).is_some();
    if !has("messages") {
        return if has("contents") {
            Some(Surface::GeminiGenerateContent)
        } else if has("input") || has("instructions") {
            Some(Surface::OpenAiResponses)
        } else {
            None
        };
    }
    if ANTHROPIC_KEYS.iter().any(|key| has(key)) {
        return Some(Surface::AnthropicMessages);
    }
    if CHAT_KEYS.iter().any(|key| has(key)) {
        return Some(Surface::OpenAiChat);
    }
    let by_tools = tape.get(ROOT, "tools").and_then(|tools| {
        let mut tools = tape.items(tools);
        tools.find_map(|tool| match (tape.get(tool, "input_schema"), tape.get(tool, "function")) {
            (Some(_), _) => Some(Surface::AnthropicMessages),
            (None, Some(_)) => Some(Surface::OpenAiChat),
            (None, None) => None,
        })
    });
    let by_messages = || {
        let messages = tape.get(ROOT, "messages")?;
        tape.items(messages).find_map(|message| of_message(tape, message))
    };
    let model = tape.get_inner(ROOT, "model").unwrap_or_default();
    let by_model = if model.contains("claude") { Surface::AnthropicMessages } else { Surface::OpenAiChat };
    Some(by_tools.or_else(by_messages).unwrap_or(by_model))
}

/// Top-level keys that only Anthropic's messages have.
const ANTHROPIC_KEYS: [&str; 8] = [
    "system",
    "anthropic_version",
    "stop_sequences",
    "top_k",
    "thinking",
    "cache_control",
    "output_config",
    "mcp_servers",
];

/// Top-level keys that only chat completions have.
const CHAT_KEYS: [&str; 16] = [
    "response_format",
    "max_completion_tokens",
    "frequency_penalty",
    "presence_penalty",
    "logprobs",
    "logit_bias",
    "stream_options",
    "n",
    "seed",
    "stop",
    "functions",
    "parallel_tool_calls",
    "reasoning_effort",
    "prompt_cache_key",
    "store",
    "modalities",
];

fn of_message(tape: &Tape<'_>, message: usize) -> Option<Surface> {
    if matches!(tape.get_inner(message, "role"), Some("system" | "developer" | "tool" | "function"))
        || tape.get(message, "tool_calls").is_some()
    {
        return Some(Surface::OpenAiChat);
    }
    let content = tape.get(message, "content")?;
    tape.items(content).find_map(|part| {
        if tape.get(part, "cache_control").is_some() || tape.get(part, "source").is_some() {
            return Some(Surface::AnthropicMessages);
        }
        match tape.get_inner(part, "type")? {
            "tool_use" | "tool_result" | "thinking" | "document" => Some(Surface::AnthropicMessages),
            "image_url" | "input_audio" | "file" | "refusal" => Some(Surface::OpenAiChat),
            _ => None,
        }
    })
}
