//! What probes ask.

use hyper::StatusCode;
use stave_canon::Value;

use crate::message::{Reply, json};
use crate::route::Route;
use crate::server::Shared;

pub(super) fn answer(shared: &Shared, route: &Route) -> Reply {
    match route {
        Route::Ready => {
            let is_ready = !shared.is_draining();
            let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            json(status, &Value::from_iter([("ready", is_ready)]))
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
