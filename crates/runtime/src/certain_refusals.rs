//! What every run of a document is refused for, found before its first step: secrets that the project does not list or
//! does not send to the host of a step, hosts that it does not allow, and fixed parts of prompts that governance denies.
//!
//! Invariant: the checker reports the same as errors. Where only a run knows the host, the step itself refuses it.

use std::collections::BTreeSet;

use stave_canon::Value;
use stave_diag::codes::project::UNLISTED_SECRET;
use stave_diag::codes::run::{HOST_NOT_ALLOWED, PROMPT_REFUSED};
use stave_engine::{Failure, FailureKind, RunFailure};
use stave_exec::{Document, DocumentNode};
use stave_llm::Provider;
use stave_operations::{LLM_CHAT, operation};
use stave_prompt::governance::{AskedModel, FixedParts, PolicySet, Violation};
use stave_script::address::{HostPort, written_host};
use stave_vocabulary::OnDenied;
use url::Url;

use crate::NodeReport;
use crate::evidence::{AskedPrompt, PolicyHit, PromptVerdict};
use crate::interpolate::add_secret_names;
use crate::services::Services;

/// Why no run of a document begins.
#[derive(Debug)]
pub(crate) struct CertainRefusal {
    pub(crate) failed: RunFailure,
    /// What governance says about the prompt of the node, when that is why.
    pub(crate) violations: Vec<Violation>,
}

/// Why no run of a document begins. Nodes that have a result already need nothing any more.
pub(crate) fn certain_refusal(
    document: &Document,
    services: &Services,
    governance: &PolicySet,
    is_done: impl Fn(&str) -> bool,
) -> Option<CertainRefusal> {
    let mut nodes = document.graph.nodes.iter().filter(|node| !is_done(&node.id));
    nodes.find_map(|node| {
        let of_settings = of_request(node, services).or_else(|| of_model(node, services));
        let of_settings = of_settings.map(|failure| (failure, Vec::new()));
        let (failure, violations) = of_settings.or_else(|| of_prompt(node, governance))?;
        let failed = RunFailure { failure, node: Some(node.id.clone()), attempts: 0 };
        Some(CertainRefusal { failed, violations })
    })
}

impl CertainRefusal {
    /// Counts and keeps the prompt that governance denies, like one that a step was denied.
    pub(crate) fn keep(&self, document: &Document, services: &Services, reports: &mut [NodeReport]) {
        let node = document.graph.nodes.iter().find(|node| self.failed.node.as_deref() == Some(&node.id));
        let report = node.and_then(|node| reports.iter_mut().find(|report| report.id == node.id));
        let (Some(node), Some(report), false) = (node, report, self.violations.is_empty()) else { return };
        report.prompts.requests += 1;
        report.prompts.denied += 1;
        self.violations.iter().for_each(|violation| report.prompts.violation(violation));
        if services.limits.kept_prompt_bytes == 0 || !services.journal.is_durable() {
            return;
        }
        let model = |key: &str| {
            let word = node.with.get("model").and_then(|model| model.get(key)).and_then(Value::as_str);
            word.unwrap_or_default().to_owned()
        };
        report.questions.push(AskedPrompt {
            path: node.id.clone(),
            provider: model("provider"),
            model: model("name"),
            asked_at: Some(services.clock.now().to_string()),
            prompt_ir: None,
            tokens: None,
            budget: None,
            verdict: PromptVerdict {
                approved: false,
                stage: Some("governance".to_owned()),
                violations: self.violations.iter().map(PolicyHit::from).collect(),
            },
            transformations: Vec::new(),
            cuts: Vec::new(),
            gate: Vec::new(),
            blocks: Vec::new(),
            block_ir: None,
            later_requests: Vec::new(),
            unkept_requests: 0,
            turns: Vec::new(),
        });
    }
}

/// The arguments of an operation all go to its host.
fn of_request(node: &DocumentNode, services: &Services) -> Option<Failure> {
    // Only requests take secrets; elsewhere a secret is misplaced, whether it is listed or not.
    let address = operation(&node.kind).and(node.with.get("url")?.as_str())?;
    let host = written_host(address);
    if let Some(failure) = of_secrets(node.with.values(), host.as_ref(), services) {
        return Some(failure);
    }
    let url = host.and_then(|_| Url::parse(address).ok())?;
    services.http.refusal(&url).map(|reason| refused(HOST_NOT_ALLOWED, reason))
}

/// The text of an endpoint goes to the host of the model.
fn of_model(node: &DocumentNode, services: &Services) -> Option<Failure> {
    let model = node.with.get("model")?;
    let endpoint = model.get("endpoint").filter(|endpoint| endpoint.as_str().is_some())?;
    let host = endpoint.as_str().and_then(written_host);
    let word = model.get("provider").and_then(Value::as_str);
    let provider = word.and_then(Provider::from_word);
    if let (Some(provider), Some(text), true) = (provider, endpoint.as_str(), host.is_some())
        && let Some(reason) = services.model_hosts.refusal(provider, text)
    {
        return Some(refused(HOST_NOT_ALLOWED, reason.to_string()));
    }
    of_secrets(std::iter::once(endpoint), host.as_ref(), services)
}

/// A denial that the node takes itself refuses no run.
fn of_prompt(node: &DocumentNode, governance: &PolicySet) -> Option<(Failure, Vec<Violation>)> {
    let takes_denials = node.with.get("on_denied").and_then(Value::as_str);
    if node.kind != LLM_CHAT.name || takes_denials.is_some_and(|word| word != OnDenied::Fail.word()) {
        return None;
    }
    let texts = |key: &str| -> Vec<&str> {
        let items = node.with.get(key).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str).filter(|text| FixedParts::is_fixed(text)).collect()
    };
    let model = node.with.get("model");
    let word = |key: &str| model.and_then(|model| model.get(key)).and_then(Value::as_str);
    let name = word("name").filter(|name| FixedParts::is_fixed(name));
    let models = word("provider").map(|provider| AskedModel { provider, name });
    let parts = FixedParts {
        constraints: texts("constraints"),
        context_refs: texts("context_refs"),
        models: models.into_iter().filter(|model| model.name.is_some()).collect(),
    };
    let denied = governance.always_denied(&parts);
    let sentences: Vec<String> = denied.iter().map(|(_, violation)| violation.to_string()).collect();
    (!sentences.is_empty()).then(|| {
        let message = format!("governance denies the prompt in every run: {}", sentences.join("; "));
        let failure = Failure::new(PROMPT_REFUSED, FailureKind::Refused, message).details(sentences);
        (failure, denied.into_iter().map(|(_, violation)| violation).collect())
    })
}

fn of_secrets<'v>(
    values: impl Iterator<Item = &'v Value>,
    host: Option<&HostPort>,
    services: &Services,
) -> Option<Failure> {
    let mut names = BTreeSet::new();
    values.for_each(|value| add_secret_names(value, &mut names));
    let reason = names.iter().find_map(|name| match host {
        Some(host) => services.secrets.refusal(name, Some(host)),
        None => services.secrets.unlisted(name),
    });
    reason.map(|reason| refused(UNLISTED_SECRET, reason.to_string()))
}

fn refused(code: stave_diag::Code, reason: String) -> Failure {
    Failure::new(code, FailureKind::Refused, reason)
}
