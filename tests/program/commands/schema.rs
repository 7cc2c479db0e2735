//! `stave schema`: what editors read.

use crate::folder::{Folder, repository_file};
use crate::process::stave;

#[tokio::test]
async fn the_printed_schemas_are_the_committed_files() {
    let folder = Folder::new();
    for (name, file) in [
        ("flow", "schemas/flow.schema.json"),
        ("http.post", "schemas/ops/http.post.json"),
        ("switch", "schemas/steps/switch.json"),
    ] {
        let finished = stave(&folder, ["schema", name]).finish().await.exits(0);
        assert_eq!(finished.stdout, repository_file(file), "{name}");
        assert_eq!(finished.stderr, "");
    }
}

#[tokio::test]
async fn an_unknown_name_brings_the_nearest_one() {
    let folder = Folder::new();
    let near = stave(&folder, ["schema", "http.pots"]).finish().await.exits(2);
    assert!(near.stderr.contains("did you mean `http.post`?"), "{near}");
    let far = stave(&folder, ["schema", "weather"]).finish().await.exits(2);
    assert!(far.stderr.contains("transform.reduce, io.format_response, "), "{far}");
}
