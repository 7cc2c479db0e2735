//! A Lambda package: the handler of a custom runtime, and what goes into the archive beside it. Nothing
//! else of the cloud is set up.

use stave_canon::{Value, pretty_sorted_utf8};

use super::{ImagePackage, Service};

/// The `bootstrap` of a custom runtime: each event is a request, and the run's output is the answer. Behind a function URL
/// or an HTTP API, an answer without a `statusCode` is the body of the reply.
#[must_use]
pub fn lambda_handler(package: &ImagePackage) -> String {
    format!(
        r#"#!/bin/sh
set -eu
api="http://${{AWS_LAMBDA_RUNTIME_API}}/2018-06-01/runtime/invocation"
headers=$(mktemp)
answer=$(mktemp)
trouble=$(mktemp)
while true; do
  event=$(curl -sS -D "$headers" "$api/next")
  id=$(grep -i '^lambda-runtime-aws-request-id:' "$headers" | cut -d: -f2 | tr -d '[:space:]')
  if printf '%s' "$event" | ./stave run '{document}' --input - --state-dir /tmp/stave >"$answer" 2>"$trouble"; then
    curl -sS -X POST -H 'content-type: application/json' --data-binary @"$answer" "$api/$id/response"
  else
    cat "$trouble" >&2
    message=$(grep -m 1 'error' "$trouble" | tr -d '"\\' | tr -cd '[:print:]' || true)
    printf '{{"errorType": "RunFailed", "errorMessage": "%s"}}' "$message" >"$answer"
    curl -sS -X POST -H 'content-type: application/json' --data-binary @"$answer" "$api/$id/error"
  fi
done
"#,
        document = package.document
    )
}

/// The list of what the archive holds, relative to the package's own folder.
#[must_use]
pub fn lambda_package(service: &Service, package: &ImagePackage) -> String {
    let own = ["bootstrap", "stave"];
    let mut files: Vec<&str> = own.into_iter().chain(package.files.iter().map(String::as_str)).collect();
    files.sort_unstable();
    let secrets: Vec<&str> = service.secrets.iter().map(String::as_str).collect();
    let mut text = pretty_sorted_utf8(&Value::from_iter([
        ("service", Value::from(service.name.as_str())),
        ("run_id", service.run_id.as_str().into()),
        ("runtime", "provided.al2023".into()),
        ("handler", "bootstrap".into()),
        ("timeout_seconds", service.max_seconds.clamp(1, 900).into()),
        ("files", files.into()),
        ("secrets", secrets.into()),
    ]));
    text.push('\n');
    text
}
