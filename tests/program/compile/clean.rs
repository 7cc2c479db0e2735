//! `--clean` and `--clean-all`, as section 3 of the specification says.

use super::sample::{flow, project, published};
use crate::folder::Folder;
use crate::process::stave;

#[tokio::test]
async fn clean_removes_the_documents_and_the_manifest_only() {
    let folder = project();
    folder.write("out/notes.txt", "mine");
    stave(&folder, ["compile", "flows", "--out", "out", "--emit", "exec"]).finish().await.exits(0);
    stave(&folder, ["compile", "--clean", "--out", "out"]).finish().await.exits(0);
    assert_eq!(published(&folder, "out"), [("notes.txt".to_owned(), b"mine".to_vec())]);
    assert!(folder.has("out/.ir-cache"));
}

#[tokio::test]
async fn clean_all_removes_the_whole_folder() {
    let folder = project();
    let compile = ["compile", "flows", "--out", "out"];
    stave(&folder, compile).finish().await.exits(0);
    stave(&folder, ["compile", "--clean-all", "--out", "out"]).finish().await.exits(0);
    assert!(!folder.has("out"));
    stave(&folder, compile).finish().await.exits(0);
    std::fs::remove_file(folder.path().join("flows/double.yaml")).unwrap();
    stave(&folder, ["compile", "flows", "--clean-all", "--out", "out", "--emit", "exec"])
        .finish()
        .await
        .exits(0);
    assert!(folder.has("out/manifest.json"));
    assert!(!folder.has("out/.akc") || published(&folder, "out/.akc").is_empty());
    assert!(!folder.has("out/flows/double.ir.json"));
}

/// Everything below the folder is as it was.
async fn refuses<const N: usize>(folder: &Folder, arguments: [&str; N]) {
    let before = folder.files();
    let told = stave(folder, arguments).finish().await.exits(3);
    assert!(told.stderr.contains("help:"), "{}", told.stderr);
    assert_eq!(folder.files(), before, "{arguments:?}");
}

#[tokio::test]
async fn a_folder_that_holds_files_of_others_is_never_wiped() {
    for foreign in ["out/notes.txt", "out/flows/mine.yaml", "out/deploy/mine.yaml", "out/.ir-cache/mine"] {
        let folder = project();
        stave(&folder, ["compile", "flows", "--out", "out", "--emit", "exec"]).finish().await.exits(0);
        folder.write(foreign, "mine");
        refuses(&folder, ["compile", "--clean-all", "--out", "out"]).await;
        refuses(&folder, ["compile", "flows", "--clean-all", "--out", "out"]).await;
    }
    let folder = project();
    folder.write("home/letters.txt", "mine");
    refuses(&folder, ["compile", "--clean-all", "--out", "home"]).await;
    refuses(&folder, ["compile", "flows", "--clean-all", "--out", "home"]).await;
}

#[tokio::test]
async fn an_output_folder_that_holds_a_source_is_refused() {
    let folder = project();
    folder.write("stave.toml", "");
    folder.write("flows/deep/quadruple.yaml", flow("quadruple", 4));
    let spellings = ["flows", ".", "flows/../flows", "./flows/", "flows/deep", "flows/deep/.."];
    for out in spellings {
        for clean in [None, Some("--clean-all"), Some("--clean")] {
            let before = folder.files();
            let arguments = ["compile", "flows", "--out", out].into_iter().chain(clean);
            stave(&folder, arguments).finish().await.exits(3);
            assert_eq!(folder.files(), before, "{out} {clean:?}");
        }
        if out != "flows/deep" {
            refuses(&folder, ["compile", "flows/double.yaml", "--out", out]).await;
        }
        refuses(&folder, ["compile", "--clean-all", "--out", out]).await;
    }
}

