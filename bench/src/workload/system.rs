//! System documents of any size: workflow nodes in a chain of a hundred, each with a contract, effects and
//! provenance, and an integration for every tenth of them.

use std::fmt::Write as _;

/// The file text of a document with so many nodes, in canonical form.
pub(crate) fn document(nodes: usize) -> String {
    let mut text = String::from("{\n  \"format_version\": \"2.0\",\n  \"nodes\": [");
    for index in 0..nodes {
        let separator = if index == 0 { "" } else { "," };
        let depends_on = if index % 100 == 0 { String::new() } else { format!("\"irn_{:012}\"", index - 1) };
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "{separator}\n    {{\"contract\": {{\"contract_category\": \"runtime\", \"contract_id\": \"opc_rt_{index:024}\", \
             \"io_contract\": {{\"input_keys\": [\"objective\", \"step_inputs\"], \"output_keys\": [\"step_status\"]}}, \
             \"runtime_budget\": {{\"max_seconds\": 60, \"max_tokens\": 4000}}, \
             \"triggers\": [{{\"details\": {{\"event_type\": \"runtime.action.dispatch\"}}, \"source\": \"scheduler\", \"trigger_id\": \"t_dispatch\"}}]}}, \
             \"depends_on\": [{depends_on}], \
             \"effects\": {{\"fs_read\": [], \"fs_write\": [\"src/part_{index}.rs\"], \"network\": true, \"secrets\": [\"API_KEY\"], \"tools\": [\"llm.complete\"]}}, \
             \"id\": \"irn_{index:012}\", \"kind\": \"workflow\", \"name\": \"Step {index}\", \
             \"properties\": {{\"order_idx\": {index}, \"plan_id\": \"plan-1\", \"status\": \"pending\", \"step_id\": \"s{index}\"}}, \
             \"provenance\": [{{\"kind\": \"file\", \"locator\": \"L{index}-L{}\", \"sha256\": \"{index:064x}\", \"source_id\": \"flows/plan.yaml\", \"tenant_id\": \"acme\"}}], \
             \"tenant_id\": \"acme\"}}",
            index + 9,
        );
    }
    text.push_str(
        "\n  ],\n  \"repo_id\": \"support\",\n  \"schema_kind\": \"akc_ir\",\n  \"schema_version\": 2,\n  \"tenant_id\": \"acme\"\n}",
    );
    text
}
