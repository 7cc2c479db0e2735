//! Every crate takes its lints from the workspace, so that no crate is checked less than the others.

use crate::offence::{Offence, assert_none};
use crate::repository::files;

fn check(path: &str, text: &str) -> Option<Offence> {
    let cure = "add `[lints]` with `workspace = true`";
    let manifest: toml::Table = match text.parse() {
        Ok(manifest) => manifest,
        Err(error) => return Some(Offence::new(path, None, format!("not TOML: {error}"), "mend it")),
    };
    let inherits =
        manifest.get("lints").and_then(|lints| lints.get("workspace")).and_then(toml::Value::as_bool);
    (inherits != Some(true)).then(|| Offence::new(path, None, "the lints are not inherited", cure))
}

#[test]
fn every_crate_inherits_the_lints() {
    // Fuzz targets are a workspace of their own, built by another toolchain.
    let manifests: Vec<_> = files()
        .into_iter()
        .filter(|file| file.path.ends_with("/Cargo.toml") && !file.path.starts_with("fuzz/"))
        .collect();
    assert!(manifests.len() > 10, "the crates are found");
    let offences: Vec<Offence> =
        manifests.iter().filter_map(|file| check(&file.path, &file.text()?)).collect();
    assert_none(&offences);
}

#[test]
fn the_rule_finds_a_crate_with_its_own_lints() {
    assert_eq!(check("a", "[lints]\nworkspace = true\n"), None);
    assert!(check("a", "[lints.rust]\nunsafe_code = \"allow\"\n").is_some());
    assert!(check("a", "[package]\nname = \"x\"\n").is_some());
    assert!(check("a", "[package\n").is_some());
}
