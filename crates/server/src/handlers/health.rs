//! What probes ask.

use hyper::StatusCode;
use stave_canon::{Object, Value};

use crate::access::Principal;
use crate::message::{Reply, json};
use crate::route::Route;
use crate::server::Shared;

pub(super) fn answer(shared: &Shared, route: &Route) -> Reply {
    match route {
        Route::Ready => {
            let reasons = shared.unready();
            let is_ready = reasons.is_empty();
            let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            let mut members = Object::new();
            members.insert("ready".to_owned(), is_ready.into());
            members.insert("quarantined_runs".to_owned(), shared.quarantined().into());
            if !is_ready {
                members.insert("reasons".to_owned(), reasons.into());
            }
            // Probes know no key, so the reply has the number of files and not their names.
            let unserved = shared.catalog().unserved(&Principal::anyone()).count();
            if unserved > 0 {
                members.insert("not_served".to_owned(), unserved.into());
            }
            json(status, &members.into())
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
