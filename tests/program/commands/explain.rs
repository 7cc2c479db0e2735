//! `stave explain`: what a code means.

use std::collections::BTreeSet;

use stave_diag::CODES;

use crate::batch;
use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::stave;

#[tokio::test]
async fn a_code_is_explained_with_an_example_and_its_cure() {
    let folder = Folder::new();
    let finished = stave(&folder, ["explain", "dangling-edge"]).finish().await.exits(0);
    assert_eq!(finished.stderr, "");
    insta::assert_snapshot!(finished.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_code_can_be_explained() {
    let codes = CODES.iter().copied().flatten().map(|info| info.code.0);
    let cases = codes.map(|code| {
        (code.to_owned(), async move {
            match stave(&Folder::new(), ["explain", code]).outcome().await {
                Ok(page)
                    if page.code == 0 && page.stdout.starts_with(code) && page.stdout.contains("Limits") =>
                {
                    Vec::new()
                }
                Ok(page) => vec![page.to_string()],
                Err(reason) => vec![reason],
            }
        })
    });
    batch::assert_only_listed_fail(&batch::run(cases).await, "", "explain.rs");
}

#[tokio::test]
async fn an_unknown_code_brings_the_nearest_one() {
    let folder = Folder::new();
    let near = stave(&folder, ["explain", "dangling-egde"]).finish().await.exits(2);
    assert_eq!(near.stdout, "");
    insta::assert_snapshot!(near.stderr);
}

#[tokio::test]
async fn a_code_like_no_other_brings_the_list() {
    let folder = Folder::new();
    let far = stave(&folder, ["explain", "zzzzzz"]).finish().await.exits(2);
    insta::assert_snapshot!(far.stderr);
}

#[tokio::test]
async fn a_page_is_an_object_for_machines() {
    let folder = Folder::new();
    let finished = stave(&folder, ["explain", "dangling-edge", "--json"]).finish().await.exits(0);
    let page = finished.json();
    assert_eq!(text(&page, "code"), Some("dangling-edge"));
    assert_eq!(text(&page, "severity"), Some("error"));
    assert!(text(&page, "summary").is_some_and(|summary| summary.ends_with('.')));
    assert!(text(&page, "page").is_some_and(|page| page.starts_with("# dangling-edge\n")));
}

#[tokio::test]
async fn without_a_code_all_of_them_are_listed() {
    let folder = Folder::new();
    let known: BTreeSet<String> =
        CODES.iter().copied().flatten().map(|info| info.code.0.to_owned()).collect();
    let listed = stave(&folder, ["explain"]).finish().await.exits(0);
    let first_words = listed.stdout.lines().filter_map(|line| line.split_whitespace().next());
    assert_eq!(first_words.map(str::to_owned).collect::<BTreeSet<String>>(), known);
    let machine = stave(&folder, ["explain", "--json"]).finish().await.exits(0).json();
    let codes = items(&machine, "codes").iter().filter_map(|row| text(row, "code"));
    assert_eq!(codes.map(str::to_owned).collect::<BTreeSet<String>>(), known);
}
