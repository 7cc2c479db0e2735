//! Which path means what: the templates of the operations, matched against the segments of a path.

use hyper::Method;

use crate::api::{Endpoint, Operation, TABLE};
use crate::decoded_path::segments;
use crate::studio;

/// A path that exists, with the values of its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    template: &'static str,
    arguments: Vec<String>,
}

impl Route {
    /// The route of a path; `None` when there is nothing there.
    pub(crate) fn of(path: &str) -> Option<Route> {
        let segments = segments(path)?;
        let found = TABLE.iter().filter(|operation| operation.endpoint != Endpoint::Asset).find_map(|one| {
            let arguments = matched(one.path, &segments)
                .or_else(|| one.alias.and_then(|alias| matched(alias, &segments)))?;
            Some(Route { template: one.path, arguments })
        });
        found.or_else(|| {
            // The files of the page lie at paths of their own.
            studio::find(path)?;
            let asset = TABLE.iter().find(|operation| operation.endpoint == Endpoint::Asset)?;
            Some(Route { template: asset.path, arguments: vec![path.to_owned()] })
        })
    }

    /// The operations of the path, one for each method that it takes.
    fn operations(&self) -> impl Iterator<Item = &'static Operation> {
        let template = self.template;
        TABLE.iter().filter(move |operation| operation.path == template)
    }

    pub(crate) fn operation(&self, method: &Method) -> Option<&'static Operation> {
        self.operations().find(|operation| operation.is_for(method))
    }

    /// The methods that it takes, as `Allow` lists them.
    pub(crate) fn allow(&self) -> String {
        let methods = self.operations().map(|operation| match operation.method {
            "GET" => "GET, HEAD",
            method => method,
        });
        methods.collect::<Vec<_>>().join(", ")
    }

    /// The path as metrics and the OpenAPI document name it.
    pub(crate) fn template(&self) -> &'static str {
        self.template
    }

    /// The values of the template's parameters, in order.
    pub(crate) fn argument(&self, index: usize) -> &str {
        self.arguments.get(index).map(String::as_str).unwrap_or_default()
    }
}

/// The values of a template's parameters when the segments match it. A segment is a text, a name in braces, or a name
/// in braces and a text after it.
fn matched(template: &str, segments: &[String]) -> Option<Vec<String>> {
    let mut arguments = Vec::new();
    let mut rest = segments.iter();
    for wanted in template.trim_start_matches('/').split('/') {
        let segment = rest.next()?;
        match wanted.strip_prefix('{').and_then(|named| named.split_once('}')) {
            Some((_, suffix)) => arguments.push(segment.strip_suffix(suffix)?.to_owned()),
            None if wanted == segment => {}
            None => return None,
        }
    }
    rest.next().is_none().then_some(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str) -> Option<(&'static str, Vec<String>)> {
        Route::of(path).map(|route| (route.template, route.arguments))
    }

    #[test]
    fn paths_of_both_protocols_are_found() {
        for (path, template, arguments) in [
            ("/v1/models/a:predict", "/v1/models/{name}:predict", vec!["a"]),
            ("/v1/models/a:b:predict", "/v1/models/{name}:predict", vec!["a:b"]),
            ("/v1/models/a%20b", "/v1/models/{name}", vec!["a b"]),
            ("/v1/models/a:explain", "/v1/models/{name}", vec!["a:explain"]),
            ("/v2/models/a/versions/1/infer", "/v2/models/{name}/infer", vec!["a", "1"]),
            ("/v2/models/a/versions/1", "/v2/models/{name}", vec!["a", "1"]),
            ("/v2/models/ready", "/v2/models/{name}", vec!["ready"]),
            ("/runs/r/nodes/n/decision", "/runs/{run}/nodes/{node}/decision", vec!["r", "n"]),
            ("/runs/a%2Fb", "/runs/{run}", vec!["a/b"]),
            ("/", "/", vec![]),
            ("/studio/file", "/studio/file", vec![]),
        ] {
            let arguments = arguments.into_iter().map(str::to_owned).collect();
            assert_eq!(found(path), Some((template, arguments)), "{path}");
        }
        for nothing in ["/v3", "/v1", "/runs/r/x", "/v1/models/a/b/c", "/studio", "/studio/x", "/assets/../x"]
        {
            assert_eq!(found(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn a_route_takes_its_methods_only() {
        let route = |path: &str| Route::of(path).unwrap();
        assert_eq!(route("/runs").allow(), "GET, HEAD, POST");
        assert_eq!(route("/studio/file").allow(), "GET, HEAD, PUT");
        assert_eq!(route("/v2/models/a/infer").allow(), "POST");
        let endpoint = |path: &str, method: Method| route(path).operation(&method).map(|one| one.endpoint);
        assert_eq!(endpoint("/runs", Method::POST), Some(Endpoint::StartRun));
        assert_eq!(endpoint("/runs", Method::HEAD), Some(Endpoint::Runs));
        assert_eq!(endpoint("/metrics", Method::POST), None);
        assert_eq!(endpoint("/v2/models/a/infer", Method::GET), None);
        assert_eq!(endpoint("/runs/r", Method::DELETE), None);
    }

    #[test]
    fn every_operation_is_reached_by_its_path_and_is_there_once() {
        for (index, operation) in TABLE.iter().enumerate() {
            let (method, template) = (operation.method, operation.path);
            for other in &TABLE[index + 1..] {
                assert!(other.method != method || other.path != template, "{method} {template} twice");
                assert!(other.id != operation.id, "{} twice", other.id);
                assert!(other.endpoint != operation.endpoint, "{:?} twice", other.endpoint);
            }
            let path = template.replace(['{', '}'], "").replace("/assets/file", "/favicon.svg");
            let route = Route::of(&path).unwrap_or_else(|| panic!("{template} is no route"));
            let reached = route.operation(&method.parse().unwrap()).unwrap();
            assert_eq!(reached.endpoint, operation.endpoint, "{method} {template}");
        }
    }
}
