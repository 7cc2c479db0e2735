//! What the gateway answers by itself: its health, its metrics and its models.

use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderValue};
use stave_block::Surface;
use stave_canon::{Object, Value};

use super::admin;
use super::exchange::presented;
use super::gateway::Core;
use super::interface::{Fault, Route, json, whole};
use super::reply::Reply;
use crate::keys::VirtualKey;

pub(crate) fn answer(core: &Core, route: &Route, headers: &HeaderMap) -> Reply {
    match route {
        Route::Live => {
            let page = [("live", Value::from(true)), ("version", core.version.into())];
            json(StatusCode::OK, &Value::from_iter(page))
        }
        Route::Ready => {
            let is_ready = !core.is_draining() && core.sink.has_room();
            let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            json(status, &Value::from_iter([("ready", is_ready)]))
        }
        Route::Metrics => {
            if let Err(fault) = admin::admitted(core, headers) {
                return admin::refused(fault);
            }
            let text = core.metrics.text(core);
            whole(StatusCode::OK, HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8"), text)
        }
        Route::Models | Route::Model(_) | Route::Stats | Route::Ask(_) => models(core, route, headers),
    }
}

/// The models that a client can name, in the form that its library reads.
fn models(core: &Core, route: &Route, headers: &HeaderMap) -> Reply {
    let surface = route.surface(headers);
    let key = match presented(core, headers) {
        Ok(key) => key,
        Err(fault) => return fault.into_reply(surface),
    };
    let may_see = |model: &str| key.as_deref().is_none_or(|key: &VirtualKey| key.allows(model));
    let setup = core.setup();
    let names: Vec<&str> = setup.models().into_iter().filter(|model| may_see(model)).collect();
    if let Route::Model(name) = route {
        return match names.iter().find(|known| *known == name) {
            Some(name) => json(StatusCode::OK, &model(surface, name)),
            None => {
                let message = format!("there is no model `{name}`");
                Fault::new(StatusCode::NOT_FOUND, "model_not_found", message).into_reply(surface)
            }
        };
    }
    let data: Vec<Value> = names.iter().map(|name| model(surface, name)).collect();
    let mut page = Object::new();
    if surface == Surface::AnthropicMessages {
        let id = |name: Option<&&str>| name.map_or(Value::Null, |name| Value::from(*name));
        page.insert("data".into(), data.into());
        page.insert("has_more".into(), false.into());
        page.insert("first_id".into(), id(names.first()));
        page.insert("last_id".into(), id(names.last()));
    } else {
        page.insert("object".into(), "list".into());
        page.insert("data".into(), data.into());
    }
    json(StatusCode::OK, &page.into())
}

fn model(surface: Surface, name: &str) -> Value {
    if surface == Surface::AnthropicMessages {
        Value::from_iter([
            ("type", "model"),
            ("id", name),
            ("display_name", name),
            ("created_at", "1970-01-01T00:00:00Z"),
        ])
    } else {
        Value::from_iter([
            ("id", Value::from(name)),
            ("object", "model".into()),
            ("created", 0_u64.into()),
            ("owned_by", "stave".into()),
        ])
    }
}
