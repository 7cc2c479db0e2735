//! `--clean` and `--clean-all`, as section 3 of the specification says.

use super::sample::{project, published};
use crate::process::stave;

#[tokio::test]
async fn clean_removes_the_documents_and_the_manifest_only() {
    let folder = project();
    folder.write("out/notes.txt", "mine");
    stave(&folder, ["compile", "flows", "--out", "out", "--emit", "exec"]).finish().await.exits(0);
    stave(&folder, ["compile", "--clean", "--out", "out"]).finish().await.exits(0);
    assert_eq!(published(&folder, "out"), [("notes.txt".to_owned(), b"mine".to_vec())]);
    assert!(folder.has("out/.ir-cache"));
}

#[tokio::test]
async fn clean_all_removes_the_whole_folder() {
    let folder = project();
    folder.write("out/notes.txt", "mine");
    stave(&folder, ["compile", "flows", "--out", "out", "--emit", "exec"]).finish().await.exits(0);
    stave(&folder, ["compile", "--clean-all", "--out", "out"]).finish().await.exits(0);
    assert!(!folder.has("out"));
    folder.write("out/notes.txt", "mine");
    stave(&folder, ["compile", "flows", "--clean-all", "--out", "out", "--emit", "exec"])
        .finish()
        .await
        .exits(0);
    assert!(!folder.has("out/notes.txt") && folder.has("out/manifest.json"));
}

#[tokio::test]
async fn clean_all_refuses_a_folder_with_sources_in_it() {
    let folder = project();
    stave(&folder, ["compile", "flows", "--clean-all", "--out", "."]).finish().await.exits(3);
    stave(&folder, ["compile", "--clean-all", "--out", "."]).finish().await.exits(3);
    assert!(folder.has("flows/double.yaml"));
}
