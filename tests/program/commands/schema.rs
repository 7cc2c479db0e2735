//! `stave schema`: what editors read.

use std::fmt::Write;

use crate::folder::{Folder, repository, repository_file};
use crate::process::stave;

/// Compares a generated file with what is committed; with `STAVE_BLESS` set it is written instead.
fn compare(path: &str, text: &str) {
    if std::env::var_os("STAVE_BLESS").is_some() {
        std::fs::write(repository().join(path), text).expect("the file can be written");
        return;
    }
    assert_eq!(repository_file(path), text, "{path} is out of date; run with STAVE_BLESS=1");
}

/// The documents that have a schema.
const DOCUMENTS: [&str; 11] = [
    "flow",
    "project",
    "policy",
    "template",
    "recording",
    "prompt",
    "block",
    "exec",
    "system",
    "bundle",
    "manifest",
];

#[tokio::test]
async fn the_printed_schemas_are_the_committed_files() {
    let folder = Folder::new();
    let documents = DOCUMENTS.map(|name| (name, format!("schemas/{name}.schema.json")));
    let arguments = [("http.post", "schemas/ops/http.post.json"), ("switch", "schemas/steps/switch.json")];
    let arguments = arguments.map(|(name, file)| (name, file.to_owned()));
    for (name, file) in documents.into_iter().chain(arguments) {
        let finished = stave(&folder, ["schema", name]).finish().await.exits(0);
        compare(&file, &finished.stdout);
        assert_eq!(finished.stderr, "");
    }
}

#[tokio::test]
async fn the_printed_interface_is_the_committed_files() {
    let folder = Folder::new();
    for (name, file) in [("openapi", "schemas/openapi.json"), ("typescript", "studio/src/api/contract.ts")] {
        let finished = stave(&folder, ["schema", name]).finish().await.exits(0);
        compare(file, &finished.stdout);
        assert_eq!(finished.stderr, "");
    }
}

const SCHEMAS: &str = "\
# Schemas

`stave schema NAME` prints the JSON Schema of a document, for editors and for programs that write such documents. The types
that read a document give its schema, so that both take the same. Rules that relate several values, such as unique ids, are
beyond a schema. `stave schema http.post` prints the arguments of an operation, and so on for every
[operation](operations.md) and step. This page is generated.

`stave schema openapi` prints the OpenAPI document of [`stave serve`](serve.md), which is `schemas/openapi.json`.
`stave schema typescript` prints the same types for clients in TypeScript, which are `studio/src/api/contract.ts`; the studio
uses them.

| command | document | file |
|---|---|---|
";

#[tokio::test]
async fn the_schemas_page_lists_every_document() {
    let folder = Folder::new();
    let mut page = SCHEMAS.to_owned();
    for name in DOCUMENTS {
        let finished = stave(&folder, ["schema", name]).finish().await.exits(0);
        let schema = stave_canon::parse(&finished.stdout).expect("a schema is JSON");
        let title = schema.get("title").and_then(stave_canon::Value::as_str).expect("a schema has a title");
        writeln!(page, "| `stave schema {name}` | {title} | `schemas/{name}.schema.json` |")
            .expect("a string can be written to");
    }
    compare("docs/schemas.md", &page);
}

const SETTINGS: &str = "\
# Settings

Every key of `stave.toml`. The file lies in the folder of the project, and every table and key may be left out. A key that
is not listed here is an error. This page is generated. `stave schema project` prints the same
as a JSON Schema for editors. `NAME` stands for a name that the project chooses.

| key | type | default | meaning |
|---|---|---|---|
";

#[tokio::test]
async fn the_settings_page_lists_every_key_of_the_project_file() {
    let folder = Folder::new();
    let finished = stave(&folder, ["schema", "project"]).finish().await.exits(0);
    let schema = stave_canon::parse(&finished.stdout).expect("a schema is JSON");
    let mut page = SETTINGS.to_owned();
    for setting in stave_shape::settings(&schema) {
        let default = setting.default.map_or_else(|| "-".to_owned(), |default| format!("`{default}`"));
        let kind = setting.kind.replace('|', "\\|");
        assert!(!setting.description.is_empty(), "{} has no description", setting.key);
        writeln!(page, "| `{}` | {kind} | {default} | {} |", setting.key, setting.description)
            .expect("a string can be written to");
    }
    compare("docs/settings.md", &page);
}

#[tokio::test]
async fn an_unknown_name_brings_the_nearest_one() {
    let folder = Folder::new();
    let near = stave(&folder, ["schema", "http.pots"]).finish().await.exits(2);
    assert!(near.stderr.contains("did you mean `http.post`?"), "{near}");
    let far = stave(&folder, ["schema", "weather"]).finish().await.exits(2);
    assert!(far.stderr.contains("transform.reduce, io.format_response, "), "{far}");
}
