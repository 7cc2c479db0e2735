//! `[runtime] bundle`: what a bundle or system document does not allow happens at no entry point.

use stave_canon::Value;

use super::entry_points::{ALL, EntryPoint, HOSTS, LISTED, answer, fetcher, of_server};
use crate::folder::Folder;
use crate::json::values;
use crate::process::stave;
use crate::scripted::host::HostScript;
use crate::serve::Served;

/// What a test changes in the compiled files.
#[derive(Debug, Clone, Copy)]
enum Change {
    Nothing,
    EnvelopeForbidsNetwork,
    RoleForbidsNetwork,
    RoleForbidsTool,
    NodeDeclaresNoSecret,
    NodeDeclaresNoTool,
    StepIsNotDescribed,
    RoleHasNoProfile,
}

impl Change {
    /// The file that runs are held to, and what is said when it refuses the flow.
    fn expectation(self) -> (&'static str, Option<&'static str>) {
        let (bundle, document) = ("held/.akc/runtime/b.json", "held/document.json");
        match self {
            Change::Nothing => (bundle, None),
            Change::EnvelopeForbidsNetwork => (bundle, Some("uses the network, which `allow_network`")),
            Change::RoleForbidsNetwork => (bundle, Some("uses the network, which role `retriever`")),
            Change::RoleForbidsTool => (bundle, Some("uses the tool `http.get`, which role `retriever`")),
            Change::NodeDeclaresNoSecret => (document, Some("uses the secret `ITEMS_TOKEN`")),
            Change::NodeDeclaresNoTool => (document, Some("uses the tool `http.get`")),
            Change::StepIsNotDescribed => (document, Some("does not describe the step")),
            Change::RoleHasNoProfile => (bundle, Some("uses the network, which role `retriever`")),
        }
    }
}

/// The one file of a folder.
fn sole(folder: &Folder, part: &str) -> Value {
    let files = folder.files();
    let mut found = files.iter().filter(|(path, _)| path.to_string_lossy().contains(part));
    let (path, _) = found.next().unwrap_or_else(|| panic!("no {part}"));
    stave_canon::parse(&folder.read(path.to_str().unwrap())).unwrap()
}

/// Replaces the member at a pointer.
fn put(value: &mut Value, path: &[&str], new: Value) {
    let (last, above) = path.split_last().unwrap();
    let mut at = value;
    for key in above {
        at = at.as_object_mut().unwrap().get_mut(*key).unwrap_or_else(|| panic!("no {key}"));
    }
    at.as_object_mut().unwrap().insert((*last).to_owned(), new);
}

/// A project with the flow `fetcher` that is held to its own compiled files after a change.
async fn held(port: u16, change: Change) -> Folder {
    let folder = Folder::new();
    folder.write("flows/fetcher.yaml", fetcher(port));
    folder.write("stave.toml", format!("{HOSTS}{LISTED}"));
    let compile = ["compile", "flows", "--out", "made", "--emit", "exec,system,bundle"];
    stave(&folder, compile).finish().await.exits(0);
    let mut bundle = sole(&folder, ".akc/runtime/");
    let mut document = sole(&folder, ".akc/ir/");
    let run_id = bundle.get("run_id").and_then(Value::as_str).unwrap().to_owned();
    folder.write(&format!("held/.akc/ir/{run_id}.json"), document.to_string());
    let profile = ["runtime_policy_envelope", "coordination_role_isolation_profiles", "retriever"];
    let of_role = |key: &'static str| [profile.as_slice(), &[key]].concat();
    let none = || Value::Array(Vec::new());
    let mut declare = |key: &str| {
        let nodes = document.as_object_mut().unwrap().get_mut("nodes").unwrap();
        let Value::Array(nodes) = nodes else { panic!("nodes are a list") };
        let step = nodes.iter_mut().find(|node| node.get("name").and_then(Value::as_str) == Some("fetch"));
        put(step.unwrap(), &["effects", key], none());
    };
    match change {
        Change::Nothing => {}
        Change::EnvelopeForbidsNetwork => {
            put(&mut bundle, &["runtime_policy_envelope", "allow_network"], false.into());
        }
        Change::RoleForbidsNetwork => {
            put(&mut bundle, &of_role("execution_allow_network"), false.into());
        }
        Change::RoleForbidsTool => put(&mut bundle, &of_role("allowed_tools"), none()),
        Change::NodeDeclaresNoSecret => declare("secrets"),
        Change::NodeDeclaresNoTool => declare("tools"),
        Change::StepIsNotDescribed => {
            let renamed = fetcher(port).replace("  fetch:", "  grab:").replace("fetch.", "grab.");
            folder.write("flows/fetcher.yaml", renamed);
        }
        Change::RoleHasNoProfile => {
            put(&mut bundle, &profile[..2], Value::from_iter(Vec::<(&str, Value)>::new()));
        }
    }
    folder.write("held/.akc/runtime/b.json", bundle.to_string());
    folder.write("held/document.json", document.to_string());
    let (file, _) = change.expectation();
    folder.write("stave.toml", format!("{HOSTS}{LISTED}[runtime]\nbundle = \"{file}\"\n"));
    folder
}

