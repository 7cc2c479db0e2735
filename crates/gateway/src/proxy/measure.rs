//! How much of a value in a reply the model wrote.
//!
//! Invariant: every text counts that is not known to be something else. What is known is known by its name and by its
//! length or its place, so a reply in a shape that nobody knows is not free.

use stave_block::Surface;
use stave_lower::BodyValue;

/// The longest value that is taken for a label, and the longest name of a member that does not count.
const LONGEST_LABEL: usize = 512;

/// The most bytes of a value that says nothing: `null`, an empty text, an empty list.
const NOTHING: usize = 4;

/// Members that say what something is, as long as they are short.
const LABELS: [&str; 20] = [
    "id",
    "type",
    "role",
    "status",
    "call_id",
    "item_id",
    "tool_use_id",
    "object",
    "model",
    "provider",
    "system_fingerprint",
    "service_tier",
    "obfuscation",
    "finish_reason",
    "native_finish_reason",
    "stop_reason",
    "content_filter_results",
    "prompt_filter_results",
    "usage",
    "error",
];

/// Members that the model does not write token by token: media, proofs and quotations.
const ASIDE: [&str; 12] = [
    "data",
    "result",
    "url",
    "encrypted_content",
    "signature",
    "logprobs",
    "annotation",
    "annotations",
    "citation",
    "citations",
    "search_results",
    "partial_image_b64",
];

/// What a tool that the provider runs brought, in the item of its call.
const BROUGHT: [&str; 3] = ["output", "outputs", "results"];

/// Members of a response that repeat the request.
pub(super) const REPEATED: [&str; 13] = [
    "instructions",
    "input",
    "tools",
    "tool_choice",
    "text",
    "reasoning",
    "metadata",
    "prompt",
    "prompt_cache_key",
    "safety_identifier",
    "user",
    "previous_response_id",
    "usage",
];

/// What was found in a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Measure {
    /// Bytes of what the model wrote.
    pub(super) written: u64,
    /// Bytes of what came beside it. Providers count them in ways of their own, so they say nothing against a count,
    /// but where there is no count they are all there is.
    pub(super) aside: u64,
    /// Calls of tools that the provider runs.
    pub(super) tool_calls: u64,
}

impl Measure {
    /// Measures a value, without these members at its top.
    pub(super) fn of(surface: Surface, value: BodyValue<'_, '_>, without: &[&str]) -> Measure {
        let mut measure = Measure::default();
        let mut open = Vec::new();
        measure.object(surface, value, without, &mut open);
        while let Some(value) = open.pop() {
            if let Some(text) = value.text() {
                measure.wrote(text.len());
            } else if value.is_array() {
                for item in value.items() {
                    // A text may come as a list of numbers.
                    if item.is_object() || item.is_array() || item.text().is_some() {
                        open.push(item);
                    } else {
                        measure.wrote(item.raw().len());
                    }
                }
            } else {
                measure.object(surface, value, &[], &mut open);
            }
        }
        measure
    }

    /// Takes in the members of an object. Those that have to be looked into are left open.
    fn object<'t, 'b: 't>(
        &mut self,
        surface: Surface,
        object: BodyValue<'t, 'b>,
        without: &[&str],
        open: &mut Vec<BodyValue<'t, 'b>>,
    ) {
        let role = tool_role(surface, object);
        if role == Some(ToolRole::Result) {
            // What it brings is input of the model, which the provider counts as such.
            return;
        }
        let is_call = role == Some(ToolRole::Call);
        self.tool_calls += u64::from(is_call);
        for (name, member) in object.members() {
            let (name, length) = (&*name, member.raw().len());
            if without.contains(&name) {
                continue;
            }
            if name.len() > LONGEST_LABEL {
                self.wrote(name.len());
            }
            if name == "input" && member.is_object() {
                // The arguments of a call, whatever their names.
                self.wrote(length);
            } else if ASIDE.contains(&name) || (is_call && BROUGHT.contains(&name)) {
                let aside = if length > NOTHING { length } else { 0 };
                self.aside = self.aside.saturating_add(aside as u64);
            } else if length > LONGEST_LABEL || !LABELS.contains(&name) {
                open.push(member);
            }
        }
    }

    fn wrote(&mut self, bytes: usize) {
        self.written = self.written.saturating_add(bytes as u64);
    }
}

/// What an item has to do with a tool that the provider runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToolRole {
    Call,
    Result,
}

fn tool_role(surface: Surface, item: BodyValue<'_, '_>) -> Option<ToolRole> {
    let kind = item.get("type").and_then(BodyValue::text)?;
    match (surface, &*kind) {
        (Surface::AnthropicMessages, "server_tool_use" | "mcp_tool_use") => Some(ToolRole::Call),
        (Surface::AnthropicMessages, kind) if kind.ends_with("tool_result") => Some(ToolRole::Result),
        (
            Surface::OpenAiResponses,
            "function_call" | "custom_tool_call" | "tool_call" | "computer_call" | "local_shell_call"
            | "shell_call" | "apply_patch_call",
        ) => None,
        (Surface::OpenAiResponses, kind) if kind.ends_with("_call") => Some(ToolRole::Call),
        _ => None,
    }
}
