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

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_is_there_is_kept_and_no_half_of_a_key_is_made() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    let outside = Folder::new();
    let at = |name: &str| folder.path().join(name);
    folder.write("mine.pub", "somebody's public key");
    folder.write("file", "somebody's file");
    symlink(at("file"), at("link.pub")).expect("a link can be made");
    symlink(at("nowhere"), at("loose.pub")).expect("a link can be made");
    symlink(at("nowhere"), at("secret.key")).expect("a link can be made");
    std::fs::create_dir(at("folder.pub")).expect("a folder can be made");
    for name in ["mine", "link", "loose", "secret", "folder"] {
        let refused = stave(&folder, ["keys", "signing", "new", name]).finish().await.exits(2);
        assert!(refused.stderr.contains("never replaced"), "{name}: {refused}");
        assert!(!folder.has(&format!("{name}.key")), "{name}");
    }
    assert_eq!(folder.read("mine.pub"), "somebody's public key");
    assert_eq!(folder.read("file"), "somebody's file");
    assert!(!folder.has("nowhere") && !folder.has("secret.pub"));

    folder.write("stave.toml", "[project]\ntenant = \"acme\"\nrepo = \"shop\"\n");
    symlink(outside.path(), at("keys")).expect("a link can be made");
    stave(&folder, ["keys", "signing", "new", "release", "--out", "keys"]).finish().await.exits(3);
    assert_eq!(outside.files(), []);
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

/// A compiled and signed project, with the rest of its `[signing]` table to be chosen.
struct Release {
    folder: Folder,
    public: String,
    key_id: String,
    manifest: String,
}

impl Release {
    async fn new() -> Release {
        let folder = project("redis");
        folder.write("flows/echo.yaml", super::admission::ECHO);
        let key =
            stave(&folder, ["keys", "signing", "new", "release", "--json"]).finish().await.exits(0).json();
        let public = text(&key, "public_key").expect("a public key").to_owned();
        let key_id = text(&key, "key_id").expect("a key id").to_owned();
        let run_id = compiled(&folder).await;
        let manifest = format!("build/.akc/run/{run_id}.manifest.json");
        Release { folder, public, key_id, manifest }
    }

    fn settings(&self, more: &str) {
        let public = &self.public;
        self.folder.write(
            "stave.toml",
            format!("[project]\ntenant = \"acme\"\nrepo = \"shop\"\n[signing]\nrequired = true\ntrusted = [\"{public}\"]\nkey = \"release.key\"\n{more}"),
        );
    }

    async fn sign(&self, flags: &[&str]) {
        let arguments = ["bundle", "sign", &self.manifest].into_iter().chain(flags.iter().copied());
        stave(&self.folder, arguments).finish().await.exits(0);
    }

    /// A signature of yesterday that was good for an hour.
    fn sign_in_the_past(&self) {
        use stave_system::sign::{Claim, ENDING, SecretKey, Terms};
        let key = SecretKey::from_pem(&self.folder.read("release.key")).expect("a key");
        let claim = Claim::of(&self.folder.read(&self.manifest)).expect("a run manifest");
        let now = stave_canon::Timestamp::now().as_second();
        let ago = |hours: i64| stave_canon::Timestamp::from_second(now - hours * 3600).expect("a time");
        let terms = Terms { counter: 1, issued_at: ago(24), expires_at: Some(ago(23)) };
        self.folder.write(&format!("{}{ENDING}", self.manifest), key.sign(claim, terms).to_file_text());
    }

    /// The compiled flow runs, or is refused with this code; `bundle verify` says the same of its manifest.
    async fn runs(&self, refused: Option<&str>) {
        let run = ["run", "build/flows/echo.ir.json", "--input", "-", "--json", "--ephemeral"];
        let code = if refused.is_some() { 3 } else { 0 };
        let run = stave(&self.folder, run).input("{\"query\": \"hello\"}").finish().await.exits(code).json();
        assert_eq!(run.pointer("/error/code").and_then(stave_canon::Value::as_str), refused, "{run}");
    }
}

