//! What probes ask.

use hyper::StatusCode;
use stave_canon::Value;

use crate::access::Principal;
use crate::message::{Reply, json};
use crate::route::Route;
use crate::server::Shared;

pub(super) fn answer(shared: &Shared, route: &Route) -> Reply {
    match route {
        Route::Ready => {
            let is_ready = !shared.is_draining();
            let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            let mut members = vec![("ready", Value::from(is_ready))];
            // Probes know no key, so they are told how many and not which.
            let unserved = shared.catalog().unserved(&Principal::anyone()).count();
            if unserved > 0 {
                members.push(("not_served", unserved.into()));
            }
            json(status, &Value::from_iter(members))
        }
        Route::Server => json(
            StatusCode::OK,
            &Value::from_iter([
                ("name", Value::from("stave")),
                ("version", shared.options.version.into()),
                ("extensions", Value::Array(Vec::new())),
            ]),
        ),
        _ => json(StatusCode::OK, &Value::from_iter([("live", true)])),
    }
}
