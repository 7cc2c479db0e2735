//! Commands do not use commands. A command parses, calls the libraries and prints; what two of them need is below or
//! beside them, so that each can be read and changed alone.

use crate::code_text::code_outside_tests;
use crate::offence::{Offence, assert_none};
use crate::repository::crate_sources;

const CLI: &str = "crates/cli/src/";
const COMMANDS: &str = "crates/cli/src/commands/";

/// Those who bind the commands together: the program, its grammar, and the list of commands.
const BINDERS: [&str; 4] = ["main.rs", "args.rs", "args/", "commands/mod.rs"];

const CURE: &str =
    "move what is shared into a library, or beside the commands where it is about arguments or printing";

fn check(path: &str, text: &str) -> Vec<Offence> {
    let Some(inside) = path.strip_prefix(CLI) else { return Vec::new() };
    let binds = |binder: &&str| inside == *binder || (binder.ends_with('/') && inside.starts_with(*binder));
    if BINDERS.iter().any(binds) || path.ends_with("/tests.rs") {
        return Vec::new();
    }
    let command = path.strip_prefix(COMMANDS).map(Command::of);
    let code = code_outside_tests(text);
    let mut offences = Vec::new();
    for (index, line) in code.lines().enumerate() {
        let named = paths_after(line, "commands::");
        let foreign = named.into_iter().find(|name| command.as_ref().is_none_or(|own| own.name != *name));
        let what = match (foreign, &command) {
            (Some(name), _) => Some(format!("the command `{name}` is used here")),
            (None, Some(own)) if leads_up(line) > own.depth => {
                Some("`super` leads to the other commands".to_owned())
            }
            _ => None,
        };
        offences.extend(what.map(|what| Offence::new(path, Some(index + 1), what, CURE)));
    }
    offences
}

/// The command that a file belongs to.
struct Command {
    name: String,
    /// How many modules the file lies below that of the command.
    depth: usize,
}

impl Command {
    fn of(below: &str) -> Command {
        let module = below.trim_end_matches(".rs");
        let mut names = module.trim_end_matches("/mod").split('/');
        let name = names.next().unwrap_or_default().to_owned();
        Command { name, depth: names.count() }
    }
}

/// The names that follow a path's beginning in a line.
fn paths_after(line: &str, beginning: &str) -> Vec<String> {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    let found = line.match_indices(beginning).filter(|(start, _)| !line[..*start].ends_with(is_letter));
    found
        .map(|(start, _)| {
            line[start + beginning.len()..].chars().take_while(|next| is_letter(*next)).collect()
        })
        .collect()
}

/// The most modules that a path in a line goes up by.
fn leads_up(line: &str) -> usize {
    let (mut most, mut rest) = (0, line);
    while let Some(start) = rest.find("super::") {
        let mut count = 0;
        rest = &rest[start..];
        while let Some(after) = rest.strip_prefix("super::") {
            (count, rest) = (count + 1, after);
        }
        most = most.max(count);
    }
    most
}

#[test]
fn commands_do_not_use_commands() {
    let offences: Vec<Offence> =
        crate_sources().iter().filter_map(|file| Some(check(&file.path, &file.text()?))).flatten().collect();
    assert_none(&offences);
}

#[test]
fn the_rule_finds_those_who_reach_over() {
    for (path, line, is_fine) in [
        ("commands/run.rs", "use super::check::default_path;", false),
        ("commands/run.rs", "use super::{check, runs};", false),
        ("commands/run.rs", "use crate::commands::runs::stop;", false),
        ("commands/run.rs", "use crate::{commands::runs, files};", false),
        ("commands/run.rs", "use crate::commands::run::once;", true),
        ("commands/run.rs", "use self::once::Once;", true),
        ("commands/run.rs", "use crate::files;", true),
        ("commands/gateway/mod.rs", "use super::run::asked_to_end;", false),
        ("commands/run/once.rs", "use super::name;", true),
        ("commands/run/once.rs", "use super::super::runs;", false),
        ("commands/run/once/deep.rs", "use super::super::name;", true),
        ("commands/run.rs", "#[cfg(test)]\nmod tests { use super::*; }", true),
        ("terminal.rs", "use crate::commands::runs;", false),
        ("terminal.rs", "use super::args;", true),
        ("args.rs", "Runs(crate::commands::Runs),", true),
        ("commands/mod.rs", "use super::args;", true),
    ] {
        let found = check(&format!("{CLI}{path}"), line);
        assert_eq!(found.is_empty(), is_fine, "{path}: {line}");
    }
    assert_eq!(check("crates/flow/src/lib.rs", "use crate::commands::x;"), []);
}