#[cfg(unix)]
#[tokio::test]
async fn links_lead_no_compile_out_of_its_folder() {
    use std::os::unix::fs::symlink;
    let folder = project();
    folder.write("precious/a.ir.json", "mine");
    let link =
        |target: &str, name: &str| symlink(folder.path().join(target), folder.path().join(name)).unwrap();
    link("flows", "out-is-a-link");
    refuses(&folder, ["compile", "flows", "--clean-all", "--out", "out-is-a-link"]).await;
    for (target, name) in [
        ("flows", "one/flows"),
        ("precious", "two/flows"),
        ("precious/a.ir.json", "three/manifest.json"),
        ("precious", "four/.ir-cache"),
        ("precious/a.ir.json", "five/flows/double.ir.json"),
        ("precious", ".six.stave-staging"),
    ] {
        let out = name.split('/').next().unwrap().trim_start_matches('.').trim_end_matches(".stave-staging");
        std::fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
        link(target, name);
        for clean in [None, Some("--clean-all")] {
            let before = folder.files();
            let arguments = ["compile", "flows", "--out", out, "--emit", "exec"].into_iter().chain(clean);
            stave(&folder, arguments).finish().await.exits(3);
            assert_eq!(folder.files(), before, "{out} {clean:?}");
        }
        assert_eq!(folder.read("precious/a.ir.json"), "mine");
    }
}

#[tokio::test]
async fn a_file_that_was_not_compiled_is_not_overwritten_or_pruned() {
    let folder = project();
    for (path, text) in [
        ("out/manifest.json", "{\"name\": \"my web site\"}"),
        ("out/flows/double.ir.json", "{\"notes\": []}"),
    ] {
        folder.write(path, text);
        refuses(&folder, ["compile", "flows", "--out", "out", "--emit", "exec"]).await;
        std::fs::remove_file(folder.path().join(path)).unwrap();
    }
    // Beside outputs, files that only look like outputs stay.
    folder.write("out/flows/notes.ir.json", "{\"notes\": []}");
    folder.write("out/deploy/mine.yaml", "kind: Mine\n");
    stave(&folder, ["compile", "flows", "--out", "out"]).finish().await.exits(0);
    stave(&folder, ["compile", "--clean", "--out", "out"]).finish().await.exits(0);
    assert_eq!(folder.read("out/flows/notes.ir.json"), "{\"notes\": []}");
    assert_eq!(folder.read("out/deploy/mine.yaml"), "kind: Mine\n");
    assert!(!folder.has("out/flows/double.ir.json"));
}

#[tokio::test]
async fn a_forged_record_or_manifest_removes_nothing_foreign() {
    let folder = project();
    stave(&folder, ["compile", "flows", "--out", "out", "--emit", "exec"]).finish().await.exits(0);
    folder.write("precious.ir.json", "mine");
    folder.write("out/notes.txt", "mine");
    let hash = stave_canon::sha256_hex(b"mine");
    let absolute = folder.path().join("precious.ir.json").display().to_string();
    let paths = ["notes.txt", "../precious.ir.json", "flows/../../precious.ir.json", absolute.as_str()];
    let files: Vec<String> = paths.iter().map(|path| format!("\"{path}\": [\"{hash}\"]")).collect();
    folder.write(
        "out/.ir-cache/outputs.json",
        format!("{{\"version\": 1, \"files\": {{{}}}}}", files.join(", ")),
    );
    let manifest = folder.read("out/manifest.json").replace("flows/double.ir.json", "../precious.ir.json");
    folder.write("out/manifest.json", manifest);
    stave(&folder, ["compile", "--clean", "--out", "out"]).finish().await.exits(0);
    stave(&folder, ["compile", "--clean-all", "--out", "out"]).finish().await.exits(3);
    stave(&folder, ["compile", "flows", "--out", "out", "--emit", "exec"]).finish().await.exits(0);
    assert_eq!(folder.read("precious.ir.json"), "mine");
    assert_eq!(folder.read("out/notes.txt"), "mine");
}

#[tokio::test]
async fn outputs_of_an_earlier_version_without_a_record_are_replaced() {
    let folder = project();
    let compile = ["compile", "flows", "--out", "out", "--emit", "exec"];
    stave(&folder, compile).finish().await.exits(0);
    std::fs::remove_dir_all(folder.path().join("out/.ir-cache")).unwrap();
    folder.write("flows/double.yaml", flow("double", 7));
    std::fs::remove_file(folder.path().join("flows/triple.yaml")).unwrap();
    stave(&folder, compile).finish().await.exits(0);
    assert!(folder.read("out/flows/double.ir.json").contains("* 7"));
    assert!(!folder.has("out/flows/triple.ir.json"));
}
