//! Every dependency from outside is used, and `docs/dependencies.md` says why it is there.

use std::collections::BTreeSet;

use crate::crate_table::packages;
use crate::offence::{Offence, assert_none};
use crate::repository::read;

const PAGE: &str = "docs/dependencies.md";
const MANIFEST: &str = "Cargo.toml";

/// The names under `[workspace.dependencies]` that are no crates of the workspace.
fn outside(manifest: &str) -> BTreeSet<String> {
    let manifest: toml::Table = manifest.parse().expect("the manifest of the workspace is TOML");
    let dependencies = manifest["workspace"]["dependencies"].as_table().expect("a table of dependencies");
    dependencies
        .iter()
        .filter(|(_, value)| value.get("path").is_none())
        .map(|(name, _)| name.clone())
        .collect()
}

/// The rows `| name | reason |` of the page.
fn rows(page: &str) -> Vec<(usize, String, String)> {
    let cells = |line: &str| -> Option<(String, String)> {
        let (name, reason) = line.strip_prefix('|')?.strip_suffix('|')?.split_once('|')?;
        let name = name.trim().trim_matches('`').to_owned();
        let is_row = !name.is_empty() && name != "name" && !name.starts_with('-');
        is_row.then(|| (name, reason.trim().to_owned()))
    };
    page.lines()
        .enumerate()
        .filter_map(|(index, line)| cells(line.trim()).map(|(name, reason)| (index + 1, name, reason)))
        .collect()
}

fn check(wanted: &BTreeSet<String>, used: &BTreeSet<String>, page: &str) -> Vec<Offence> {
    let rows = rows(page);
    let named: BTreeSet<&str> = rows.iter().map(|(_, name, _)| name.as_str()).collect();
    let mut offences = Vec::new();
    for name in wanted {
        if !named.contains(name.as_str()) {
            let cure = "add a row `| name | reason |` that says why";
            offences.push(Offence::new(PAGE, None, format!("`{name}` has no reason"), cure));
        }
        if !used.contains(name) {
            let cure = "remove its line";
            offences.push(Offence::new(MANIFEST, None, format!("no crate uses `{name}`"), cure));
        }
    }
    for (line, name, reason) in &rows {
        if !wanted.contains(name) {
            let what = format!("`{name}` is no dependency of the workspace");
            offences.push(Offence::new(PAGE, Some(*line), what, "remove its row"));
        }
        if reason.split_whitespace().count() < 3 {
            let what = format!("`{name}` has a reason of a word or two");
            offences.push(Offence::new(PAGE, Some(*line), what, "say what it does for us"));
        }
    }
    offences
}

#[test]
fn every_dependency_is_used_and_has_a_reason() {
    let used = packages()
        .into_iter()
        .flat_map(|package| package.dependencies)
        .map(|dependency| dependency.name)
        .collect();
    assert_none(&check(&outside(&read(MANIFEST)), &used, &read(PAGE)));
}

#[test]
fn the_rule_finds_what_is_missing_and_what_is_left_over() {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    let page = "# x\n\n| name | reason |\n|---|---|\n| `serde` | reads and writes data |\n| old | was useful once |\n";
    let offences = check(&set(&["serde", "toml"]), &set(&["serde"]), page);
    let what: Vec<&str> = offences.iter().map(|offence| offence.what.as_str()).collect();
    assert_eq!(
        what,
        ["`toml` has no reason", "no crate uses `toml`", "`old` is no dependency of the workspace"]
    );
    assert_eq!(outside("[workspace.dependencies]\na = \"1\"\nb = { path = \"b\" }\n"), set(&["a"]));
}
