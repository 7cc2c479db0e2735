//! What probes ask.

use hyper::StatusCode;

use crate::access::Principal;
use crate::api::{Live, Readiness, ServerMetadata};
use crate::message::{Reply, typed};
use crate::server::Shared;

pub(super) fn live() -> Reply {
    typed(StatusCode::OK, &Live { live: true })
}

pub(super) fn ready(shared: &Shared) -> Reply {
    let reasons = shared.unready();
    let is_ready = reasons.is_empty();
    // Probes know no key, so the reply has the number of files and not their names.
    let unserved = shared.catalog().unserved(&Principal::anyone()).count();
    let readiness = Readiness {
        ready: is_ready,
        quarantined_runs: shared.quarantined() as u64,
        reasons: (!is_ready).then_some(reasons),
        not_served: (unserved > 0).then_some(unserved as u64),
    };
    typed(if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, &readiness)
}

pub(super) fn server(shared: &Shared) -> Reply {
    let metadata = ServerMetadata {
        name: "stave".to_owned(),
        version: shared.options.version.to_owned(),
        extensions: Vec::new(),
    };
    typed(StatusCode::OK, &metadata)
}
