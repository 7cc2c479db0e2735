//! The libraries below the command line print nothing and parse no arguments, and nothing depends on the command line:
//! a program that embeds Stave takes a project, compiles it or runs its tests without a terminal.

use crate::code_text::code_outside_tests;
use crate::crate_table::{Package, packages};
use crate::offence::{Offence, assert_none};
use crate::repository::crate_sources;

/// The libraries that the command line was made of.
const LIBRARIES: [&str; 3] = ["compile", "project", "testing"];

/// What belongs to a terminal or to arguments. Standard input is a file that a person may name.
const BANNED: [&str; 9] = [
    "println!",
    "print!",
    "eprintln!",
    "eprint!",
    "io::stdout",
    "io::stderr",
    "IsTerminal",
    "clap::",
    "env::args",
];

/// The programs that parse arguments.
const PROGRAMS: [&str; 2] = ["stave-cli", "stave-bench"];

fn check(path: &str, text: &str) -> Vec<Offence> {
    let is_library = LIBRARIES.iter().any(|name| path.starts_with(&format!("crates/{name}/src/")));
    if !is_library {
        return Vec::new();
    }
    let code = code_outside_tests(text);
    let cure = "give the text back, or inform a listener, and let the command line print it";
    let found = code.lines().enumerate().filter_map(|(index, line)| {
        let call = BANNED.iter().find(|call| line.contains(**call))?;
        Some(Offence::new(path, Some(index + 1), format!("`{call}` is banned in a library"), cure))
    });
    found.collect()
}

/// Crates that depend on what they should not know.
fn wrong_dependencies(packages: &[Package]) -> Vec<Offence> {
    let mut offences = Vec::new();
    for package in packages {
        for dependency in &package.dependencies {
            let is_wrong = match dependency.name.as_str() {
                "stave-cli" => true,
                "clap" => !PROGRAMS.contains(&package.name.as_str()),
                _ => false,
            };
            if is_wrong {
                let what = format!("it depends on `{}`", dependency.name);
                offences.push(Offence::new(&package.name, None, what, "move what it needs into a library"));
            }
        }
    }
    offences
}

#[test]
fn libraries_print_nothing_and_parse_no_arguments() {
    let offences: Vec<Offence> =
        crate_sources().iter().filter_map(|file| Some(check(&file.path, &file.text()?))).flatten().collect();
    assert_none(&offences);
}

#[test]
fn only_programs_know_arguments_and_nothing_knows_the_command_line() {
    let packages = packages();
    for library in LIBRARIES {
        let name = format!("stave-{library}");
        assert!(packages.iter().any(|package| package.name == name), "{name} is found");
    }
    assert_none(&wrong_dependencies(&packages));
}

#[test]
fn the_rules_find_printing_arguments_and_wrong_dependencies() {
    for call in BANNED {
        assert_eq!(check("crates/project/src/files.rs", &format!("let x = {call}y);")).len(), 1, "{call}");
        assert_eq!(check("crates/cli/src/terminal.rs", call), [], "{call}");
    }
    assert_eq!(check("crates/project/src/files.rs", "// println!\nlet x = std::io::stdin();"), []);
    let package = |name: &str, dependency: &str| {
        let dependency = crate::crate_table::Dependency { name: dependency.to_owned(), is_normal: true };
        [Package { name: name.to_owned(), dependencies: vec![dependency] }]
    };
    assert_eq!(wrong_dependencies(&package("stave-project", "clap")).len(), 1);
    assert_eq!(wrong_dependencies(&package("stave-conform", "stave-cli")).len(), 1);
    assert_eq!(wrong_dependencies(&package("stave-cli", "clap")), []);
    assert_eq!(wrong_dependencies(&package("stave-testing", "stave-project")), []);
}
