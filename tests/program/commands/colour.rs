//! `--color` and `NO_COLOR`: colour at a terminal, and on request.

use super::sample::broken;
use crate::folder::Folder;
use crate::process::{Finished, stave};

const ESCAPE: char = '\u{1b}';

async fn check(options: &[&str], environment: &[(&str, &str)]) -> Finished {
    let folder = Folder::new();
    folder.write("flow.yaml", broken());
    let mut call = stave(&folder, ["check", "flow.yaml"].iter().chain(options));
    for (name, value) in environment {
        call = call.env(name, value);
    }
    call.finish().await.exits(2)
}

#[tokio::test]
async fn output_that_is_no_terminal_has_no_colour() {
    assert!(!check(&[], &[]).await.stderr.contains(ESCAPE));
    assert!(!check(&["--color", "auto"], &[("TERM", "xterm-256color")]).await.stderr.contains(ESCAPE));
}

#[tokio::test]
async fn colour_can_be_asked_for() {
    assert!(check(&["--color", "always"], &[]).await.stderr.contains(ESCAPE));
    let asked = check(&["--color", "always"], &[("NO_COLOR", "1")]).await;
    assert!(asked.stderr.contains(ESCAPE), "an option is nearer than the environment");
}

#[tokio::test]
async fn colour_can_be_refused() {
    assert!(!check(&["--color", "never"], &[]).await.stderr.contains(ESCAPE));
    assert!(!check(&[], &[("NO_COLOR", "1")]).await.stderr.contains(ESCAPE));
}

#[tokio::test]
async fn colour_changes_nothing_but_colour() {
    let plain = check(&["--color", "never"], &[]).await.stderr;
    let coloured = check(&["--color", "always"], &[]).await.stderr;
    assert_eq!(without_escapes(&coloured), plain);
}

#[tokio::test]
async fn pages_are_coloured_on_request() {
    let folder = Folder::new();
    let plain = stave(&folder, ["explain", "dangling-edge"]).finish().await.exits(0);
    assert!(!plain.stdout.contains(ESCAPE));
    let coloured = stave(&folder, ["explain", "dangling-edge", "--color", "always"]).finish().await.exits(0);
    assert!(coloured.stdout.contains(ESCAPE));
    assert_eq!(without_escapes(&coloured.stdout), plain.stdout);
}

#[tokio::test]
async fn machines_get_no_colour_even_when_it_is_asked_for() {
    let finished = check(&["--color", "always", "--format", "json"], &[]).await;
    assert!(!finished.stdout.contains(ESCAPE) && !finished.stderr.contains(ESCAPE), "{finished}");
}

/// The text without colour sequences, which begin with an escape and end with a letter.
fn without_escapes(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == ESCAPE {
            for inside in letters.by_ref() {
                if inside.is_ascii_alphabetic() {
                    break;
                }
            }
        } else {
            out.push(letter);
        }
    }
    out
}
