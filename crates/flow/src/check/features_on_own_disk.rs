//! Features are written where every copy of a service finds them, and where they outlive the copy.

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;
use stave_operations::HOPSWORKS_WRITE_FEATURES;

use super::SharedStores;
use super::subject::Subject;
use crate::model::{DeploymentTarget, Flow, Transform};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.extend(findings(subject.flow, subject.options.stores));
}

pub(super) fn findings(flow: &Flow, stores: SharedStores) -> impl Iterator<Item = Diagnostic> {
    let target = flow.deployment.as_ref().and_then(|deployment| deployment.target);
    let target = target.filter(|target| target.value != DeploymentTarget::Local && !stores.features);
    flow.nodes.values().filter_map(move |node| {
        let target = target?;
        let operation = node.transform.as_ref().and_then(Transform::operation)?;
        let op = operation.op.as_ref().filter(|op| op.as_str() == HOPSWORKS_WRITE_FEATURES.name)?;
        let message = format!(
            "node `{}` writes features to the disk of one copy of the service, which are lost when the copy ends",
            node.id.value
        );
        let diagnostic = Diagnostic::new(codes::FEATURES_ON_OWN_DISK, op.span, message);
        let help = "name a server in stave.toml: `[hopsworks]` with `url = \"${secrets.HOPSWORKS_URL}\"`";
        Some(diagnostic.label(target.span, "the service's copies come and go").help(help))
    })
}
