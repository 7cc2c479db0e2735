//! `stave ops`: what each operation takes, does and gives.

use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::stave;

#[tokio::test]
async fn an_operation_is_described_with_its_arguments_and_an_example() {
    let folder = Folder::new();
    let finished = stave(&folder, ["ops", "mcp.call"]).finish().await.exits(0);
    assert_eq!(finished.stderr, "");
    insta::assert_snapshot!(finished.stdout);
}

#[tokio::test]
async fn all_operations_are_listed() {
    let folder = Folder::new();
    let finished = stave(&folder, ["ops"]).finish().await.exits(0);
    insta::assert_snapshot!(finished.stdout);
}

#[tokio::test]
async fn programs_get_everything_about_every_operation() {
    let folder = Folder::new();
    let finished = stave(&folder, ["ops", "--json"]).finish().await.exits(0);
    let answer = stave_canon::parse(&finished.stdout).expect("one JSON object");
    let operations = items(&answer, "operations");
    let names: Vec<&str> =
        operations.iter().map(|operation| text(operation, "name").unwrap_or_default()).collect();
    let known: Vec<&str> = stave_operations::STEP_KINDS.iter().map(|kind| kind.name).collect();
    assert_eq!(names, known);
    let one = stave(&folder, ["ops", "http.post", "--json"]).finish().await.exits(0);
    let one = stave_canon::parse(&one.stdout).expect("one JSON object");
    assert_eq!(text(&one, "retry"), Some("safe with a key"));
    assert!(operations.contains(&one));
}

#[tokio::test]
async fn an_unknown_operation_brings_the_nearest_one() {
    let folder = Folder::new();
    let near = stave(&folder, ["ops", "http.pots"]).finish().await.exits(2);
    assert!(near.stderr.contains("did you mean `http.post`?"), "{near}");
    let far = stave(&folder, ["ops", "weather"]).finish().await.exits(2);
    assert!(far.stderr.contains("`stave ops` lists all operations"), "{far}");
    let other = stave(&folder, ["explain", "http.post"]).finish().await.exits(2);
    assert!(other.stderr.contains("`stave ops http.post` describes the operation"), "{other}");
}
