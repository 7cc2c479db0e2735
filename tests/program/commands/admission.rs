//! What a project that asks for signatures lets in, in every command that loads something compiled.

use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::stave;

use super::system::{compiled, project};

/// A flow that needs no model and no network.
pub(super) const ECHO: &str = "\
version: \"1.0\"
metadata:
  name: echo
context:
  requires: [query]
nodes:
  say:
    type: transform
    inputs:
      - {name: query, type: string}
    outputs:
      - {name: reply, type: string}
    transform:
      mode: code
      spec: |
        def transform(inputs, context, state):
            return {\"reply\": inputs[\"query\"]}
edges:
  - {from: _input.query, to: say.query}
  - {from: say.reply, to: _output.reply}
";

struct Signed {
    folder: Folder,
    bundle: String,
    document: String,
    manifest: String,
}

/// A compiled project that asks for signatures and has signed nothing.
async fn asking() -> Signed {
    let folder = project("redis");
    folder.write("flows/echo.yaml", ECHO);
    let key = stave(&folder, ["keys", "signing", "new", "release", "--json"]).finish().await.exits(0).json();
    let public = text(&key, "public_key").expect("a public key").to_owned();
    let run_id = compiled(&folder).await;
    folder.write(
        "stave.toml",
        format!("[project]\ntenant = \"acme\"\nrepo = \"shop\"\n[signing]\nrequired = true\ntrusted = [\"{public}\"]\nkey = \"release.key\"\n"),
    );
    Signed {
        bundle: format!("build/.akc/runtime/{run_id}.runtime_bundle.json"),
        document: format!("build/.akc/ir/{run_id}.json"),
        manifest: format!("build/.akc/run/{run_id}.manifest.json"),
        folder,
    }
}

/// The folder of a compiled project that asks for signatures and has signed nothing.
pub(crate) async fn signed() -> Folder {
    asking().await.folder
}

impl Signed {
    async fn sign(&self, file: &str) {
        stave(&self.folder, ["bundle", "sign", file]).finish().await.exits(0);
    }

    /// Every command that loads the bundle ends with this code.
    async fn bundle_ends(&self, code: i32) {
        let bundle = self.bundle.as_str();
        for arguments in [
            vec!["bundle", "check", bundle],
            vec!["system", "show", bundle],
            vec!["system", "diff", bundle, bundle],
            vec!["system", "graph", bundle],
            vec!["system", "bundle", bundle, "--run-id", "again"],
            vec!["diff", bundle, bundle],
        ] {
            stave(&self.folder, &arguments).finish().await.exits(code);
        }
    }
}

#[tokio::test]
async fn a_bundle_is_held_to_its_signature_wherever_it_is_loaded() {
    let signed = asking().await;
    signed.bundle_ends(3).await;
    signed.sign(&signed.bundle).await;
    signed.bundle_ends(0).await;
    let before = signed.folder.read(&signed.bundle);
    signed.folder.write(&signed.bundle, before.replacen("observe_only", "enforce_now_", 1));
    signed.bundle_ends(3).await;
    signed.folder.write(&signed.bundle, &before);
    let settings = signed.folder.read("stave.toml");
    signed.folder.write("stave.toml", settings.replace("\"acme\"", "\"globex\""));
    signed.bundle_ends(3).await;
    signed.folder.write("stave.toml", settings);
    signed.bundle_ends(0).await;
    signed.folder.write(&format!("{}.sig", signed.bundle), "not a signature");
    signed.bundle_ends(3).await;
}

#[tokio::test]
async fn a_document_is_held_to_its_signature_wherever_it_is_loaded() {
    let signed = asking().await;
    let document = signed.document.as_str();
    let ends = async |code: i32| {
        for arguments in [
            vec!["system", "show", document],
            vec!["system", "validate", document],
            vec!["system", "diff", document, document],
            vec!["system", "graph", document],
            vec!["system", "migrate", document],
            vec!["system", "bundle", document, "--run-id", "again"],
        ] {
            stave(&signed.folder, &arguments).finish().await.exits(code);
        }
    };
    ends(3).await;
    signed.sign(document).await;
    ends(0).await;
    let before = signed.folder.read(document);
    signed.folder.write(document, before.replacen("\"retries\": 2", "\"retries\": 3", 1));
    ends(3).await;
}

#[tokio::test]
async fn a_compiled_flow_runs_only_when_a_signed_manifest_lists_it() {
    let signed = asking().await;
    let flow = "build/flows/echo.ir.json";
    let run = async |code: i32| {
        let run = stave(&signed.folder, ["run", flow, "--input", "-", "--json", "--ephemeral"]);
        run.input("{\"query\": \"hello\"}").finish().await.exits(code)
    };
    let unsigned = run(3).await;
    assert!(unsigned.stdout.contains("not signed"), "{unsigned}");
    signed.sign(&signed.manifest).await;
    let ran = run(0).await.json();
    assert_eq!(ran.pointer("/output/reply"), Some(&"hello".into()), "{ran}");
    // A space more means nothing, and is refused all the same.
    let before = signed.folder.read(flow);
    signed.folder.write(flow, format!("{before} "));
    let tampered = run(3).await;
    assert!(tampered.stdout.contains("not the ones that were signed"), "{tampered}");
    signed.folder.write(flow, &before);
    let manifest = signed.folder.read(&signed.manifest);
    signed.folder.write(&signed.manifest, manifest.replacen("\"live\"", "\"llm_vcr\"", 1));
    run(3).await;
    // The flow itself is a source, which nobody signs.
    signed.folder.write(&signed.manifest, manifest);
    let source = ["run", "flows/echo.yaml", "--input", "-", "--json", "--ephemeral"];
    stave(&signed.folder, source).input("{\"query\": \"hello\"}").finish().await.exits(0);
}

#[tokio::test]
async fn bundles_are_shown_and_compared() {
    let folder = project("redis");
    let run_id = compiled(&folder).await;
    let bundle = format!("build/.akc/runtime/{run_id}.runtime_bundle.json");
    let shown = stave(&folder, ["system", "show", &bundle, "--json"]).finish().await.exits(0).json();
    assert_eq!(text(&shown, "tenant_id"), Some("acme"), "{shown}");
    assert_eq!(text(&shown, "schema_id"), Some("akc:runtime_bundle:v4"), "{shown}");
    assert_eq!(items(&shown, "deployment_intents").len(), 3, "{shown}");
    let table = stave(&folder, ["system", "show", &bundle]).finish().await.exits(0);
    assert!(table.stdout.contains("network      allowed"), "{table}");

    let changed = folder
        .read(&bundle)
        .replace("\"retries\": 2", "\"retries\": 3")
        .replace("\"max_in_flight_steps\": 4", "\"max_in_flight_steps\": 8");
    folder.write("changed.json", changed);
    for command in [vec!["system", "diff"], vec!["diff"]] {
        let arguments = command.iter().copied().chain([bundle.as_str(), "changed.json", "--json"]);
        let report = stave(&folder, arguments).finish().await.exits(1).json();
        assert_eq!(
            report.pointer("/changed/0/members"),
            Some(&vec!["/properties/retries"].into()),
            "{report}"
        );
        let places = vec!["/coordination_execution_contract/max_in_flight_steps"];
        assert_eq!(report.get("members"), Some(&places.into()), "{report}");
    }
    let document = format!("build/.akc/ir/{run_id}.json");
    stave(&folder, ["system", "diff", &document, &bundle]).finish().await.exits(2);
    let validated = stave(&folder, ["system", "validate", &bundle]).finish().await.exits(2);
    assert!(validated.stderr.contains("stave bundle check"), "{validated}");
}

#[tokio::test]
async fn a_document_without_an_intent_uses_the_network_only_when_it_is_let() {
    let folder = Folder::new();
    let document = r#"{"schema_kind": "akc_ir", "tenant_id": "t", "repo_id": "r", "nodes": [
      {"id": "w", "tenant_id": "t", "kind": "workflow", "name": "n", "properties": {}, "effects": {"network": true}}]}"#;
    folder.write("plan.json", document);
    let refused = stave(&folder, ["system", "bundle", "plan.json", "--run-id", "r"]).finish().await.exits(2);
    assert!(refused.stderr.contains("--allow-network"), "{refused}");
    let arguments = ["system", "bundle", "plan.json", "--run-id", "r", "--allow-network"];
    let bundle = stave(&folder, arguments).finish().await.exits(0).json();
    assert_eq!(bundle.pointer("/runtime_policy_envelope/allow_network"), Some(&true.into()), "{bundle}");
}
