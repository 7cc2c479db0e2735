//! `stave new`: a project that checks and runs at once.

use crate::folder::Folder;
use crate::json::{items, text};
use crate::mask::mask;
use crate::process::stave;

#[tokio::test]
async fn a_made_project_checks_clean_and_runs() {
    let folder = Folder::new();
    let made = stave(&folder, ["new", "greeter"]).finish().await.exits(0);
    assert_eq!(made.stdout, "");
    insta::assert_snapshot!("made", mask(&made.stderr, &folder));
    let project = |arguments: &[&str]| {
        let arguments: Vec<String> = arguments
            .iter()
            .map(|word| if word.contains('/') { format!("greeter/{word}") } else { (*word).to_owned() })
            .collect();
        stave(&folder, arguments).without_env("OPENAI_API_KEY")
    };
    let checked = project(&["check", "flows/hello.yaml"]).finish().await.exits(0);
    assert!(checked.stderr.starts_with("checked 1 file"), "no finding comes before the summary\n{checked}");
    let ran = project(&["run", "flows/hello.yaml", "--input", "requests/hello.json"]).finish().await.exits(0);
    insta::assert_snapshot!("ran_answer", ran.stdout);
    insta::assert_snapshot!("ran_table", mask(&ran.stderr, &folder));
}

#[tokio::test]
async fn the_project_has_the_name_of_its_folder() {
    let folder = Folder::new();
    let made = stave(&folder, ["new", "deep/er/greeter", "--json"]).finish().await.exits(0);
    let made = made.json();
    assert_eq!(text(&made, "project"), Some("greeter"));
    for file in items(&made, "files") {
        assert!(folder.has(&format!("deep/er/greeter/{}", file.as_str().unwrap())), "{file}");
    }
    assert!(folder.read("deep/er/greeter/stave.toml").contains("repo = \"greeter\""));
    assert!(folder.read("deep/er/greeter/README.md").starts_with("# greeter\n"));
    assert_eq!(folder.read("deep/er/greeter/.gitignore"), ".stave/\n*.key\n");
}

#[tokio::test]
async fn a_folder_with_something_in_it_is_left_alone() {
    let folder = Folder::new();
    folder.write("mine/notes.txt", "keep me");
    let refused = stave(&folder, ["new", "mine"]).finish().await.exits(2);
    insta::assert_snapshot!(refused.stderr);
    assert_eq!(folder.files().len(), 1);
    assert_eq!(folder.read("mine/notes.txt"), "keep me");
}

#[tokio::test]
async fn an_empty_folder_is_filled() {
    let folder = Folder::new();
    folder.write("mine/x", "");
    std::fs::remove_file(folder.path().join("mine/x")).unwrap();
    stave(&folder, ["new", "mine"]).finish().await.exits(0);
    assert!(folder.has("mine/flows/hello.yaml"));
}

#[tokio::test]
async fn a_file_and_a_name_that_is_none_are_refused() {
    let folder = Folder::new();
    folder.write("taken", "text");
    stave(&folder, ["new", "taken"]).finish().await.exits(2);
    assert_eq!(folder.read("taken"), "text");
    stave(&folder, ["new", ".."]).finish().await.exits(2);
}
