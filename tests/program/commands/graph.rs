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
