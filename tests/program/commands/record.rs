//! `stave run --record` and `--replay`: model exchanges written down, and answered from what was written.

use super::sample::{LOOPBACK, asker};
use crate::folder::Folder;
use crate::json::{text, values};
use crate::mask::mask;
use crate::process::stave;
use crate::scripted::model::ModelScript;

/// A folder with the flow for a model at a port, and a request.
fn project(port: u16) -> Folder {
    let folder = Folder::new();
    folder.write("stave.toml", LOOPBACK);
    folder.write("flow.yaml", asker(port));
    folder.write("request.json", r#"{"q": "Why is the sky blue?"}"#);
    folder
}

const RUN: [&str; 5] = ["run", "flow.yaml", "--input", "request.json", "--json"];

#[tokio::test]
async fn a_recording_answers_without_the_model_and_without_a_key() {
    let model = ModelScript::new(&values(r#"[{"content": "Short waves scatter more."}]"#));
    let server = model.serve().await;
    let folder = project(server.port);
    stave(&folder, RUN.into_iter().chain(["--record", "recording.yaml"])).finish().await.exits(0);
    assert_eq!(model.log.lock().calls.len(), 1);
    insta::assert_snapshot!(folder.read("recording.yaml"));
    let replayed = stave(&folder, RUN.into_iter().chain(["--replay", "recording.yaml"]));
    let report = replayed.without_env("OPENAI_API_KEY").finish().await.exits(0).json();
    assert_eq!(
        report.pointer("/output/a").and_then(stave_canon::Value::as_str),
        Some("Short waves scatter more.")
    );
    assert_eq!(model.log.lock().calls.len(), 1, "the model is not asked again");
}

#[tokio::test]
async fn a_request_that_was_not_recorded_shows_the_difference() {
    let model = ModelScript::new(&values(r#"[{"content": "Short waves scatter more."}]"#));
    let server = model.serve().await;
    let folder = project(server.port);
    stave(&folder, RUN.into_iter().chain(["--record", "recording.yaml"])).finish().await.exits(0);
    folder.write("request.json", r#"{"q": "Why is the sea blue?"}"#);
    let arguments = ["run", "flow.yaml", "--input", "request.json", "--replay", "recording.yaml"];
    let finished = stave(&folder, arguments).finish().await.exits(1);
    insta::assert_snapshot!(mask(&finished.stderr, &folder));
    assert_eq!(model.log.lock().calls.len(), 1, "the model is not asked in place of the recording");
}

#[tokio::test]
async fn the_project_may_name_its_recording_and_live_asks_the_model() {
    let model = ModelScript::new(&values(r#"[{"content": "from the model"}]"#));
    let server = model.serve().await;
    let folder = project(server.port);
    folder.write("stave.toml", format!("{LOOPBACK}[recordings]\nreplay = \"recording.yaml\"\n"));
    folder.write(
        "recording.yaml",
        "version: 1\nexchanges:\n  - match: {contains: sky}\n    response: from the file\n",
    );
    let answer = async |options: &[&str]| {
        let report = stave(&folder, RUN.iter().chain(options)).finish().await.exits(0).json();
        text(report.get("output").unwrap(), "a").unwrap().to_owned()
    };
    assert_eq!(answer(&[]).await, "from the file");
    assert_eq!(answer(&["--live"]).await, "from the model");
}

#[tokio::test]
async fn a_recording_that_can_not_be_read_is_invalid_at_its_place() {
    let folder = project(9);
    folder.write("recording.yaml", "version: 1\nexchanges:\n  - answer: yes\n");
    let finished =
        stave(&folder, RUN.into_iter().chain(["--replay", "recording.yaml"])).finish().await.exits(2);
    insta::assert_snapshot!(finished.stderr);
    stave(&folder, RUN.into_iter().chain(["--replay", "none.yaml"])).finish().await.exits(2);
}

#[tokio::test]
async fn recording_and_replaying_exclude_each_other() {
    let folder = project(9);
    let both = stave(&folder, RUN.into_iter().chain(["--replay", "a.yaml", "--record", "b.yaml"]));
    let finished = both.finish().await.exits(2);
    assert!(finished.stderr.contains("--record"), "{finished}");
}

#[tokio::test]
async fn a_file_that_is_not_a_recording_is_not_recorded_over() {
    let model = ModelScript::new(&values(r#"[{"content": "Hm."}]"#));
    let server = model.serve().await;
    let folder = project(server.port);
    for name in ["stave.toml", "flow.yaml", "request.json"] {
        let before = folder.read(name);
        stave(&folder, RUN.into_iter().chain(["--record", name])).finish().await.exits(3);
        assert_eq!(folder.read(name), before, "{name}");
    }
    assert_eq!(model.log.lock().calls.len(), 0, "nobody is asked for what can't be kept");
}

#[tokio::test]
async fn a_flow_s_recording_replaces_nothing_but_recordings_of_its_project() {
    let model = ModelScript::new(&values(r#"[{"content": "Hm."}]"#));
    let server = model.serve().await;
    let outer = Folder::new();
    outer.write("precious.txt", "keep me\n");
    outer.write("elsewhere/kept.yaml", "version: 1\nexchanges: []\n");
    outer.write("project/stave.toml", LOOPBACK);
    outer.write("project/note.txt", "keep me\n");
    outer.write("project/recordings/asks.http.json", "{}\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink("../elsewhere", outer.path().join("project/link")).unwrap();
    let kept = ["precious.txt", "elsewhere/kept.yaml", "project/stave.toml", "project/note.txt"];
    let before = kept.map(|name| outer.read(name));
    for name in [
        "../precious.txt",
        "../new.yaml",
        "stave.toml",
        "flow.yaml",
        "note.txt",
        "link/kept.yaml",
        "link/new.yaml",
        "recordings/asks.yaml",
    ] {
        let tests =
            format!("tests:\n  - {{name: asks, request: {{q: hm}}, recording: {name}, expect: {{}}}}\n");
        outer.write("project/flow.yaml", asker(server.port) + &tests);
        let flow = outer.read("project/flow.yaml");
        let finished = stave(&outer, ["test", "project/flow.yaml", "--record"]).finish().await;
        assert_ne!(finished.code, 0, "{name}: {finished}");
        assert_eq!(outer.read("project/flow.yaml"), flow, "{name}");
        assert_eq!(kept.map(|name| outer.read(name)), before, "{name}");
        assert!(!outer.path().join("new.yaml").exists() && !outer.path().join("elsewhere/new.yaml").exists());
    }
    assert_eq!(model.log.lock().calls.len(), 0, "nobody is asked for what can't be kept");
}
