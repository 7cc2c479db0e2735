//! `diff:` references obey protected paths, and git starts no program of the repository.

use stave_canon::Value;

use super::prompt::{document, project};
use crate::folder::Folder;
use crate::process::stave;

const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

fn git(folder: &Folder, arguments: &[&str]) {
    let mut command = std::process::Command::new("git");
    command.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]);
    let output = command.args(arguments).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn repository(files: &[(&str, &str)], reference: &str) -> Folder {
    let refs = format!(r#"["diff:{reference}"]"#);
    let prompt = document(&[("context_refs", refs.as_str())]);
    let mut all = files.to_vec();
    all.push(("prompt.json", &prompt));
    let folder = project(&all);
    git(&folder, &["init", "-q"]);
    for (name, _) in files {
        git(&folder, &["add", "-f", name]);
    }
    git(&folder, &["commit", "-q", "-m", "first"]);
    folder
}

#[tokio::test]
async fn a_diff_that_shows_a_protected_file_is_denied() {
    for protected in
        [".env", ".env.production", "deploy/.env.local", ".ssh/config", "keys/id_rsa", "id_ed25519"]
    {
        let folder = repository(&[("a.txt", "one\n"), (protected, "PASSWORD=hunter2\n")], EMPTY_TREE);
        let finished = stave(&folder, ["prompt", "compile", "prompt.json", "--json"]).finish().await.exits(3);
        let denied = finished.json();
        assert_eq!(denied.get("denied_at").and_then(Value::as_str), Some("resolution"), "{protected}");
        assert!(!finished.stdout.contains("hunter2"), "{finished}");
    }
    let folder = repository(&[("a.txt", "one\n"), ("env.md", "two\n")], EMPTY_TREE);
    let finished = stave(&folder, ["prompt", "compile", "prompt.json", "--text"]).finish().await.exits(0);
    assert!(finished.stdout.contains("+one") && finished.stdout.contains("+two"), "{finished}");
}

#[tokio::test]
async fn a_diff_starts_no_program_of_the_repository() {
    let attributes = "*.txt filter=spy diff=spy\n";
    let folder = repository(&[("a.txt", "one\n"), (".gitattributes", attributes)], "HEAD");
    let mark = folder.path().join("ran");
    let spy = folder.path().join("spy.sh");
    std::fs::write(&spy, format!("#!/bin/sh\ntouch '{}'\ncat\n", mark.display())).unwrap();
    let mut permissions = std::fs::metadata(&spy).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    std::fs::set_permissions(&spy, permissions).unwrap();
    let spy = spy.display().to_string();
    for key in [
        "filter.spy.clean",
        "filter.spy.smudge",
        "filter.spy.process",
        "diff.spy.textconv",
        "diff.spy.command",
        "diff.external",
        "core.fsmonitor",
        "core.pager",
        "pager.diff",
        "core.sshCommand",
        "alias.diff",
    ] {
        git(&folder, &["config", key, spy.as_str()]);
    }
    git(&folder, &["config", "filter.spy.required", "true"]);
    let hooks = folder.path().join("hooks");
    std::fs::create_dir(&hooks).unwrap();
    for hook in ["post-index-change", "fsmonitor-watchman"] {
        std::fs::copy(folder.path().join("spy.sh"), hooks.join(hook)).unwrap();
    }
    git(&folder, &["config", "core.hooksPath", hooks.to_str().unwrap()]);
    let _ = std::fs::remove_file(&mark);
    folder.write("a.txt", "two\n");
    let finished = stave(&folder, ["prompt", "compile", "prompt.json", "--text"]).finish().await.exits(0);
    assert!(finished.stdout.contains("-one\n+two"), "{finished}");
    assert!(!mark.exists(), "a program of the repository was started");
}

#[tokio::test]
async fn a_diff_between_trees_is_not_shown() {
    let folder = repository(&[("a.txt", "one\n"), (".ssh/notes", "hunter2\n")], "HEAD");
    let id = |name: &str| {
        let mut command = std::process::Command::new("git");
        let output = command.args(["rev-parse", name]).current_dir(folder.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let (tree, blob) = (id("HEAD:.ssh"), id("HEAD:.ssh/notes"));
    for reference in [
        format!("{EMPTY_TREE}..{tree}"),
        tree.clone(),
        blob,
        format!("HEAD..{tree}"),
        "HEAD^{tree}".to_owned(),
    ] {
        let refs = format!(r#"["diff:{reference}"]"#);
        folder.write("prompt.json", document(&[("context_refs", refs.as_str())]));
        let finished = stave(&folder, ["prompt", "compile", "prompt.json", "--text"]).finish().await;
        assert!(!finished.stdout.contains("hunter2"), "{reference}: {finished}");
    }
}
