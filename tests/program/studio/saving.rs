//! Saves that meet each other, a reload, a limit or a full disk: no text is lost without its writer hearing of it.

use std::sync::Arc;

use stave_canon::prefixed_sha256;

use super::files::put;
use crate::json::text;
use crate::process::stave;
use crate::serve::{Served, careful, echo, project};

const FLOW: &str = "flows/echo.yaml";
/// The longest text that the studio takes.
const TEXT_BYTES: usize = 2 * 1024 * 1024;

/// A flow of exactly this many bytes.
fn padded(flow: &str, bytes: usize) -> String {
    let mut flow = flow.to_owned();
    flow.push_str("# ");
    flow.push_str(&"x".repeat(bytes - flow.len() - 1));
    flow.push('\n');
    flow
}

#[tokio::test]
async fn of_writers_with_the_same_version_one_saves_and_the_others_hear_the_current_one() {
    let folder = project();
    let served = Arc::new(Served::start(&folder, &[]).await);
    let base = prefixed_sha256(folder.read(FLOW));
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..8 {
        let (served, base) = (Arc::clone(&served), base.clone());
        let mine = echo(&format!("writer {number} "));
        writers.spawn(async move { (put(&served, FLOW, &mine, Some(&base)).await, mine) });
    }
    let answers = writers.join_all().await;
    let saved: Vec<&String> =
        answers.iter().filter(|(answer, _)| answer.status == 200).map(|(_, mine)| mine).collect();
    assert_eq!(saved.len(), 1, "{answers:?}");
    assert_eq!(&folder.read(FLOW), saved[0]);
    let current = prefixed_sha256(saved[0]);
    for (answer, _) in answers.iter().filter(|(answer, _)| answer.status != 200) {
        let problem = answer.problem(409, "changed-on-disk");
        assert_eq!(text(&problem, "hash"), Some(current.as_str()), "{problem}");
    }
}

#[tokio::test]
async fn a_save_with_a_version_that_is_gone_changes_nothing_and_names_the_current_one() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let stale = prefixed_sha256(folder.read(FLOW));
    folder.write(FLOW, echo("an editor on the disk "));
    let current = prefixed_sha256(folder.read(FLOW));
    let versions = [Some(stale.as_str()), None, Some(""), Some("sha256:0"), Some("*")];
    for version in versions {
        let problem = put(&served, FLOW, &echo("mine "), version).await.problem(409, "changed-on-disk");
        assert_eq!(text(&problem, "hash"), Some(current.as_str()), "{version:?}: {problem}");
        assert_eq!(folder.read(FLOW), echo("an editor on the disk "), "{version:?}");
    }
    // With the version that the refusal names, the save is made.
    put(&served, FLOW, &echo("mine "), Some(&current)).await.is(200);
    assert_eq!(folder.read(FLOW), echo("mine "));
    // A file that is gone is not made again by somebody who believes that it is there.
    std::fs::remove_file(folder.path().join(FLOW)).unwrap();
    let now = prefixed_sha256(echo("mine "));
    let problem = put(&served, FLOW, &echo("more "), Some(&now)).await.problem(409, "changed-on-disk");
    assert_eq!(problem.get("hash"), Some(&stave_canon::Value::Null), "{problem}");
    assert!(!folder.has(FLOW));
    put(&served, FLOW, &echo("more "), None).await.is(200);
}

#[tokio::test]
async fn a_save_whose_answer_was_lost_can_be_repeated() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let base = prefixed_sha256(folder.read(FLOW));
    for _ in 0..3 {
        let written = put(&served, FLOW, &echo("once "), Some(&base)).await.is(200).json();
        assert_eq!(text(&written, "hash"), Some(prefixed_sha256(echo("once ")).as_str()), "{written}");
        assert_eq!(text(&written, "served"), Some("echo"), "{written}");
    }
    assert_eq!(folder.read(FLOW), echo("once "));
    // Somebody else's text in between is not taken for one's own.
    let now = prefixed_sha256(echo("once "));
    put(&served, FLOW, &echo("theirs "), Some(&now)).await.is(200);
    put(&served, FLOW, &echo("once "), Some(&base)).await.problem(409, "changed-on-disk");
    assert_eq!(folder.read(FLOW), echo("theirs "));
}

#[tokio::test]
async fn saves_during_hot_reloads_are_kept_and_served() {
    let folder = Arc::new(project());
    let served = Served::start(&folder, &[]).await;
    let mut now = prefixed_sha256(folder.read(FLOW));
    for round in 0..12 {
        let mine = echo(&format!("round {round} "));
        // Another flow of the project changes on disk at the same time, so that the server is about to load.
        let (folder_of_others, word) = (Arc::clone(&folder), format!("paid {round}"));
        let others = tokio::task::spawn_blocking(move || {
            folder_of_others.write("flows/careful.yaml", careful(&word));
        });
        let (answer, others) = tokio::join!(put(&served, FLOW, &mine, Some(&now)), others);
        others.unwrap();
        let written = answer.is(200).json();
        now = text(&written, "hash").unwrap().to_owned();
        assert_eq!(folder.read(FLOW), mine);
        let answer = served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.is(200);
        assert_eq!(answer.json().get("reply"), Some(&format!("round {round} hi").into()), "round {round}");
    }
    assert_eq!(folder.read(FLOW), echo("round 11 "));
}

#[tokio::test]
async fn a_text_beyond_the_limit_is_refused_and_the_file_stays() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let base = prefixed_sha256(folder.read(FLOW));
    for bytes in [TEXT_BYTES + 1, 2 * TEXT_BYTES] {
        let too_long = put(&served, FLOW, &padded(&echo(""), bytes), Some(&base)).await;
        too_long.problem(413, "body-too-large");
        assert_eq!(folder.read(FLOW), echo(""));
    }
    // What is saved can be read again: both sides have the same limit.
    let longest = padded(&echo("long "), TEXT_BYTES);
    put(&served, FLOW, &longest, Some(&base)).await.is(200);
    let read = served.get("/studio/file?path=flows%2Fecho.yaml").await.is(200).json();
    assert_eq!(text(&read, "text").map(str::len), Some(TEXT_BYTES));
    assert_eq!(folder.read(FLOW), longest);
}

#[cfg(unix)]
#[tokio::test]
async fn a_save_that_the_disk_does_not_take_leaves_the_old_file_whole() {
    let folder = project();
    let call = stave(&folder, ["serve", "--port", "0"]).with_largest_file(1024 * 1024);
    let served = Served::of(call).await;
    let base = prefixed_sha256(folder.read(FLOW));
    for _ in 0..2 {
        let refused = put(&served, FLOW, &padded(&echo("large "), 1_500_000), Some(&base)).await;
        assert_eq!(refused.status, 500, "{refused:?}");
        assert!(refused.body.contains("echo.yaml can't be written"), "{refused:?}");
        assert_eq!(folder.read(FLOW), echo(""));
    }
    // Nothing half written is left behind, and the server continues.
    let mut names: Vec<_> = std::fs::read_dir(folder.path().join("flows"))
        .unwrap()
        .flatten()
        .map(|file| file.file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["careful.yaml", "echo.yaml"]);
    put(&served, FLOW, &echo("small "), Some(&base)).await.is(200);
    assert_eq!(folder.read(FLOW), echo("small "));
    let answer = served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.is(200);
    assert_eq!(answer.json().get("reply"), Some(&"small hi".into()));
}
