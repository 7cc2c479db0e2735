//! Files: read, written when they are what they were, and served at once.

use stave_canon::{Value, prefixed_sha256};

use crate::json::{items, text};
use crate::serve::{Answer, Served, echo, project};

pub(super) async fn put(served: &Served, path: &str, content: &str, hash: Option<&str>) -> Answer {
    let body = Value::from_iter([
        ("path", Value::from(path)),
        ("text", content.into()),
        ("hash", hash.map(str::to_owned).into()),
    ]);
    served.ask("PUT", "/studio/file", &[("content-type", "application/json")], Some(&body.to_string())).await
}

#[tokio::test]
async fn a_file_that_is_written_is_served_when_the_answer_comes() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    let files = served.get("/studio/files").await.is(200).json();
    let paths: Vec<&str> = items(&files, "files").iter().filter_map(|file| text(file, "path")).collect();
    assert_eq!(paths, ["flows/careful.yaml", "flows/echo.yaml"], "{files}");
    let read = served.get("/studio/file?path=flows%2Fecho.yaml").await.is(200).json();
    assert_eq!(text(&read, "text"), Some(echo("").as_str()));
    let hash = text(&read, "hash").unwrap().to_owned();
    for prefix in ["first ", "second "] {
        let now = prefixed_sha256(folder.read("flows/echo.yaml"));
        let written = put(&served, "flows/echo.yaml", &echo(prefix), Some(&now)).await.is(200).json();
        assert_eq!(text(&written, "served"), Some("echo"), "{written}");
        assert_eq!(text(&written, "hash"), Some(prefixed_sha256(echo(prefix)).as_str()));
        let answer = served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.is(200);
        assert_eq!(answer.json().get("reply"), Some(&format!("{prefix}hi").into()), "at once");
    }
    // Somebody else was faster.
    let refused = put(&served, "flows/echo.yaml", &echo("mine "), Some(&hash)).await;
    let problem = refused.problem(409, "changed-on-disk");
    assert_eq!(text(&problem, "hash"), Some(prefixed_sha256(echo("second ")).as_str()));
    assert_eq!(folder.read("flows/echo.yaml"), echo("second "));
    // A file with mistakes is written, and served as it was before.
    let broken = echo("second ").replace("to: say.query", "to: nobody.query");
    let now = prefixed_sha256(folder.read("flows/echo.yaml"));
    put(&served, "flows/echo.yaml", &broken, Some(&now)).await.is(200);
    served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.is(200);
    let made = echo("new ").replace("name: echo", "name: fresh");
    let written = put(&served, "flows/fresh.yaml", &made, None).await.is(200).json();
    assert_eq!(text(&written, "served"), Some("fresh"), "{written}");
}

#[tokio::test]
async fn nothing_outside_of_the_project_is_read_or_written() {
    let folder = project();
    folder.write("policies/default.yaml", "secret: 1\n");
    folder.write("outside.yaml", "secret: 1\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc/hostname", folder.path().join("flows/link.yaml")).unwrap();
    let served = Served::start(&folder, &["flows/echo.yaml", "flows/careful.yaml"]).await;
    let long = format!("flows/{}.yaml", "a".repeat(5000));
    for path in [
        "../outside.yaml",
        "flows/../outside.yaml",
        "flows/..%2Foutside.yaml",
        "policies/default.yaml",
        "outside.yaml",
        "/etc/passwd",
        "stave.toml",
        "flows/link.yaml",
        "flows/%00.yaml",
        ".stave/stave.sqlite",
        long.as_str(),
    ] {
        let answer = served.get(&format!("/studio/file?path={path}")).await;
        assert!(matches!(answer.status, 400 | 404), "{path}: {answer:?}");
        // In a body nothing is encoded, so that these are names like any other.
        if path.contains('%') {
            continue;
        }
        let answer = put(&served, path, "x: 1\n", None).await;
        assert!((400..500).contains(&answer.status), "{path}: {answer:?}");
    }
    assert_eq!(folder.read("outside.yaml"), "secret: 1\n");
    let too_long = put(&served, "flows/long.yaml", &"x".repeat(3 * 1024 * 1024), None).await;
    too_long.problem(413, "body-too-large");
    put(&served, "flows/a.yaml", "x", Some("no hash")).await.problem(409, "changed-on-disk");
    let body = r#"{"path": "flows/a.yaml", "text": "x"}"#;
    let headers = [("content-type", "application/json")];
    served.ask("PUT", "/studio/file", &headers, Some(body)).await.problem(400, "bad-request");
}

#[tokio::test]
async fn projects_of_one_name_are_told_apart_by_their_folders() {
    let folder = crate::folder::Folder::new();
    for (place, name) in [("a", "echo"), ("b", "other")] {
        folder.write(&format!("{place}/desk/stave.toml"), "");
        let flow = echo("").replace("name: echo", &format!("name: {name}"));
        folder.write(&format!("{place}/desk/flows/{name}.yaml"), flow);
    }
    for order in [["a/desk/flows", "b/desk/flows"], ["b/desk/flows", "a/desk/flows"]] {
        let served = Served::start(&folder, &order).await;
        let files = served.get("/studio/files").await.is(200).json();
        let mut paths: Vec<&str> =
            items(&files, "files").iter().filter_map(|file| text(file, "path")).collect();
        paths.sort_unstable();
        assert_eq!(paths, ["desk@a/flows/echo.yaml", "desk@b/flows/other.yaml"], "{files}");
        served.get("/studio/file?path=desk%40b%2Fflows%2Fother.yaml").await.is(200);
        served.end().await;
    }
}
