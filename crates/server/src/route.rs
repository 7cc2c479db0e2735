//! Which path means what.

use hyper::Method;

use crate::decoded_path::segments;
use crate::studio::{self, StudioRoute};

/// What a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    Live,
    Ready,
    Server,
    V1Models,
    V1Model(String),
    Predict(String),
    V2Models,
    V2Model(String),
    V2ModelReady(String),
    Infer(String),
    Runs,
    Run(String),
    /// What a run asks people.
    Questions(String),
    Events(String),
    Cancel(String),
    Resume(String),
    Decide(String, String),
    Replay(String),
    OpenApi,
    Metrics,
    /// Messages of the Model Context Protocol.
    Mcp,
    /// The page at the root.
    Page,
    /// A file of the page, by its path.
    Asset(String),
    Studio(StudioRoute),
}

impl Route {
    /// The route of a path; `None` when there is nothing there.
    pub(crate) fn of(path: &str) -> Option<Route> {
        let segments = segments(path)?;
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let owned = |text: &str| text.to_owned();
        Some(match segments.as_slice() {
            ["v1", "models"] => Route::V1Models,
            ["v1", "models", name] => match name.rsplit_once(':') {
                Some((name, "predict")) => Route::Predict(owned(name)),
                _ => Route::V1Model(owned(name)),
            },
            ["v2"] => Route::Server,
            [""] => Route::Page,
            ["v2", "health", "live"] => Route::Live,
            ["v2", "health", "ready"] => Route::Ready,
            ["v2", "models"] => Route::V2Models,
            ["v2", "models", name] | ["v2", "models", name, "versions", _] => Route::V2Model(owned(name)),
            ["v2", "models", name, "ready"] | ["v2", "models", name, "versions", _, "ready"] => {
                Route::V2ModelReady(owned(name))
            }
            ["v2", "models", name, "infer"] | ["v2", "models", name, "versions", _, "infer"] => {
                Route::Infer(owned(name))
            }
            ["runs"] => Route::Runs,
            ["runs", run] => Route::Run(owned(run)),
            ["runs", run, "questions"] => Route::Questions(owned(run)),
            ["runs", run, "events"] => Route::Events(owned(run)),
            ["runs", run, "cancel"] => Route::Cancel(owned(run)),
            ["runs", run, "resume"] => Route::Resume(owned(run)),
            ["runs", run, "nodes", node, "decision"] => Route::Decide(owned(run), owned(node)),
            ["runs", run, "replay"] => Route::Replay(owned(run)),
            ["openapi.json"] => Route::OpenApi,
            ["metrics"] => Route::Metrics,
            ["mcp"] => Route::Mcp,
            ["studio", rest @ ..] => Route::Studio(StudioRoute::of(rest)?),
            _ => {
                studio::find(path)?;
                Route::Asset(owned(path))
            }
        })
    }

    /// The methods that it takes, as `Allow` lists them.
    pub(crate) fn allow(&self) -> &'static str {
        match self {
            Route::Predict(_)
            | Route::Infer(_)
            | Route::Cancel(_)
            | Route::Resume(_)
            | Route::Replay(_)
            | Route::Mcp
            | Route::Decide(..) => "POST",
            Route::Studio(route) => route.allow(),
            Route::Runs => "GET, HEAD, POST",
            _ => "GET, HEAD",
        }
    }

    pub(crate) fn takes(&self, method: &Method) -> bool {
        self.allow().split(", ").any(|allowed| allowed == method.as_str())
    }

    /// The path as metrics and the OpenAPI document name it.
    pub(crate) fn template(&self) -> &'static str {
        match self {
            Route::Live => "/v2/health/live",
            Route::Ready => "/v2/health/ready",
            Route::Server => "/v2",
            Route::V1Models => "/v1/models",
            Route::V1Model(_) => "/v1/models/{name}",
            Route::Predict(_) => "/v1/models/{name}:predict",
            Route::V2Models => "/v2/models",
            Route::V2Model(_) => "/v2/models/{name}",
            Route::V2ModelReady(_) => "/v2/models/{name}/ready",
            Route::Infer(_) => "/v2/models/{name}/infer",
            Route::Runs => "/runs",
            Route::Run(_) => "/runs/{run}",
            Route::Questions(_) => "/runs/{run}/questions",
            Route::Events(_) => "/runs/{run}/events",
            Route::Cancel(_) => "/runs/{run}/cancel",
            Route::Resume(_) => "/runs/{run}/resume",
            Route::Decide(..) => "/runs/{run}/nodes/{node}/decision",
            Route::Replay(_) => "/runs/{run}/replay",
            Route::OpenApi => "/openapi.json",
            Route::Metrics => "/metrics",
            Route::Mcp => "/mcp",
            Route::Page => "/",
            Route::Asset(_) => "/assets/{file}",
            Route::Studio(route) => route.template(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_both_protocols_are_found() {
        assert_eq!(Route::of("/v1/models/a:predict"), Some(Route::Predict("a".into())));
        assert_eq!(Route::of("/v1/models/a%20b"), Some(Route::V1Model("a b".into())));
        assert_eq!(Route::of("/v1/models/a:explain"), Some(Route::V1Model("a:explain".into())));
        assert_eq!(Route::of("/v2/models/a/versions/1/infer"), Some(Route::Infer("a".into())));
        assert_eq!(Route::of("/runs/r/nodes/n/decision"), Some(Route::Decide("r".into(), "n".into())));
        assert_eq!(Route::of("/"), Some(Route::Page));
        assert_eq!(Route::of("/studio/file"), Some(Route::Studio(StudioRoute::File)));
        for nothing in ["/v3", "/v1", "/runs/r/x", "/v1/models/a/b/c", "/studio", "/studio/x", "/assets/../x"]
        {
            assert_eq!(Route::of(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn a_route_takes_its_methods_only() {
        assert!(Route::Runs.takes(&Method::POST) && Route::Runs.takes(&Method::GET));
        assert!(!Route::Metrics.takes(&Method::POST) && !Route::Infer(String::new()).takes(&Method::GET));
    }
}
