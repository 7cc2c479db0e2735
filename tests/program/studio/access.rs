//! Who may ask, from where, and what the page may do.

use crate::serve::{Served, careful, echo, project};

const KEY: &str = "acme-key-0123456789";

#[tokio::test]
async fn the_page_needs_no_key_and_what_it_asks_for_does() {
    let folder = project();
    folder.write("keys.txt", format!("acme {KEY}\nglobex globex-key-0123456789 name=gus roles=admin\n"));
    let mut served = Served::start(&folder, &["--api-keys", "keys.txt"]).await;
    let page = served.get("/").await.is(200);
    assert!(page.head.contains("content-type: text/html"), "{page:?}");
    let policy = page.head.lines().find(|line| line.starts_with("content-security-policy")).unwrap();
    assert!(policy.contains("script-src 'self';") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(page.head.contains("x-content-type-options: nosniff"), "{page:?}");
    assert!(!page.body.contains("<script>") && !page.body.contains("javascript:"), "{page:?}");
    for path in ["/studio/session", "/studio/files", "/studio/file?path=flows/echo.yaml", "/studio/palette"] {
        served.get(path).await.problem(401, "unauthorized");
    }
    served.post("/studio/analyse", r#"{"text": ""}"#).await.problem(401, "unauthorized");
    served.with_key(Some(KEY));
    let session = served.get("/studio/session").await.is(200).json();
    assert_eq!(session.get("tenant"), Some(&"acme".into()), "{session}");
    assert_eq!(session.get("keys"), Some(&true.into()), "{session}");
    // Another tenant's project is not there.
    served.with_key(Some("globex-key-0123456789"));
    let files = served.get("/studio/files").await.is(200);
    assert_eq!(files.body, r#"{"files":[]}"#);
    served.get("/studio/file?path=flows/echo.yaml").await.problem(404, "not-found");
    let body = r#"{"path": "flows/echo.yaml", "text": "x", "hash": null}"#;
    let headers = [("content-type", "application/json")];
    served.ask("PUT", "/studio/file", &headers, Some(body)).await.problem(404, "not-found");
    served.post("/studio/run", r#"{"path": "flows/echo.yaml", "input": {}}"#).await.problem(404, "not-found");
}

#[tokio::test]
async fn pages_of_other_sites_and_other_names_are_refused() {
    let folder = project();
    let served = Served::start(&folder, &[]).await;
    for path in ["/", "/studio/session", "/studio/files"] {
        served.ask("GET", path, &[("host", "evil.example")], None).await.problem(403, "foreign-origin");
        let foreign = [("origin", "https://evil.example")];
        served.ask("GET", path, &foreign, None).await.problem(403, "foreign-origin");
    }
    let headers = [("content-type", "text/plain")];
    let answer = served.ask("POST", "/studio/analyse", &headers, Some(r#"{"text": ""}"#)).await;
    answer.problem(415, "unsupported-media-type");
}

#[tokio::test]
async fn the_studio_can_be_turned_off_and_told_to_change_nothing() {
    let folder = project();
    let served = Served::start(&folder, &["--no-studio"]).await;
    assert_eq!(served.get("/").await.is(200).body, r#"{"live":true}"#);
    for path in ["/studio/session", "/studio/files", "/favicon.svg"] {
        served.get(path).await.is(404);
    }
    drop(served);
    let served = Served::start(&folder, &["--read-only"]).await;
    let session = served.get("/studio/session").await.is(200).json();
    assert_eq!(session.get("read_only"), Some(&true.into()), "{session}");
    let body = r#"{"path": "flows/new.yaml", "text": "x", "hash": null}"#;
    let headers = [("content-type", "application/json")];
    served.ask("PUT", "/studio/file", &headers, Some(body)).await.problem(403, "read-only");
    assert!(!folder.has("flows/new.yaml"));
}

#[tokio::test]
async fn several_projects_have_paths_of_their_own() {
    let folder = crate::folder::Folder::new();
    for repo in ["one", "two"] {
        folder.write(
            &format!("{repo}/stave.toml"),
            format!("[project]\ntenant = \"acme\"\nrepo = \"{repo}\"\n"),
        );
    }
    folder.write("one/flows/echo.yaml", echo(""));
    folder.write("two/flows/careful.yaml", careful("paid"));
    let served = Served::start(&folder, &["one/flows", "two/flows"]).await;
    let files = served.get("/studio/files").await.is(200);
    for path in ["one/flows/echo.yaml", "two/flows/careful.yaml"] {
        assert!(files.body.contains(&format!(r#""path":"{path}""#)), "{files:?}");
        served.get(&format!("/studio/file?path={path}")).await.is(200);
    }
    served.get("/studio/file?path=flows/echo.yaml").await.is(404);
    served.get("/studio/file?path=one/../two/flows/careful.yaml").await.is(404);
}
