//! `--help` and `--version`: what the program says about itself.

use crate::folder::Folder;
use crate::process::stave;

#[tokio::test]
async fn help_of_every_command_is_as_committed() {
    let folder = Folder::new();
    for command in [
        "", "check", "compile", "exec", "fmt", "graph", "schema", "edit", "diff", "merge", "lsp", "rep",
        "run", "runs", "state", "serve", "system", "bundle", "keys", "new", "explain", "ops",
    ] {
        let arguments = [command, "--help"].into_iter().filter(|word| !word.is_empty());
        let finished = stave(&folder, arguments).finish().await.exits(0);
        assert_eq!(finished.stderr, "");
        let name = format!("help_{}", if command.is_empty() { "stave" } else { command });
        insta::assert_snapshot!(name, finished.stdout);
    }
}

#[tokio::test]
async fn without_arguments_the_help_is_shown_and_the_call_is_invalid() {
    let finished = stave(&Folder::new(), [] as [&str; 0]).finish().await.exits(2);
    assert!(finished.stderr.contains("Usage: stave"), "{finished}");
}

#[tokio::test]
async fn the_version_is_that_of_the_package() {
    let finished = stave(&Folder::new(), ["--version"]).finish().await.exits(0);
    assert_eq!(finished.stdout, format!("stave {}\n", env!("CARGO_PKG_VERSION")));
}

#[tokio::test]
async fn an_unknown_command_is_invalid_and_brings_the_nearest_one() {
    let finished = stave(&Folder::new(), ["chekc"]).finish().await.exits(2);
    assert!(finished.stderr.contains("check"), "{finished}");
}
