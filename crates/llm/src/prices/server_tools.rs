//! What providers charge for the tools that they run themselves, beside the tokens.
//!
//! Invariant: a kind of tool that nobody knows is taken for one that costs: only tools that the client runs are free.

use super::Cost;

/// Kinds of tools that the client runs, by what their names begin with. The provider charges their tokens only.
const RUN_BY_THE_CLIENT: [&str; 10] = [
    "function",
    "custom",
    "bash",
    "text_editor",
    "str_replace",
    "computer",
    "memory",
    "local_shell",
    "shell",
    "apply_patch",
];

/// Millionths of a dollar for one call, by what the names of the kinds begin with. The dearest of the published
/// prices where a kind has several; as of 2026-10.
const PER_CALL: [(&str, u64); 7] = [
    ("web_search", 25_000),
    ("web_fetch", 0),
    ("tool_search", 0),
    ("mcp", 0),
    ("file_search", 2_500),
    ("code_", 50_000),
    ("image_generation", 250_000),
];

/// What a call of an unknown kind is taken to cost.
const UNKNOWN: u64 = 50_000;

/// What one call of a tool costs, by the `type` of its definition; `None` for tools that the client runs.
#[must_use]
pub fn server_tool_price(kind: &str) -> Option<Cost> {
    let kind = kind.to_ascii_lowercase();
    if kind.is_empty() || RUN_BY_THE_CLIENT.iter().any(|prefix| kind.starts_with(prefix)) {
        return None;
    }
    let known = PER_CALL.iter().find(|(prefix, _)| kind.starts_with(prefix));
    Some(Cost::from_micros(known.map_or(UNKNOWN, |(_, price)| *price)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_that_a_provider_runs_cost_and_those_of_the_client_do_not() {
        for kind in ["", "function", "custom", "bash_20250124", "text_editor_20250728", "memory_20250818"] {
            assert_eq!(server_tool_price(kind), None, "{kind}");
        }
        assert_eq!(server_tool_price("web_search_20250305"), Some(Cost::from_micros(25_000)));
        assert_eq!(server_tool_price("Code_Interpreter"), Some(Cost::from_micros(50_000)));
        assert_eq!(server_tool_price("mcp_toolset"), Some(Cost::default()));
        assert_eq!(server_tool_price("teleport"), Some(Cost::from_micros(UNKNOWN)));
    }
}
