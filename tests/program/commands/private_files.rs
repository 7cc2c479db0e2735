//! Files with values, keys and records are their owner's alone, and a looser mode is reported.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::sample::asker;
use crate::folder::Folder;
use crate::process::stave;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn loosen(folder: &Folder, path: &str, mode: u32) {
    std::fs::set_permissions(folder.path().join(path), PermissionsExt::from_mode(mode)).unwrap();
}

const CODE: &str = r#"version: "1.0"
metadata: {name: plain}
context: {requires: [q]}
nodes:
  give:
    type: transform
    inputs: [{name: q, type: string}]
    outputs: [{name: a, type: string}]
    transform: {mode: declarative, spec: {op: io.format_response, args: {template: "${q}"}}}
edges:
  - {from: _input.q, to: give.q}
  - {from: give.a, to: _output.a}
"#;

#[tokio::test]
async fn what_a_run_leaves_behind_is_private() {
    let folder = Folder::new();
    folder.write("flow.yaml", CODE);
    let run = ["run", "flow.yaml", "--input", "-", "--json"];
    let finished = stave(&folder, run).input(r#"{"q": "Why?"}"#).finish().await.exits(0).json();
    let id = finished.get("run_id").and_then(|id| id.as_str()).unwrap().to_owned();
    stave(&folder, ["runs", "report", &id, "--out", "page.html"]).finish().await.exits(0);
    assert_eq!(mode(&folder.path().join("page.html")), 0o600);
    assert_eq!(mode(&folder.path().join(".stave")), 0o700);
    for entry in std::fs::read_dir(folder.path().join(".stave")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() && path.to_string_lossy().contains(".sqlite") {
            assert_eq!(mode(&path), 0o600, "{}", path.display());
        }
    }
    loosen(&folder, ".stave", 0o755);
    loosen(&folder, ".stave/stave.sqlite", 0o644);
    loosen(&folder, "page.html", 0o644);
    let finished = stave(&folder, run).input(r#"{"q": "Why?"}"#).finish().await.exits(0);
    assert!(finished.stderr.contains("stave.sqlite can be read by everybody"), "{finished}");
    loosen(&folder, ".stave/stave.sqlite", 0o640);
    let finished = stave(&folder, ["runs", "list"]).finish().await.exits(0);
    assert!(finished.stderr.contains("stave.sqlite can be read by its group"), "{finished}");
    let finished = stave(&folder, ["runs", "report", &id, "--out", "page.html"]).finish().await.exits(0);
    assert!(finished.stderr.contains("page.html can be read by everybody"), "{finished}");
}

#[tokio::test]
async fn the_rooms_of_a_state_folder_are_private() {
    let folder = Folder::new();
    let mut flows = Vec::new();
    for tenant in ["acme", "globex"] {
        folder.write(&format!("{tenant}/stave.toml"), format!("[project]\ntenant = \"{tenant}\"\n"));
        folder.write(&format!("{tenant}/flows/flow.yaml"), CODE);
        flows.push(format!("{tenant}/flows"));
    }
    let arguments: Vec<&str> = flows.iter().map(String::as_str).chain(["--state-dir", "kept"]).collect();
    let served = crate::serve::client::Served::start(&folder, &arguments).await;
    served.get("/v2/health/ready").await.is(200);
    let mut open = vec![folder.path().join("kept")];
    let mut files = 0;
    while let Some(path) = open.pop() {
        if path.is_dir() {
            assert_eq!(mode(&path), 0o700, "{}", path.display());
            open.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            assert_eq!(mode(&path), 0o600, "{}", path.display());
            files += 1;
        }
    }
    assert!(files >= 4, "{files} files");
}

#[tokio::test]
async fn planners_keep_what_they_learned_to_themselves() {
    let folder = Folder::new();
    folder.write("flow.yaml", asker(9));
    folder.write(
        "trace.jsonl",
        r#"{"t":0,"session":"a","body":{"model":"claude-sonnet-4-5","max_tokens":1,"messages":[{"role":"user","content":"Hello"}]}}"#,
    );
    let finished = stave(
        &folder,
        ["cache", "rewrite", "trace.jsonl", "--provider", "anthropic", "--state", "planner.sqlite"],
    )
    .finish()
    .await;
    if folder.has("planner.sqlite") {
        assert_eq!(mode(&folder.path().join("planner.sqlite")), 0o600, "{finished}");
    } else {
        panic!("{finished}");
    }
}
