//! Fields of a request that the deployment fills: constants, variables of the environment, headers.

use hyper::header::HeaderMap;
use stave_canon::{Object, Value};
use stave_runtime::trace::TraceParent;

/// Where the value of a context field comes from. The command line reads the environment.
#[derive(Debug, Clone, PartialEq)]
pub enum ContextFieldSource {
    Value(Value),
    /// The header of this name, when the request has it.
    Header(String),
    /// Its source gives nothing, and the client's word does not count either.
    Nothing,
}

/// The request with the fields that the deployment fills. What the deployment says overrides what the
/// client says: a client must not name a user that a header in front of the server has named.
pub(crate) fn fill(
    mut request: Value,
    sources: &[(String, ContextFieldSource)],
    headers: &HeaderMap,
) -> Value {
    let Some(fields) = request.as_object_mut() else { return request };
    for (field, source) in sources {
        match source {
            ContextFieldSource::Value(value) => {
                fields.insert(field.clone(), value.clone());
            }
            ContextFieldSource::Header(name) => put(fields, field, headers.get(name)),
            ContextFieldSource::Nothing => put(fields, field, None),
        }
    }
    request
}

/// The place in the caller's trace that a request names. One that cannot be read counts as none.
pub(crate) fn trace_parent(headers: &HeaderMap) -> Option<TraceParent> {
    headers.get("traceparent")?.to_str().ok()?.parse().ok()
}

fn put(fields: &mut Object, field: &str, header: Option<&hyper::header::HeaderValue>) {
    match header.and_then(|value| value.to_str().ok()) {
        Some(text) => {
            fields.insert(field.to_owned(), text.into());
        }
        None => {
            fields.shift_remove(field);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_does_not_name_what_the_deployment_names() {
        let sources = [
            ("user".to_owned(), ContextFieldSource::Header("x-user".to_owned())),
            ("region".to_owned(), ContextFieldSource::Value("eu".into())),
            ("role".to_owned(), ContextFieldSource::Nothing),
        ];
        let request =
            stave_canon::parse(r#"{"user": "root", "region": "us", "role": "owner", "query": "q"}"#).unwrap();
        let filled = fill(request.clone(), &sources, &HeaderMap::new());
        assert_eq!(filled.to_string(), r#"{"region":"eu","query":"q"}"#);
        let mut headers = HeaderMap::new();
        headers.insert("x-user", "ann".parse().unwrap());
        assert_eq!(fill(request, &sources, &headers).get("user"), Some(&"ann".into()));
    }
}