#[tokio::test]
async fn a_step_has_only_the_effects_that_the_bundle_allows_at_every_entry_point() {
    for change in [
        Change::Nothing,
        Change::EnvelopeForbidsNetwork,
        Change::RoleForbidsNetwork,
        Change::RoleForbidsTool,
        Change::NodeDeclaresNoSecret,
        Change::NodeDeclaresNoTool,
        Change::StepIsNotDescribed,
        Change::RoleHasNoProfile,
    ] {
        let (_, refusal) = change.expectation();
        for entry in ALL.into_iter().filter(|entry| *entry != EntryPoint::Test) {
            let page = r#"[{"method": "GET", "path": "/items/a", "json": {"price": 3}, "times": 9}]"#;
            let host = HostScript::new(&values(page));
            let server = host.serve().await;
            let folder = held(server.port, change).await;
            let said = answer(entry, &folder).await;
            let expected = usize::from(refusal.is_none());
            assert_eq!(host.log.lock().calls.len(), expected, "{entry:?} {change:?}: {said}");
            // A server does not serve the flow at all.
            let speaks = matches!(entry, EntryPoint::Run | EntryPoint::Studio | EntryPoint::Rep);
            if let Some(words) = refusal.filter(|_| speaks) {
                assert!(said.contains(words), "{entry:?} {change:?}: {said}");
            }
        }
    }
}

/// A bundle that a command names holds its runs, whatever the project names.
#[tokio::test]
async fn every_command_takes_a_bundle() {
    let host = HostScript::new(&values(r#"[{"method": "GET", "path": "/items/a", "json": {}, "times": 9}]"#));
    let server = host.serve().await;
    let folder = held(server.port, Change::EnvelopeForbidsNetwork).await;
    folder.write("stave.toml", format!("{HOSTS}{LISTED}"));
    let bundle = ["--bundle", "held/.akc/runtime/b.json"];
    let program = |arguments: &[&str]| {
        stave(&folder, [arguments, &bundle].concat()).env("ITEMS_TOKEN", "sk-live-4d1c9a7b2e8f")
    };
    let run = ["run", "flows/fetcher.yaml", "--input", "-"];
    let refused = program(&run).input(r#"{"id": "a"}"#).finish().await.exits(3);
    assert!(refused.stderr.contains("effect-not-allowed"), "{refused}");
    // The studio of a server without keys is there to mend flows, so it starts without the flow. A tool server does not start.
    let served = Served::of(program(&["serve", "--port", "0"])).await;
    let said = of_server(EntryPoint::Runs, &served, "fetcher", r#"{"id": "a"}"#).await;
    served.end().await;
    assert!(!said.contains("run_id"), "{said}");
    let refused = program(&["mcp", "--http", "--port", "0"]).finish().await.exits(3);
    assert!(refused.stderr.contains("effect-not-allowed"), "{refused}");
    let start = spoken_start(&folder).await;
    let spoken = program(&["rep"]).input(&start).finish().await;
    assert!(spoken.stdout.contains("uses the network"), "{spoken}");
    assert_eq!(host.log.lock().calls.len(), 0);
}

/// A run that began before the bundle became stricter does nothing more than the bundle of now allows.
#[tokio::test]
async fn a_resumed_run_is_held_to_the_bundle_of_now() {
    let host = HostScript::new(&values(
        r#"[
            {"method": "GET", "path": "/items/a", "json": {}, "delay_ms": 60000, "times": 9},
            {"method": "GET", "path": "/items/b", "json": {}, "times": 9}
        ]"#,
    ));
    let server = host.serve().await;
    let folder = held(server.port, Change::Nothing).await;
    let program = |arguments: &[&str]| stave(&folder, arguments).env("ITEMS_TOKEN", "sk-live-4d1c9a7b2e8f");
    folder.write("a.json", r#"{"id": "a"}"#);
    let run = ["run", "flows/fetcher.yaml", "--input", "a.json", "--run-id", "one"];
    let asked = async {
        while host.log.lock().calls.is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    assert!(program(&run).killed_at(asked).await.is_some(), "the run ended by itself");
    let run = ["run", "flows/fetcher.yaml", "--input", "-", "--run-id", "two"];
    program(&run).input(r#"{"id": "b"}"#).finish().await.exits(0);
    let file = "held/.akc/runtime/b.json";
    let mut bundle = stave_canon::parse(&folder.read(file)).unwrap();
    put(&mut bundle, &["runtime_policy_envelope", "allow_network"], false.into());
    folder.write(file, bundle.to_string());
    for arguments in [["runs", "resume", "one"], ["runs", "replay", "two"]] {
        let refused = program(&arguments).finish().await.exits(3);
        assert!(refused.stderr.contains("uses the network"), "{arguments:?}: {refused}");
    }
    assert_eq!(host.log.lock().calls.len(), 2);
}

/// A REP request that begins the flow `fetcher`.
async fn spoken_start(folder: &Folder) -> String {
    stave(folder, ["compile", "flows/fetcher.yaml", "--out", "out"]).finish().await.exits(0);
    let ir = stave_canon::parse(&folder.read("out/flows/fetcher.ir.json")).unwrap();
    format!(
        "{{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"Runtime.StartRun\", \"params\": {{\"ir\": {ir}, \
         \"inputs\": {{\"id\": \"a\"}}, \"options\": {{\"run_id\": \"r1\"}}}}}}\n"
    )
}

#[tokio::test]
async fn a_run_that_is_given_the_bundle_is_refused_with_exit_code_3() {
    let folder = held(9, Change::EnvelopeForbidsNetwork).await;
    folder.write("stave.toml", format!("{HOSTS}{LISTED}"));
    let arguments = ["run", "flows/fetcher.yaml", "--input", "-", "--bundle", "held/.akc/runtime/b.json"];
    let refused = stave(&folder, arguments).input(r#"{"id": "a"}"#).finish().await.exits(3);
    assert!(refused.stderr.contains("`fetch` uses the network"), "{refused}");
}
