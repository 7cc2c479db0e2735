//! Sessions are remembered where every copy of a service can find them.

use stave_diag::Diagnostic;
use stave_diag::codes::flow as codes;

use super::SharedStores;
use super::subject::Subject;
use crate::model::{Backend, DeploymentTarget, Flow, NodeStateScope};

pub(super) fn check(subject: &Subject<'_>, diagnostics: &mut Vec<Diagnostic>) {
    diagnostics.extend(findings(subject.flow, subject.options.stores));
}

pub(super) fn findings(flow: &Flow, stores: SharedStores) -> impl Iterator<Item = Diagnostic> {
    let deployment = flow.deployment.as_ref();
    let on_kserve = deployment.and_then(|deployment| deployment.target).map(|target| target.value);
    let kserve = deployment.and_then(|deployment| deployment.kserve.as_ref());
    let counts = kserve.into_iter().flat_map(|kserve| [kserve.max_replicas, kserve.min_replicas]);
    let copies = counts.flatten().find(|count| count.value > 1);
    let copies = copies.filter(|_| on_kserve == Some(DeploymentTarget::Kserve));
    flow.nodes.values().filter_map(move |node| {
        let (copies, state) = (copies?, node.state.as_ref()?);
        let in_session = state.scope.map(|scope| scope.value) == Some(NodeStateScope::Session);
        if !in_session || state.backend() != Backend::Memory || stores.state {
            return None;
        }
        let span = state.backend.map_or(state.key_span, |backend| backend.span);
        let message = format!(
            "node `{}` keeps sessions in memory, and up to {} copies of the service would each have their own",
            node.id.value, copies.value
        );
        let diagnostic = Diagnostic::new(codes::MEMORY_ACROSS_REPLICAS, span, message);
        Some(diagnostic.label(copies.span, "the copies").help("write `backend: redis`, or deploy one copy"))
    })
}
