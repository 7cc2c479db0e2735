//! A container file: the compiled flow, its project and the runtime that runs it.

use std::fmt::Write as _;

use stave_canon::Value;

use super::{ImagePackage, Service};

/// The text of a container file. Its build context is the folder that it lies in, with the `stave` program put there.
#[must_use]
pub fn container_file(service: &Service, package: &ImagePackage) -> String {
    let mut copies = String::new();
    for path in package.top_level() {
        let is_plain = |next: char| next.is_ascii_alphanumeric() || matches!(next, '.' | '_' | '-' | '/');
        let _ = match path.chars().all(is_plain) {
            true => writeln!(copies, "COPY {path} /srv/{path}"),
            false => writeln!(copies, "COPY {}", Value::from(vec![path.clone(), format!("/srv/{path}")])),
        };
    }
    format!(
        "# Builds the image of `{name}`.\n\
         # Context: this folder, with the `stave` program in it.\n\
         ARG BASE=debian:12-slim\n\
         FROM ${{BASE}}\n\
         COPY stave /usr/local/bin/stave\n\
         {copies}\
         WORKDIR /srv\n\
         USER 65532:65532\n\
         EXPOSE 8080\n\
         ENTRYPOINT [\"/usr/local/bin/stave\", \"serve\", \"--host\", \"0.0.0.0\", \"--without-keys\", \"--port\", \"8080\", \"--state-dir\", \"/tmp/stave\", {document}]\n",
        name = service.name.replace(['\n', '\r'], " "),
        document = Value::from(package.document.as_str()),
    )
}
