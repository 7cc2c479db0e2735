//! `stave keys signing` and `stave bundle sign|verify`: who may be trusted, and what is refused.

use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::stave;

use super::system::{compiled, project};

async fn key(folder: &Folder, name: &str) -> String {
    let made = stave(folder, ["keys", "signing", "new", name, "--json"]).finish().await.exits(0).json();
    text(&made, "public_key").expect("a public key").to_owned()
}

#[cfg(unix)]
#[tokio::test]
async fn a_secret_key_is_its_owners_alone_and_never_shown() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let made = stave(&folder, ["keys", "signing", "new", "release"]).finish().await.exits(0);
    let path = folder.path().join("release.key");
    let mode = std::fs::metadata(&path).expect("the key is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let secret = folder.read("release.key");
    let body = secret.lines().nth(1).expect("a PEM body");
    let shown = stave(&folder, ["keys", "signing", "show", "release.key"]).finish().await.exits(0);
    for said in [&made.stdout, &made.stderr, &shown.stdout, &shown.stderr] {
        assert!(!said.contains(body), "{said}");
    }
    let again = stave(&folder, ["keys", "signing", "new", "release"]).finish().await.exits(2);
    assert!(again.stderr.contains("never replaced"), "{again}");
    assert_eq!(folder.read("release.key"), secret);

    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("the mode can be set");
    folder.write("m.json", r#"{"schema_kind": "run_manifest", "tenant_id": "t", "repo_id": "r"}"#);
    let shared = stave(&folder, ["bundle", "sign", "m.json", "--key", "release.key"]).finish().await.exits(3);
    assert!(shared.stderr.contains("chmod 600"), "{shared}");
}

#[tokio::test]
async fn an_artefact_is_taken_as_signed_and_refused_otherwise() {
    let folder = project("redis");
    let public = key(&folder, "release").await;
    let run_id = compiled(&folder).await;
    folder.write(
        "stave.toml",
        format!("[project]\ntenant = \"acme\"\nrepo = \"shop\"\n[signing]\nrequired = true\ntrusted = [\"{public}\"]\nkey = \"release.key\"\n"),
    );
    let bundle = format!("build/.akc/runtime/{run_id}.runtime_bundle.json");
    let manifest = format!("build/.akc/run/{run_id}.manifest.json");
    let check = async |code: i32| stave(&folder, ["bundle", "check", &bundle]).finish().await.exits(code);
    let unsigned = check(3).await;
    assert!(unsigned.stderr.contains("not signed"), "{unsigned}");

    stave(&folder, ["bundle", "sign", &bundle, &manifest]).finish().await.exits(0);
    check(0).await;
    let verified =
        stave(&folder, ["bundle", "verify", &bundle, &manifest, "--json"]).finish().await.exits(0).json();
    assert!(
        items(&verified, "artefacts").iter().all(|one| one.get("verified") == Some(&true.into())),
        "{verified}"
    );

    // A compile of the same source keeps the signature; it vouches for the same bytes.
    compiled(&folder).await;
    check(0).await;

    let signed = folder.read(&bundle);
    folder.write(&bundle, signed.replacen("observe_only", "enforce_now_", 1));
    let tampered = check(3).await;
    assert!(tampered.stderr.contains("not the ones that were signed"), "{tampered}");
    stave(&folder, ["bundle", "verify", &bundle]).finish().await.exits(3);
    folder.write(&bundle, format!("{signed} "));
    check(3).await;

    folder.write(&bundle, &signed);
    key(&folder, "stranger").await;
    stave(&folder, ["bundle", "sign", &bundle, "--key", "stranger.key"]).finish().await.exits(0);
    let untrusted = check(3).await;
    assert!(untrusted.stderr.contains("does not trust"), "{untrusted}");
}

#[tokio::test]
async fn another_tenants_bundle_is_refused_whoever_signed_it() {
    let folder = project("redis");
    let public = key(&folder, "release").await;
    let run_id = compiled(&folder).await;
    let bundle = format!("build/.akc/runtime/{run_id}.runtime_bundle.json");
    stave(&folder, ["bundle", "sign", &bundle, "--key", "release.key"]).finish().await.exits(0);
    let settings = "[project]\ntenant = \"globex\"\nrepo = \"shop\"\n";
    folder.write("stave.toml", format!("{settings}[signing]\nrequired = true\ntrusted = [\"{public}\"]\n"));
    let foreign = stave(&folder, ["bundle", "check", &bundle]).finish().await.exits(3);
    assert!(foreign.stderr.contains("acme"), "{foreign}");
    folder.write("stave.toml", settings);
    stave(&folder, ["bundle", "check", &bundle]).finish().await.exits(3);
}

#[tokio::test]
async fn a_changed_bundle_is_told_what_drifted() {
    let folder = project("redis");
    let run_id = compiled(&folder).await;
    let bundle = format!("build/.akc/runtime/{run_id}.runtime_bundle.json");
    let text_before = folder.read(&bundle);
    let changed = text_before.replacen("\"retries\": 2", "\"retries\": 9", 1).replacen(
        "\"network\": true",
        "\"network\": false",
        1,
    );
    assert_ne!(changed, text_before);
    folder.write(&bundle, changed);
    let report = stave(&folder, ["bundle", "check", "--json", &bundle]).finish().await.exits(2).json();
    let codes: Vec<Option<&str>> =
        items(&report, "diagnostics").iter().map(|one| text(one, "code")).collect();
    assert!(codes.contains(&Some("bundle-content-drift")), "{report}");
    // A space means nothing to any rule, and is not what the run manifest lists.
    folder.write(&bundle, format!("{text_before} "));
    let report = stave(&folder, ["bundle", "check", "--json", &bundle]).finish().await.exits(2).json();
    assert_eq!(items(&report, "diagnostics").len(), 1, "{report}");
    let off = ["--artifact-consistency-policy", "off", "--deployment-intents-ir-alignment-policy", "off"];
    let arguments = ["bundle", "check", "--json", &bundle].into_iter().chain(off);
    stave(&folder, arguments).finish().await.exits(0);
}
