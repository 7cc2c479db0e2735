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
async fn a_formatted_flow_is_as_strict_as_it_was() {
    let folder = Folder::new();
    let flow = DOUBLE
        .replace("  show:\n", "  show:\n    id: show\n")
        .replace("  double:\n", "  double:\n    id: double\n");
    let findings = async || {
        let checked = stave(&folder, ["check", "--strict", "--format", "short", "a.yaml"]).finish().await;
        checked
            .stdout
            .lines()
            .filter_map(|line| Some(line.split_once(": ")?.1.to_owned()))
            .collect::<Vec<_>>()
    };
    folder.write("a.yaml", &flow);
    let before = findings().await;
    assert!(!before.iter().any(|found| found.contains("implicit-id")), "{before:?}");
    for arguments in [&["fmt", "a.yaml"][..], &["fmt", "--strict", "a.yaml"]] {
        stave(&folder, arguments).finish().await.exits(0);
        assert!(folder.read("a.yaml").contains("    id: show\n"));
        assert_eq!(findings().await, before);
    }
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

const UNTIDY_WORKFLOW: &str = "# the plant\nversion: dsl/v0\n\n\nworkflow: plant\nsteps:\n     # what is read\n     \
     - read(http.get):\n            url: https://plant.example.com/  # not a comment\n     # at the end\n";
const TIDY_WORKFLOW: &str = "# the plant\nversion: dsl/v0\n\nworkflow: plant\nsteps:\n  # what is read\n  \
     - read(http.get):\n      url: https://plant.example.com/  # not a comment\n# at the end\n";

#[tokio::test]
async fn workflows_and_policies_are_laid_out_too() {
    let folder = Folder::new();
    folder.write("flows/plant.wdl", UNTIDY_WORKFLOW);
    folder.write(
        "flows/plant.PDL.yaml",
        "version: 1\narms:\n    a:\n        b: 1\nevaluate:\n    x = 1\nemit:\n    x: x\n",
    );
    let check = stave(&folder, ["fmt", "--check"]).finish().await.exits(2);
    insta::assert_snapshot!(check.stderr, @r"
    would change flows/plant.PDL.yaml
    would change flows/plant.wdl
    formatted 2 files: 2 would change
    ");
    assert_eq!(folder.read("flows/plant.wdl"), UNTIDY_WORKFLOW);
    stave(&folder, ["fmt"]).finish().await.exits(0);
    assert_eq!(folder.read("flows/plant.wdl"), TIDY_WORKFLOW);
    assert_eq!(
        folder.read("flows/plant.PDL.yaml"),
        "version: 1\narms:\n  a:\n    b: 1\nevaluate:\n  x = 1\nemit:\n  x: x\n"
    );
    stave(&folder, ["fmt", "--check"]).finish().await.exits(0);
    let from_stdin = stave(&folder, ["fmt", "-", "--stdin-name", "plant.wdl"]).input(UNTIDY_WORKFLOW);
    assert_eq!(from_stdin.finish().await.exits(0).stdout, TIDY_WORKFLOW);
}

#[tokio::test]
async fn a_workflow_that_can_not_be_read_is_left_as_it_is() {
    let folder = Folder::new();
    folder.write("plant.wdl", "version: 1\n\tworkflow: a\n");
    let refused = stave(&folder, ["fmt", "plant.wdl"]).finish().await.exits(2);
    assert!(
        refused.stderr.contains("wdl-parse-error") && refused.stderr.contains("plant.wdl:2:1"),
        "{refused}"
    );
    assert_eq!(folder.read("plant.wdl"), "version: 1\n\tworkflow: a\n");
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_behind_a_link_out_of_the_project_is_left_as_it_is() {
    let outer = Folder::new();
    outer.write("project/stave.toml", "");
    outer.write("elsewhere/a.yaml", UNTIDY);
    std::os::unix::fs::symlink("../elsewhere", outer.path().join("project/link")).unwrap();
    let finished = stave(&outer, ["fmt", "project/link/a.yaml"]).finish().await.exits(3);
    assert!(finished.stderr.contains("out of its project"), "{finished}");
    assert_eq!(outer.read("elsewhere/a.yaml"), UNTIDY);
    stave(&outer, ["fmt", "elsewhere/a.yaml"]).finish().await.exits(0);
    assert_eq!(outer.read("elsewhere/a.yaml"), TIDY);
}
