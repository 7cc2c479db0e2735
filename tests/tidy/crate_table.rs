//! The table of crates in ARCHITECTURE.md says what depends on what, as the manifests have it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

use crate::repository::{read, root};

const PAGE: &str = "ARCHITECTURE.md";
const START: &str = "<!-- crate-dependencies -->\n";
const END: &str = "<!-- /crate-dependencies -->";

/// A package of the workspace, as `cargo metadata` reports it.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) dependencies: Vec<Dependency>,
}

#[derive(Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Built into the crate itself, not only into its tests or its build script.
    pub(crate) is_normal: bool,
}

/// The packages of the workspace in the order of their names.
pub(crate) fn packages() -> Vec<Package> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .expect("cargo can be started");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let text = |value: &serde_json::Value| value.as_str().expect("a name is text").to_owned();
    let list = |value: &serde_json::Value| value.as_array().expect("a list").clone();
    let mut packages: Vec<Package> = list(&metadata["packages"])
        .iter()
        .map(|package| Package {
            name: text(&package["name"]),
            dependencies: list(&package["dependencies"])
                .iter()
                .map(|dependency| Dependency {
                    name: text(&dependency["name"]),
                    is_normal: dependency["kind"].is_null(),
                })
                .collect(),
        })
        .collect();
    packages.sort_by(|left, right| left.name.cmp(&right.name));
    packages
}

fn table(packages: &[Package]) -> String {
    let short = |name: &str| format!("`{}`", name.strip_prefix("stave-").unwrap_or(name));
    let known: BTreeMap<&str, String> =
        packages.iter().map(|package| (package.name.as_str(), short(&package.name))).collect();
    let mut out = String::from("| crate | depends on |\n|---|---|\n");
    for package in packages {
        let mut names: Vec<&str> = package
            .dependencies
            .iter()
            .filter(|dependency| dependency.is_normal)
            .filter_map(|dependency| known.get(dependency.name.as_str()).map(String::as_str))
            .collect();
        names.sort_unstable();
        names.dedup();
        let names = if names.is_empty() { "-".to_owned() } else { names.join(", ") };
        writeln!(out, "| {} | {names} |", short(&package.name)).expect("a string can be written to");
    }
    out
}

/// The page with the table between its marks replaced.
fn with_table(page: &str, table: &str) -> Option<String> {
    let (before, rest) = page.split_once(START)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{START}{table}{END}{after}"))
}

#[test]
fn the_table_is_what_cargo_says() {
    let (present, table) = (read(PAGE), table(&packages()));
    let wanted = with_table(&present, &table).unwrap_or_else(|| {
        panic!("{PAGE} has no place for the table; put this into it:\n\n{START}{table}{END}\n")
    });
    if std::env::var_os("STAVE_BLESS").is_some() {
        std::fs::write(root().join(PAGE), &wanted).expect("the page can be written");
    } else {
        assert!(
            present == wanted,
            "the table of crates in {PAGE} is wrong; right is (STAVE_BLESS=1 writes it):\n\n{table}"
        );
    }
}

#[test]
fn a_table_names_the_crates_of_the_workspace_only() {
    let dependency = |name: &str, is_normal| Dependency { name: name.to_owned(), is_normal };
    let package = |name: &str, dependencies| Package { name: name.to_owned(), dependencies };
    let packages = [
        package("bench", vec![dependency("stave-diag", true)]),
        package("stave-diag", vec![dependency("serde", true), dependency("bench", false)]),
    ];
    assert_eq!(table(&packages), "| crate | depends on |\n|---|---|\n| `bench` | `diag` |\n| `diag` | - |\n");
    let page = format!("# x\n{START}old\n{END}\nmore\n");
    assert_eq!(with_table(&page, "new\n"), Some(format!("# x\n{START}new\n{END}\nmore\n")));
    assert_eq!(with_table("# x\n", "new\n"), None);
}
