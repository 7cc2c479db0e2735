//! `stave fmt`: one layout, and what happens to files that are in another.

use super::sample::DOUBLE;
use crate::folder::{Folder, repository_file};
use crate::json::{items, text};
use crate::process::stave;

const UNTIDY: &str = "# what it is\nversion:   '1.0'\nmetadata: {name: a,tags: [x,   y]}\ncontext: {requires: []}\n\
                      edges: []\nnodes: {}   # none so far\n";
const TIDY: &str = "# what it is\nversion: '1.0'\n\nmetadata: {name: a, tags: [x, y]}\n\ncontext: {requires: []}\n\n\
                    nodes: {}  # none so far\n\nedges: []\n";

#[tokio::test]
async fn files_are_laid_out_and_stay_so() {
    let folder = Folder::new();
    folder.write("flows/a.yaml", UNTIDY);
    folder.write("flows/deep/b.yaml", TIDY);
    let first = stave(&folder, ["fmt"]).finish().await.exits(0);
    assert_eq!(first.stdout, "");
    insta::assert_snapshot!(first.stderr, @r"
    changed flows/a.yaml
    formatted 2 files: 1 changed
    ");
    assert_eq!(folder.read("flows/a.yaml"), TIDY);
    let again = stave(&folder, ["fmt"]).finish().await.exits(0);
    insta::assert_snapshot!(again.stderr, @"formatted 2 files: 0 changed");
}

#[tokio::test]
async fn check_and_diff_change_nothing() {
    let folder = Folder::new();
    folder.write("a.yaml", UNTIDY);
    let check = stave(&folder, ["fmt", "--check", "a.yaml"]).finish().await.exits(2);
    insta::assert_snapshot!(check.stderr, @r"
    would change a.yaml
    formatted 1 file: 1 would change
    ");
    let diff = stave(&folder, ["fmt", "--diff", "a.yaml"]).finish().await.exits(0);
    insta::assert_snapshot!(diff.stdout);
    assert_eq!(folder.read("a.yaml"), UNTIDY);
    folder.write("a.yaml", TIDY);
    stave(&folder, ["fmt", "--check", "a.yaml"]).finish().await.exits(0);
}

#[tokio::test]
async fn stdin_goes_to_stdout() {
    let folder = Folder::new();
    let finished = stave(&folder, ["fmt", "-"]).input(UNTIDY).finish().await.exits(0);
    assert_eq!((finished.stdout.as_str(), finished.stderr.as_str()), (TIDY, ""));
    let broken = stave(&folder, ["fmt", "-"]).input("version: [\n").finish().await.exits(2);
    assert_eq!(broken.stdout, "version: [\n", "an editor gets back what it gave");
    assert!(broken.stderr.contains("yaml-syntax"), "{broken}");
}

#[tokio::test]
async fn the_json_form_names_every_file() {
    let folder = Folder::new();
    folder.write("flows/a.yaml", UNTIDY);
    folder.write("flows/b.yaml", TIDY);
    folder.write("flows/c.yaml", "version: [\n");
    let finished = stave(&folder, ["fmt", "--check", "--json"]).finish().await.exits(2);
    assert_eq!(finished.stderr, "");
    let report = finished.json();
    let files: Vec<(Option<&str>, Option<&str>)> =
        items(&report, "files").iter().map(|file| (text(file, "file"), text(file, "status"))).collect();
    assert_eq!(
        files,
        [
            (Some("flows/a.yaml"), Some("changed")),
            (Some("flows/b.yaml"), Some("unchanged")),
            (Some("flows/c.yaml"), Some("invalid")),
        ]
    );
    assert_eq!(text(&items(&report, "files")[0], "text"), Some(TIDY));
}

#[tokio::test]
async fn ids_that_repeat_their_keys_stay_when_strict() {
    let folder = Folder::new();
    let flow = DOUBLE.replace("  show:\n", "  show:\n    id: show\n");
    folder.write("a.yaml", &flow);
    stave(&folder, ["fmt", "--strict", "a.yaml"]).finish().await.exits(0);
    assert!(folder.read("a.yaml").contains("    id: show\n"));
    stave(&folder, ["fmt", "a.yaml"]).finish().await.exits(0);
    assert!(!folder.read("a.yaml").contains("id: show"));
    stave(&folder, ["check", "a.yaml"]).finish().await.exits(0);
}

#[tokio::test]
async fn the_complete_example_keeps_its_comments_and_its_findings() {
    let folder = Folder::new();
    folder.write("a.yaml", repository_file("tests/program/data/complete_example.yaml"));
    stave(&folder, ["fmt", "a.yaml"]).finish().await.exits(0);
    let laid_out = folder.read("a.yaml");
    for comment in ["# Data flow", "# Error handling", "# Last 5 messages"] {
        assert_eq!(laid_out.matches(comment).count(), 1, "{comment}");
    }
    let found = stave(&folder, ["check", "--format", "short", "a.yaml"]).finish().await.exits(2);
    assert_eq!(found.stdout.matches("error[").count(), 1, "{found}");
}
