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

#[tokio::test]
async fn the_printed_schemas_are_the_committed_files() {
    let folder = Folder::new();
    for (name, file) in [
        ("flow", "schemas/flow.schema.json"),
        ("exec", "schemas/exec.schema.json"),
        ("prompt", "schemas/prompt.schema.json"),
        ("policy", "schemas/policy.schema.json"),
        ("template", "schemas/template.schema.json"),
        ("block", "schemas/block.schema.json"),
        ("system", "schemas/system.schema.json"),
        ("bundle", "schemas/bundle.schema.json"),
        ("manifest", "schemas/manifest.schema.json"),
        ("project", "schemas/project.schema.json"),
        ("http.post", "schemas/ops/http.post.json"),
        ("switch", "schemas/steps/switch.json"),
    ] {
        let finished = stave(&folder, ["schema", name]).finish().await.exits(0);
        compare(file, &finished.stdout);
        assert_eq!(finished.stderr, "");
    }
}

const SETTINGS: &str = "\
# Settings

Every key of `stave.toml`. The file lies in the folder of the project, and every table and key may be left out. A key that
is not listed here is an error. This page is generated from the types that read the file;
`STAVE_BLESS=1 cargo test -p stave-cli --test program -- schema` rewrites it, and `stave schema project` prints the same as
a JSON Schema for editors. `NAME` stands for a name that the project chooses.

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
