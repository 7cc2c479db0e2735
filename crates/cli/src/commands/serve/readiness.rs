//! Whether a flow can run in this build and with this project's settings, before anybody asks for it.

use std::collections::BTreeSet;

use stave_canon::Value;
use stave_exec::{Document, DocumentNode};
use stave_llm::Provider;
use stave_operations::{Receiver, operation, step_kind};
use stave_runtime::{Secrets, add_secret_names};
use stave_script::address::written_host;
use stave_script::allow_list::{
    AllowLists, http_host_refusal, model_host_refusal, plant_refusal, secret_refusal, tool_server_refusal,
    unlisted_secret,
};

use crate::project::Project;
use crate::services::Models;

/// The features of this build that some operations need.
const BUILT: &[&str] = if cfg!(feature = "opcua") { &["opcua"] } else { &[] };

/// What a document lacks here, in words; `None` when nothing is known to be missing.
pub(super) fn lacks(project: &Project, document: &Document, models: &Models) -> Option<String> {
    lacks_in(BUILT, project, document, models)
}

/// The same in a build with these features. A feature that nobody knows is in none.
fn lacks_in(built: &[&str], project: &Project, document: &Document, models: &Models) -> Option<String> {
    let (mut secrets, mut keys) = (BTreeSet::new(), BTreeSet::new());
    let mut reasons = Vec::new();
    let lists = project.settings.allow_lists();
    for node in &document.graph.nodes {
        let feature = step_kind(&node.kind).and_then(|kind| kind.feature);
        if let Some(feature) = feature.filter(|feature| !built.contains(&feature.name)) {
            reasons.push(format!("this build has no {}, which `{}` needs", feature.title, node.id));
        }
        node.with.values().for_each(|value| add_secret_names(value, &mut secrets));
        reasons.extend(refused_secrets(&lists, node));
        reasons.extend(refused_host(&lists, node, models));
        reasons.extend(refused_receivers(&lists, node));
        // A model at an endpoint that the flow names may take requests without a key, and a recording takes all.
        let model = node.with.get("model").filter(|model| model.get("endpoint").is_none_or(Value::is_null));
        let word = model.and_then(|model| model.get("provider")?.as_str());
        let provider = word.and_then(Provider::from_word);
        match (models, provider) {
            (Models::Live, Some(provider)) if provider.endpoint().is_none() => {
                reasons.push(format!("the model of `{}` has no endpoint", node.id));
            }
            (Models::Live, Some(provider)) if provider.needs_key() => {
                keys.insert(Secrets::provider_key_name(provider.word()));
            }
            _ => {}
        }
    }
    let listed = &project.settings.secrets.listed;
    reasons.extend(
        secrets.iter().filter_map(|name| unlisted_secret(listed, name, None)).map(|found| found.to_string()),
    );
    secrets.retain(|name| listed.contains_key(name));
    let missing = secrets.into_iter().chain(keys).filter(|name| project.secret(name).is_none());
    reasons.extend(missing.map(|name| format!("the secret `{name}` is not set")));
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// Why a host that a step names in its text does not receive the secrets of the step. A secret that the project does not
/// list at all has a reason of its own.
fn refused_secrets(lists: &AllowLists, node: &DocumentNode) -> Vec<String> {
    let endpoint = node.with.get("model").and_then(|model| model.get("endpoint"));
    // The arguments of a request all go to its host. The text of an endpoint goes to the model's.
    let request = node.with.get("url").map(|url| (url, node.with.values().collect::<Vec<_>>()));
    let model = endpoint.map(|endpoint| (endpoint, vec![endpoint]));
    let mut reasons = Vec::new();
    for (address, sent) in request.into_iter().chain(model) {
        let Some(host) = address.as_str().and_then(written_host) else { continue };
        let mut names = BTreeSet::new();
        sent.into_iter().for_each(|value| add_secret_names(value, &mut names));
        let listed = names.iter().filter(|name| lists.secrets.contains_key(*name));
        let refusals = listed.filter_map(|name| secret_refusal(&lists.secrets, name, Some(&host)));
        reasons.extend(refusals.map(|found| format!("`{}`: {}", node.id, found.message)));
    }
    reasons
}

/// Why the host that a step names in its text is not called. A host that only the run knows is left to the run.
fn refused_host(lists: &AllowLists, node: &DocumentNode, models: &Models) -> Option<String> {
    let called = node.with.get("url").and_then(Value::as_str).and_then(written_host);
    let request =
        called.zip(lists.http_hosts.as_ref()).and_then(|(host, listed)| http_host_refusal(listed, &host));
    // A recording answers for every endpoint.
    let model = node.with.get("model").filter(|_| matches!(models, Models::Live));
    let asked = model.and_then(|model| model.get("endpoint")?.as_str()).and_then(written_host);
    let provider = model.and_then(|model| model.get("provider")?.as_str()).unwrap_or_default();
    let own = lists.provider_hosts.get(provider).map(String::as_str);
    let endpoint = asked.and_then(|host| model_host_refusal(&lists.model_hosts, own, &host));
    request.or(endpoint).map(|found| format!("`{}`: {}", node.id, found.message))
}

/// Why plants and tool servers that a step names in its text do not answer it.
fn refused_receivers(lists: &AllowLists, node: &DocumentNode) -> Vec<String> {
    let written = |name: &str| {
        let text = node.with.get(name).and_then(Value::as_str);
        text.filter(|text| !text.contains("${"))
    };
    let receiver = operation(&node.kind).map(|operation| operation.receiver);
    let refusal = match receiver {
        Some(Receiver::Host { address }) if address != "url" => {
            written(address).and_then(|endpoint| plant_refusal(&lists.plants, endpoint))
        }
        Some(Receiver::Tool { server, .. }) => {
            written(server).and_then(|server| tool_server_refusal(&lists.tool_servers, server))
        }
        _ => None,
    };
    let tools = node.with.get("tools").and_then(Value::as_array).unwrap_or_default();
    let servers = tools.iter().filter_map(|tool| tool.get("mcp")?.as_str());
    let of_tools = servers.filter_map(|server| tool_server_refusal(&lists.tool_servers, server));
    refusal.into_iter().chain(of_tools).map(|found| format!("`{}`: {}", node.id, found.message)).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use stave_diag::{SourceId, Sources};
    use stave_exec::{Acceptance, check_text};

    use super::*;

    const READS_A_PLANT: &str = r#"{"version": "1.0.0", "flow": {"name": "plant", "timeout_ms": 0},
        "constants": {"policyRef": "none", "policy": {}}, "inputs_schema": {},
        "graph": {"nodes": [{"id": "read", "type": "opcua.read", "with": {}, "timeout_ms": 0,
            "retry": {"max": 0, "backoff_ms": 0}, "inputs": [], "outputs": []}], "edges": []},
        "metadata": {"generated_at": "2026-01-01T00:00:00Z", "source_file": "plant.yaml"}}"#;

    #[test]
    fn a_flow_that_needs_what_this_build_lacks_is_not_ready() {
        let document = check_text(SourceId(0), READS_A_PLANT, Acceptance::Additive).unwrap();
        let folder = Path::new("no-such-folder");
        let project = Project::at(folder, &mut Sources::new(), &mut Vec::new()).unwrap();
        let lacks = |built: &[&str]| lacks_in(built, &project, &document, &Models::Live);
        let reason = lacks(&[]).unwrap();
        assert!(
            reason.starts_with("this build has no ") && reason.ends_with("which `read` needs"),
            "{reason}"
        );
        assert_eq!(lacks(&["opcua"]), None);
        assert_eq!(lacks_in(BUILT, &project, &document, &Models::Live).is_some(), !cfg!(feature = "opcua"));
    }
}