#[tokio::test]
async fn an_older_build_is_refused_by_the_project_s_minimum() {
    let release = Release::new().await;
    release.settings("minimum = 5\n");
    release.sign(&["--counter", "4"]).await;
    release.runs(Some("signature-rolled-back")).await;
    release.sign(&["--counter", "5"]).await;
    release.runs(None).await;
    // Counters are of each artefact: a flow has a minimum of its own, and the rest has the project's.
    release.settings("[signing.minimum]\n\"*\" = 9\necho = 5\n");
    release.runs(None).await;
    let verified = stave(&release.folder, ["bundle", "verify", &release.manifest, "--json"]);
    let verified = verified.finish().await.exits(3).json();
    let row = &items(&verified, "artefacts")[0];
    assert_eq!(text(row, "code"), Some("signature-rolled-back"), "{verified}");
    assert_eq!(row.get("counter"), Some(&5_i64.into()), "{verified}");
    release.settings("[signing.minimum]\necho = 6\n");
    release.runs(Some("signature-rolled-back")).await;
    // Without --counter, the time is the counter, which is above all that were counted by hand.
    release.sign(&[]).await;
    release.runs(None).await;
    // A minimum that cannot be read is no minimum of 0.
    for wrong in ["minimum = \"5\"\n", "minimum = 0\n", "[signing.minimum]\necho = \"x\"\n"] {
        release.settings(wrong);
        let run = ["run", "build/flows/echo.ir.json", "--input", "-", "--json", "--ephemeral"];
        stave(&release.folder, run).input("{\"query\": \"hello\"}").finish().await.exits(2);
    }
}

#[tokio::test]
async fn terms_that_cannot_be_meant_are_refused() {
    let release = Release::new().await;
    release.settings("");
    let sign = async |arguments: &[&str]| {
        let fixed = ["bundle", "sign", &release.manifest, "--key", "release.key", "--json"];
        let all: Vec<&str> = fixed.into_iter().chain(arguments.iter().copied()).collect();
        stave(&release.folder, all).finish().await
    };
    for period in ["0s", "0d", "0w"] {
        let refused = sign(&["--expires", period]).await.exits(2).json();
        assert_eq!(
            refused.pointer("/error/code").and_then(stave_canon::Value::as_str),
            Some("signature-expired")
        );
    }
    sign(&["--counter", "7"]).await.exits(0);
    let lower = sign(&["--counter", "6"]).await.exits(2).json();
    let at = |pointer: &str| lower.pointer(pointer).and_then(stave_canon::Value::as_str).unwrap_or_default();
    assert_eq!(at("/error/code"), "signature-rolled-back");
    assert!(at("/error/help").contains("--counter 7"), "{lower}");
    sign(&["--counter", "7"]).await.exits(0);
    let key = stave(&release.folder, ["keys", "issue", "ada", "--expires", "0d"]).finish().await.exits(2);
    assert!(key.stderr.contains("--expires"), "{key}");
}

#[tokio::test]
async fn a_compiled_flow_is_verified_through_the_manifest_that_lists_it() {
    let release = Release::new().await;
    release.settings("");
    let exec = "build/flows/echo.ir.json";
    let verify = async |code: i32| {
        let verified =
            stave(&release.folder, ["bundle", "verify", exec, "--json"]).finish().await.exits(code).json();
        text(&items(&verified, "artefacts")[0], "code").map(str::to_owned)
    };
    assert_eq!(verify(3).await.as_deref(), Some("signature-missing"));
    let told = stave(&release.folder, ["bundle", "verify", exec]).finish().await.exits(3);
    assert!(told.stderr.contains("not signed"), "{told}");
    let refused =
        stave(&release.folder, ["bundle", "sign", exec, "--key", "release.key"]).finish().await.exits(2);
    assert!(refused.stderr.contains("manifest.json"), "{refused}");
    release.sign(&[]).await;
    assert_eq!(verify(0).await, None);
    let document = release.folder.read(exec);
    release.folder.write(exec, document.replacen("echo", "ecco", 1));
    assert_eq!(verify(3).await.as_deref(), Some("signature-content-mismatch"));
}

