//! A Lambda package: the handler of a custom runtime, and what goes into the archive beside it. Nothing
//! else of the cloud is set up.

use stave_canon::{Value, pretty_sorted_utf8};

use super::Service;

/// The `bootstrap` of a custom runtime: each event is a request, each run's report is the answer.
#[must_use]
pub fn lambda_handler(file_name: &str) -> String {
    format!(
        r#"#!/bin/sh
set -eu
api="http://${{AWS_LAMBDA_RUNTIME_API}}/2018-06-01/runtime/invocation"
headers=$(mktemp)
answer=$(mktemp)
while true; do
  event=$(curl -sS -D "$headers" "$api/next")
  id=$(grep -i '^lambda-runtime-aws-request-id:' "$headers" | cut -d: -f2 | tr -d '[:space:]')
  if printf '%s' "$event" | ./stave run flows/{file_name}.ir.json --input - --json --state-dir /tmp >"$answer"; then
    curl -sS -X POST --data-binary @"$answer" "$api/$id/response"
  else
    curl -sS -X POST --data-binary @"$answer" "$api/$id/error"
  fi
done
"#
    )
}

/// The list of what the archive holds, relative to the output folder.
#[must_use]
pub fn lambda_package(service: &Service, file_name: &str) -> String {
    let files = [
        ("bootstrap", format!("deploy/{file_name}.lambda/bootstrap")),
        ("flows", format!("flows/{file_name}.ir.json")),
        ("stave", "stave".to_owned()),
    ];
    let secrets: Vec<&str> = service.secrets.iter().map(String::as_str).collect();
    let mut text = pretty_sorted_utf8(&Value::from_iter([
        ("service", Value::from(service.name.as_str())),
        ("run_id", service.run_id.as_str().into()),
        ("runtime", "provided.al2023".into()),
        ("handler", "bootstrap".into()),
        ("timeout_seconds", service.max_seconds.clamp(1, 900).into()),
        ("files", files.into_iter().collect()),
        ("secrets", secrets.into()),
    ]));
    text.push('\n');
    text
}
