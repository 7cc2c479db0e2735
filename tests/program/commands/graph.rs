//! `stave graph`: a flow as a picture.

use super::sample::{DOUBLE, broken};
use crate::folder::Folder;
use crate::json::text;
use crate::process::stave;

const SUPPORT: &str = "examples/support";

#[tokio::test]
async fn the_three_languages_are_as_committed() {
    let folder = Folder::copy_of(SUPPORT);
    for format in ["svg", "mermaid", "dot"] {
        let arguments = ["graph", "flows/support.yaml", "--format", format];
        let finished = stave(&folder, arguments).finish().await.exits(0);
        assert_eq!(finished.stderr, "");
        insta::assert_snapshot!(format!("graph_{format}"), finished.stdout);
    }
}

#[tokio::test]
async fn a_picture_goes_to_a_file_or_into_one_object() {
    let folder = Folder::new();
    folder.write("flow.yaml", DOUBLE);
    let to_file = stave(&folder, ["graph", "flow.yaml", "--out", "a/flow.svg"]).finish().await.exits(0);
    assert_eq!(to_file.stdout, "");
    let picture = folder.read("a/flow.svg");
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"), "{picture}");
    let object = stave(&folder, ["graph", "flow.yaml", "--json"]).finish().await.exits(0).json();
    assert_eq!(text(&object, "picture"), Some(picture.as_str()));
    let piped = stave(&folder, ["graph", "-"]).input(DOUBLE).finish().await.exits(0);
    assert_eq!(piped.stdout, picture);
}

#[tokio::test]
async fn a_flow_with_mistakes_is_drawn_as_far_as_it_goes() {
    let folder = Folder::new();
    folder.write("flow.yaml", broken());
    let finished = stave(&folder, ["graph", "flow.yaml", "--format", "mermaid"]).finish().await.exits(0);
    assert!(finished.stderr.contains("2 errors"), "{finished}");
    assert!(finished.stdout.contains("double"), "{finished}");
    folder.write("flow.yaml", "- no flow\n");
    let nothing = stave(&folder, ["graph", "flow.yaml"]).finish().await.exits(2);
    assert_eq!(nothing.stdout, "");
    assert!(nothing.stderr.contains("not-a-flow"), "{nothing}");
}

#[tokio::test]
async fn a_workflow_and_a_document_are_drawn_and_a_policy_is_refused() {
    let folder = Folder::new();
    folder.write(
        "plant.wdl",
        "version: 1\nworkflow: plant\ninputs:\n  mode: string\nsteps:\n  - read(http.get):\n      url: https://plant.example.com/\n  - when $input.mode == \"full\":\n      - act(dsl.emit):\n          x: 1\n",
    );
    let draw = |file: &'static str| ["graph", file, "--format", "mermaid"];
    let drawn = stave(&folder, draw("plant.wdl")).finish().await.exits(0);
    assert!(drawn.stdout.contains("read") && drawn.stdout.contains("|\"full\"|"), "{drawn}");
    assert_eq!(drawn.stderr, "");
    stave(&folder, ["compile", "plant.wdl", "--out", "out", "--emit", "exec"]).finish().await.exits(0);
    let document = stave(&folder, draw("out/flows/plant.ir.json")).finish().await.exits(0);
    assert_eq!(document.stdout, drawn.stdout);
    folder.write("broken.wdl", "version: 1\nworkflow: plant\n");
    let broken = stave(&folder, draw("broken.wdl")).finish().await.exits(2);
    assert!(broken.stderr.contains("wdl-parse-error") && broken.stdout.is_empty(), "{broken}");
    folder.write("plant.pdl", "version: 1\narms:\n  a:\n    x: 1\nevaluate:\n  y = 1\nemit:\n  y: y\n");
    let policy = stave(&folder, draw("plant.pdl")).finish().await.exits(2);
    assert!(policy.stderr.contains("is a policy"), "{policy}");
}

#[tokio::test]
async fn commands_for_flows_say_that_another_source_is_not_one() {
    let folder = Folder::new();
    for file in ["plant.wdl", "plant.pdl", "plant.ir.json"] {
        folder.write(file, "version: 1\n");
        for command in [["test", file].as_slice(), &["edit", file, "add caching"]] {
            let refused = stave(&folder, command.iter().copied()).finish().await.exits(2);
            assert!(refused.stderr.contains("takes flows"), "{refused}");
            assert_eq!(folder.read(file), "version: 1\n");
        }
    }
}