#[tokio::test]
async fn a_second_key_does_not_make_a_second_table() {
    let folder = Folder::new();
    let first = stave(&folder, ["keys", "signing", "new", "one"]).finish().await.exits(0);
    folder.write("stave.toml", &first.stdout);
    let second = stave(&folder, ["keys", "signing", "new", "two"]).finish().await.exits(0);
    folder.write("stave.toml", format!("{}{}", first.stdout, second.stdout));
    stave(&folder, ["check", "stave.toml"]).finish().await.exits(0);
    // Without its mark, the line is the new list.
    let list = second.stdout.trim().trim_start_matches("# ").to_owned();
    folder.write("stave.toml", format!("[signing]\n{list}\n"));
    stave(&folder, ["check", "stave.toml"]).finish().await.exits(0);
    let public =
        stave(&folder, ["keys", "signing", "show", "one.pub", "--json"]).finish().await.exits(0).json();
    assert!(list.contains(text(&public, "public_key").expect("a key")), "{list}");
    assert_eq!(list.matches('"').count(), 4, "{list}");
}

#[tokio::test]
async fn the_wrong_half_of_a_key_is_named() {
    let folder = Folder::new();
    key(&folder, "release").await;
    folder.write("m.json", r#"{"schema_kind": "run_manifest", "tenant_id": "t", "repo_id": "r"}"#);
    std::fs::copy(folder.path().join("release.pub"), folder.path().join("half.key")).expect("a copy");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(folder.path().join("half.key"), mode).expect("the mode can be set");
    }
    let signed = stave(&folder, ["bundle", "sign", "m.json", "--key", "half.key"]).finish().await.exits(2);
    assert!(signed.stderr.contains("half.key is a public key"), "{signed}");
    let trusted = stave(&folder, ["bundle", "verify", "m.json", "--trusted", "release.key"]);
    let trusted = trusted.finish().await.exits(2);
    assert!(trusted.stderr.contains("release.key is a secret key"), "{trusted}");
    let no_key =
        stave(&folder, ["bundle", "verify", "m.json", "--trusted", "m.json"]).finish().await.exits(2);
    assert!(no_key.stderr.contains("m.json holds no Ed25519 key"), "{no_key}");
}

#[tokio::test]
async fn revoked_and_expired_signatures_are_refused() {
    let release = Release::new().await;
    release.settings("");
    release.sign_in_the_past();
    release.runs(Some("signature-expired")).await;
    release.sign(&["--expires", "1d"]).await;
    release.runs(None).await;
    for named in [&release.key_id, &release.public] {
        release.settings(&format!("revoked = [\"{named}\"]\n"));
        release.runs(Some("signature-revoked-key")).await;
    }
    release.settings("revoked = [\"release\"]\n");
    stave(&release.folder, ["bundle", "verify", &release.manifest]).finish().await.exits(2);
}

#[tokio::test]
async fn a_document_that_changed_loses_its_signature() {
    let folder = project("redis");
    let signatures = || -> Vec<String> {
        let entries = std::fs::read_dir(folder.path().join("build/.akc/ir")).expect("the folder is there");
        let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
        names.filter(|name| name.ends_with(".sig")).collect()
    };
    let run_id = compiled(&folder).await;
    key(&folder, "release").await;
    let document = format!("build/.akc/ir/{run_id}.json");
    stave(&folder, ["bundle", "sign", &document, "--key", "release.key"]).finish().await.exits(0);
    compiled(&folder).await;
    assert_eq!(signatures(), [format!("{run_id}.json.sig")], "the same bytes keep their signature");
    let flow = folder.read("flows/support.yaml");
    folder.write("flows/support.yaml", flow.replacen("retries: 2", "retries: 3", 1));
    assert_ne!(compiled(&folder).await, run_id);
    assert!(signatures().is_empty(), "{:?}", signatures());
}

#[cfg(unix)]
/// The commands of docs/signing.md, in their order, on a project as the page has it.
#[tokio::test]
async fn the_commands_of_the_page_end_well_in_their_order() {
    let folder = Folder::new();
    folder.write("flows/echo.yaml", super::admission::ECHO);
    let page = crate::folder::repository_file("docs/signing.md");
    let block = page.split("```console\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block");
    let programs = std::path::Path::new(env!("CARGO_BIN_EXE_stave")).parent().expect("a folder");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let commands: Vec<&str> = block.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    assert!(commands.len() >= 5, "{block}");
    for line in commands {
        let mut shell = tokio::process::Command::new("sh");
        shell.args(["-c", line]).current_dir(folder.path()).env("PATH", &path).kill_on_drop(true);
        let ended = shell.output().await.expect("a shell starts");
        assert!(ended.status.success(), "{line}: {}", String::from_utf8_lossy(&ended.stderr));
    }
}
