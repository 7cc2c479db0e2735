//! Keys and tenants: nobody sees what belongs to another.

use super::client::Served;
use super::sample::{careful, echo, project};
use crate::commands::signed;
use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::stave;

const ACME: &str = "acme-key-0123456789";
const GLOBEX: &str = "globex-key-0123456789";

fn two_tenants() -> Folder {
    let folder = Folder::new();
    for tenant in ["acme", "globex"] {
        let settings = format!("[project]\ntenant = \"{tenant}\"\nrepo = \"shop\"\n");
        folder.write(&format!("{tenant}/stave.toml"), settings);
        folder.write(&format!("{tenant}/flows/echo.yaml"), echo(&format!("{tenant} ")));
    }
    folder.write("globex/flows/careful.yaml", careful("paid"));
    folder.write("keys.txt", format!("# tenant key\nacme {ACME} name=ann roles=admin\nglobex {GLOBEX}\n"));
    folder
}

#[tokio::test]
async fn a_key_opens_the_flows_and_runs_of_its_tenant_only() {
    let folder = two_tenants();
    let paths = ["acme/flows", "globex/flows", "--api-keys", "keys.txt"];
    let mut served = Served::start(&folder, &paths).await;
    served.get("/v2/health/ready").await.is(200);
    for path in ["/v1/models", "/runs", "/metrics", "/openapi.json", "/v2/models/echo"] {
        let refused = served.get(path).await;
        refused.problem(401, "unauthorized");
        assert!(refused.head.contains("www-authenticate: bearer"), "{refused:?}");
    }
    served.with_key(Some("wrong-key-0123456789"));
    let unknown = served.get("/v1/models").await.problem(401, "unauthorized");
    assert_eq!(text(&unknown, "detail"), Some("the key is not known here"), "{unknown}");

    served.with_key(Some(ACME));
    assert_eq!(served.get("/v1/models").await.is(200).body, r#"{"models":["echo"]}"#);
    let answer = served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.is(200);
    assert_eq!(answer.json().get("reply"), Some(&"acme hi".into()));
    served.post("/v1/models/careful:predict", r#"{"amount": 1}"#).await.problem(404, "not-found");
    let runs = served.get("/runs").await.is(200).json();
    assert_eq!(items(&runs, "runs").len(), 1, "{runs}");

    served.with_key(Some(GLOBEX));
    let answer = served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.is(200);
    assert_eq!(answer.json().get("reply"), Some(&"globex hi".into()));
    let begun = served.post("/runs", r#"{"flow": "careful", "input": {"amount": 1}}"#).await.is(202).json();
    let run = text(&begun, "run_id").unwrap().to_owned();

    served.with_key(Some(ACME));
    for path in ["", "/events"] {
        served.get(&format!("/runs/{run}{path}")).await.problem(404, "not-found");
    }
    for path in ["cancel", "resume", "nodes/ask/decision"] {
        let body = r#"{"approved": true}"#;
        served.post(&format!("/runs/{run}/{path}"), body).await.problem(404, "not-found");
    }
    let listed = served.get("/runs").await.is(200);
    assert!(!listed.body.contains(&run), "{listed:?}");
    let document = served.get("/openapi.json").await.is(200);
    assert!(!document.body.contains("careful"), "another tenant's flow is described");
    let metrics = served.get("/metrics").await.is(200);
    let own = "stave_runs_total{tenant=\"acme\",flow=\"echo\",status=\"ok\"} 1\n";
    assert!(metrics.body.contains(own), "{metrics:?}");
    assert!(!metrics.body.contains("globex") && !metrics.body.contains("careful"), "{metrics:?}");
}

#[tokio::test]
async fn a_shared_state_folder_keeps_tenants_apart_whatever_their_order() {
    let folder = two_tenants();
    let one = ["acme/flows", "--state-dir", "kept", "--api-keys", "keys.txt"];
    let mut served = Served::start(&folder, &one).await;
    served.with_key(Some(ACME));
    let begun = served.post("/runs", r#"{"flow": "echo", "input": {"query": "hi"}}"#).await.is(202).json();
    let run = text(&begun, "run_id").unwrap().to_owned();
    served.end().await;
    // Another project comes first now.
    let two = ["globex/flows", "acme/flows", "--state-dir", "kept", "--api-keys", "keys.txt"];
    let mut served = Served::start(&folder, &two).await;
    served.with_key(Some(GLOBEX));
    served.get(&format!("/runs/{run}")).await.problem(404, "not-found");
    served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.is(200);
    served.with_key(Some(ACME));
    served.get(&format!("/runs/{run}")).await.is(200);
    let runs = served.get("/runs").await.is(200).json();
    assert_eq!(items(&runs, "runs").len(), 1, "{runs}");
}

#[tokio::test]
async fn rooms_of_a_state_folder_are_never_shared() {
    let folder = Folder::new();
    // Names that differ only in what no folder's name is made of are different names.
    let tenants = ["acme", "acme.eu", "acme_eu"];
    for tenant in tenants {
        folder.write(
            &format!("{tenant}/stave.toml"),
            format!("[project]\ntenant = \"{tenant}\"\nrepo = \"shop\"\n"),
        );
        folder.write(&format!("{tenant}/flows/echo.yaml"), echo(""));
    }
    let keys = tenants.map(|tenant| format!("{tenant} {tenant}-key-0123456789\n"));
    folder.write("keys.txt", keys.concat());
    let paths = tenants.map(|tenant| format!("{tenant}/flows"));
    let mut all: Vec<&str> = paths.iter().map(String::as_str).collect();
    all.extend(["--state-dir", "kept", "--api-keys", "keys.txt"]);
    let mut served = Served::start(&folder, &all).await;
    for tenant in tenants {
        served.with_key(Some(&format!("{tenant}-key-0123456789")));
        served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.is(200);
        let runs = served.get("/runs").await.is(200).json();
        assert_eq!(items(&runs, "runs").len(), 1, "{tenant} sees {runs}");
    }
    served.end().await;

    folder.write("twin/stave.toml", "[project]\ntenant = \"acme.eu\"\nrepo = \"shop\"\n");
    folder.write("twin/flows/other.yaml", echo("").replace("name: echo", "name: other"));
    all.insert(0, "twin/flows");
    let serve = ["serve", "--port", "0"].iter().chain(&all);
    let refused = stave(&folder, serve).finish().await.exits(2);
    assert!(
        refused.stderr.contains("acme.eu/shop") && refused.stderr.contains("[project] repo"),
        "{refused}"
    );
}

#[tokio::test]
async fn beyond_this_machine_a_key_is_needed() {
    let folder = project();
    let refused = stave(&folder, ["serve", "--host", "0.0.0.0", "--port", "0"]).finish().await.exits(3);
    assert!(refused.stderr.contains("--api-keys"), "{refused}");
    folder.write("keys.txt", "acme short\n");
    let bad = ["serve", "--host", "0.0.0.0", "--port", "0", "--api-keys", "keys.txt"];
    let refused = stave(&folder, bad).finish().await.exits(2);
    assert!(refused.stderr.contains("line 1"), "{refused}");
    assert!(!refused.stderr.contains("short\n"), "{refused}");
    let served = Served::start(&folder, &["--host", "0.0.0.0", "--without-keys"]).await;
    served.get("/v1/models").await.is(200);
}

#[tokio::test]
async fn what_has_mistakes_is_not_served_and_the_other_flows_are() {
    let folder = project();
    folder.write("flows/echo.yaml", echo("").replace("to: say.query", "to: nobody.query"));
    folder.write("flows/twin.yaml", folder.read("flows/careful.yaml"));
    // With the studio, in which mistakes can be fixed, and without it.
    for options in [&[][..], &["--no-studio"]] {
        let all = ["serve", "--port", "0"].iter().chain(options);
        let mut process = stave(&folder, all).start();
        let log = process.wait_for_stderr("on http://").await;
        assert!(log.contains("dangling-edge") && log.contains("flows/echo.yaml is not served"), "{log}");
        assert!(log.contains("shared-flow-name") && log.contains("flows/twin.yaml is not served"), "{log}");
        process.terminate();
        process.finish().await;
        let mut served = Served::start(&folder, options).await;
        let models = served.get("/v1/models").await.is(200).json();
        assert_eq!(models.get("models").unwrap().to_string(), r#"["careful"]"#, "{models}");
        let not_served = items(&models, "not_served");
        let of = |path: &str| {
            let found = not_served.iter().find(|one| text(one, "file") == Some(path));
            found.unwrap_or_else(|| panic!("{path}: {models}"))
        };
        let broken = of("flows/echo.yaml");
        assert_eq!(text(broken, "code"), Some("unconnected-input"), "{models}");
        assert_eq!(text(broken.get("at").unwrap(), "file"), Some("flows/echo.yaml"), "{models}");
        let twin = of("flows/twin.yaml");
        assert_eq!(text(twin, "code"), Some("shared-flow-name"), "{models}");
        assert_eq!(twin.pointer("/at/line"), Some(&2.into()), "{models}");
        let ready = served.get("/v2/health/ready").await.is(200).json();
        assert_eq!(ready.get("not_served"), Some(&2.into()), "{ready}");
        served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.problem(404, "not-found");
        // A fixed flow is served without a restart.
        folder.write("flows/echo.yaml", echo(""));
        served.process.wait_for_stderr("serving `careful`, `echo`\n").await;
        served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.is(200);
        served.end().await;
        folder.write("flows/echo.yaml", echo("").replace("to: say.query", "to: nobody.query"));
    }
    // Without any flow that can be served there is no server, except one with a studio in which to fix them.
    folder.write("flows/careful.yaml", "version: 1");
    folder.write("flows/twin.yaml", "version: 1");
    let refused = stave(&folder, ["serve", "--port", "0", "--no-studio"]).finish().await.exits(2);
    assert!(refused.stderr.contains("no flow can be served"), "{refused}");
    assert!(refused.stderr.contains("dangling-edge"), "{refused}");
    Served::start(&folder, &[]).await;
    let nothing = Folder::new();
    stave(&nothing, ["serve", "--port", "0"]).finish().await.exits(2);
}

#[tokio::test]
async fn mistakes_of_one_tenant_keep_no_other_from_being_served() {
    let folder = two_tenants();
    let flows = ["acme/flows", "globex/flows", "--api-keys", "keys.txt"];
    folder.write("globex/flows/broken.yaml", echo("").replace("to: say.query", "to: nobody.query"));
    folder.write("globex/flows/twin.yaml", echo("twin "));
    let mut served = Served::start(&folder, &flows).await;
    served.get("/v2/health/ready").await.is(200);
    served.with_key(Some(ACME));
    served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.is(200);
    assert!(!served.get("/v1/models").await.is(200).body.contains("not_served"), "of another tenant");
    served.with_key(Some(GLOBEX));
    served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.is(200);
    let models = served.get("/v1/models").await.is(200).json();
    let not_served = items(&models, "not_served");
    let broken = not_served.iter().find(|one| text(one, "file").is_some_and(|file| file.contains("broken")));
    let broken = broken.unwrap_or_else(|| panic!("{models}"));
    assert_eq!(text(broken, "code"), Some("unconnected-input"), "{models}");
    assert_eq!(text(broken.get("at").unwrap(), "file"), Some("globex/flows/broken.yaml"), "{models}");
    assert!(broken.pointer("/at/line").and_then(stave_canon::Value::as_f64) > Some(1.0), "{models}");
    assert!(not_served.iter().any(|one| text(one, "reason").is_some_and(|why| why.contains("two flows"))));
    served.end().await;

    // A mistake in the project file is found there.
    let settings = folder.read("globex/stave.toml");
    folder.write("globex/stave.toml", format!("{settings}[nonsense]\nx = 1\n"));
    let mut served = Served::start(&folder, &flows).await;
    served.with_key(Some(ACME));
    served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.is(200);
    served.with_key(Some(GLOBEX));
    served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.problem(404, "not-found");
    let models = served.get("/v1/models").await.is(200).json();
    let first = &items(&models, "not_served")[0];
    assert_eq!(text(first.get("at").unwrap(), "file"), Some("globex/stave.toml"), "{models}");
    served.end().await;

    // Nothing at all is no server.
    folder.write("acme/flows/echo.yaml", "version: 1");
    stave(&folder, ["serve", "--port", "0"].iter().chain(&flows)).finish().await.exits(2);
}

#[tokio::test]
async fn a_compiled_flow_is_served_when_it_is_signed_as_the_project_asks() {
    let folder = signed().await;
    let flow = "build/flows/echo.ir.json";
    let refused = stave(&folder, ["serve", flow, "--port", "0"]).finish().await.exits(3);
    assert!(refused.stderr.contains("not signed"), "{refused}");
    let manifest = folder
        .files()
        .into_iter()
        .map(|(path, _)| path.display().to_string())
        .find(|path| path.ends_with(".manifest.json"))
        .unwrap();
    stave(&folder, ["bundle", "sign", &manifest]).finish().await.exits(0);
    let served = Served::start(&folder, &[flow]).await;
    let answer = served.post("/v1/models/echo:predict", r#"{"query": "hi"}"#).await.is(200);
    assert_eq!(answer.json().get("reply"), Some(&"hi".into()));
}

#[cfg(unix)]
#[tokio::test]
async fn keys_are_revoked_while_the_server_serves() {
    let folder = two_tenants();
    let paths = ["acme/flows", "globex/flows", "--api-keys", "keys.txt"];
    let mut served = Served::start(&folder, &paths).await;
    served.with_key(Some(GLOBEX)).get("/runs").await.is(200);
    folder.write("keys.txt", format!("acme {ACME} name=ann roles=admin\n"));
    served.process.wait_for_stderr("were read again").await;
    served.with_key(Some(GLOBEX)).get("/runs").await.problem(401, "unauthorized");
    served.with_key(Some(ACME)).get("/runs").await.is(200);

    // A file that cannot be read takes no key away and lets nobody in.
    for broken in ["", "acme short\n", "globex"] {
        folder.write("keys.txt", broken);
        served.process.wait_for_stderr("keeps the keys that it had").await;
        served.with_key(Some(ACME)).get("/runs").await.is(200);
        served.with_key(Some(GLOBEX)).get("/runs").await.problem(401, "unauthorized");
        served.with_key(None).get("/runs").await.problem(401, "unauthorized");
    }

    folder.write("keys.txt", format!("globex {GLOBEX}\n"));
    served.process.wait_for_stderr("were read again").await;
    served.process.hang_up();
    served.process.wait_for_stderr("were read again").await;
    served.with_key(Some(GLOBEX)).get("/runs").await.is(200);
    served.with_key(Some(ACME)).get("/runs").await.problem(401, "unauthorized");
    served.end().await.exits(0);
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_without_reloading_reads_its_keys_when_it_is_asked_to() {
    let folder = two_tenants();
    let paths = ["acme/flows", "--no-reload", "--api-keys", "keys.txt"];
    let mut served = Served::start(&folder, &paths).await;
    served.with_key(Some(ACME)).get("/runs").await.is(200);
    folder.write("keys.txt", format!("globex {GLOBEX}\n"));
    served.process.hang_up();
    served.process.wait_for_stderr("were read again").await;
    served.with_key(Some(ACME)).get("/runs").await.problem(401, "unauthorized");
}
