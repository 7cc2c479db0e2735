//! Deployment settings make sense together.

use stave_diag::codes::flow as codes;
use stave_diag::{Diagnostic, Severity, Span, did_you_mean};

use super::subject::Subject;
use super::{SharedStores, features_on_own_disk, memory_across_replicas};
use crate::model::{BUILT_IN_CONTEXT, DeploymentTarget, Flow, Kserve, Text};

/// The longest name that DNS allows for one label.
const LONGEST_LABEL: usize = 63;

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let Some(deployment) = subject.flow.deployment.as_ref() else { return };
    for (name, source) in deployment.context.iter().flat_map(|context| &context.fields) {
        diagnostics.extend(misspelt_field(subject, name, source.span));
    }
    if let Some(kserve) = &deployment.kserve {
        replicas(kserve, diagnostics);
    }
    if deployment.target.map(|target| target.value) == Some(DeploymentTarget::Kserve) {
        let service_name = deployment.kserve.as_ref().and_then(|kserve| kserve.service_name.as_ref());
        let Some(name) = service_name.or(subject.flow.metadata.name.as_ref()) else { return };
        let legal = service_label(name.as_str());
        if legal != name.as_str() {
            let message =
                format!("`{}` is not a legal service name; the service is called `{legal}`", name.as_str());
            diagnostics.push(
                Diagnostic::new(codes::RENAMED_SERVICE, name.span, message)
                    .help(format!("write `service_name: {legal}` under `deployment.kserve`")),
            );
        }
    }
}

/// What must not be deployed though it can be run: findings of the check as errors.
#[must_use]
pub fn deployment_faults(flow: &Flow, stores: SharedStores) -> Vec<Diagnostic> {
    let memory = memory_across_replicas::findings(flow, stores);
    let found = memory.chain(features_on_own_disk::findings(flow, stores));
    found.map(|found| found.severity(Severity::Error)).collect()
}

/// A field that the deployment fills and that is almost one that the flow declares: the declared one would stay empty.
fn misspelt_field(subject: &Subject<'_>, name: &str, span: Span) -> Option<Diagnostic> {
    let declared = || subject.flow.context.fields().map(Text::as_str);
    if BUILT_IN_CONTEXT.contains(&name) || declared().any(|field| field == name) {
        return None;
    }
    let near = did_you_mean(name, declared())?;
    let message = format!("`context` of `deployment` fills `{name}`, which the flow does not declare");
    Some(
        Diagnostic::new(codes::UNKNOWN_FIELD, span, message)
            .help(format!("did you mean `{near}`? Otherwise declare `{name}` in `context.optional`")),
    )
}

fn replicas(kserve: &Kserve, diagnostics: &mut Vec<Diagnostic>) {
    if let (Some(least), Some(most)) = (&kserve.min_replicas, &kserve.max_replicas)
        && least.value > most.value
    {
        let message =
            format!("`min_replicas` is {}, above `max_replicas`, which is {}", least.value, most.value);
        diagnostics.push(
            Diagnostic::new(codes::REPLICAS_REVERSED, least.span, message)
                .label(most.span, "the greatest number")
                .help("swap the two, or raise `max_replicas`"),
        );
    }
    if let Some(rate) = kserve.target_rps.as_ref().filter(|rate| rate.as_f64() <= 0.0) {
        let message = "`target_rps` of `kserve` must be above 0";
        diagnostics.push(Diagnostic::new(codes::OUT_OF_RANGE, rate.span, message));
    }
}

/// A name as one DNS label of a service: small letters, digits and hyphens, beginning with a letter and ending with a
/// letter or digit.
#[must_use]
pub fn service_label(name: &str) -> String {
    // A name that begins with a digit is legal for a namespace and not for a service.
    let begins = name.trim_start_matches(|next: char| !next.is_ascii_alphanumeric());
    let prefix = if begins.starts_with(|first: char| first.is_ascii_digit()) { "flow-" } else { "" };
    let mapped: String = prefix
        .chars()
        .chain(name.chars())
        .map(|next| if next.is_ascii_alphanumeric() { next.to_ascii_lowercase() } else { '-' })
        .take(LONGEST_LABEL)
        .collect();
    let label = mapped.trim_matches('-');
    if label.is_empty() { "flow".to_owned() } else { label.to_owned() }
}
