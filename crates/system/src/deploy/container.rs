//! A container file: the compiled flow and the runtime that runs it.

use super::Service;

/// The text of a container file whose build context is the output folder, with the `stave` program put
/// beside it.
#[must_use]
pub fn container_file(service: &Service, file_name: &str) -> String {
    format!(
        "# Builds the image of `{name}`.\n\
         # Context: the folder that `stave compile --out` wrote, with the `stave` program in it.\n\
         ARG BASE=debian:12-slim\n\
         FROM ${{BASE}}\n\
         COPY stave /usr/local/bin/stave\n\
         COPY manifest.json /srv/manifest.json\n\
         COPY flows/{file_name}.ir.json /srv/flows/{file_name}.ir.json\n\
         COPY .akc/ /srv/.akc/\n\
         WORKDIR /srv\n\
         USER 65532:65532\n\
         EXPOSE 8080\n\
         ENTRYPOINT [\"/usr/local/bin/stave\", \"serve\", \"--host\", \"0.0.0.0\", \"--without-keys\", \"--port\", \"8080\", \"--state-dir\", \"/tmp/stave\", \"flows/{file_name}.ir.json\"]\n",
        name = service.name.replace(['\n', '\r'], " "),
    )
}
