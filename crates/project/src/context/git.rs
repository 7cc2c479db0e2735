//! `diff:` references: a real git diff, bounded in time and size, never through a shell.
//!
//! Invariants: git starts no program that the repository chose (filters, text conversions, external diffs, hooks,
//! monitors, pagers, programs of remotes), and every file whose content a diff shows is named, so that governance
//! judges it like a file of its own.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use stave_prompt::resolve::{ReferenceText, Unavailable};

/// How long one call of git may take.
const LONGEST: Duration = Duration::from_secs(10);
/// How often a running git is looked at.
const PAUSE: Duration = Duration::from_millis(5);
/// How much of a diff is read.
const MOST_BYTES: u64 = 256 * 1024;
/// How much of a list of names is read; a longer one is refused, because a part of it says too little.
const MOST_NAMES: u64 = 4 * 1024 * 1024;
/// The settings of a filter, with values that start nothing.
const NO_FILTER: [(&str, &str); 4] = [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")];
/// Settings that start programs, read other files or make git call other hosts.
const NO_PROGRAMS: [(&str, &str); 7] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.attributesFile", "/dev/null"),
    ("core.pager", "cat"),
    ("core.quotePath", "false"),
    ("protocol.allow", "never"),
    ("diff.external", ""),
];
/// The tree without files, by the two hashes that repositories have. It shows every file as new.
const EMPTY_TREES: [&str; 2] = [
    "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
];
/// How a diff is made. Names are not followed through renames, so that every file in it is named.
const DIFF: [&str; 10] = [
    "diff",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--no-relative",
    "--ignore-submodules=all",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// How long the names of the files may be that git is given as arguments.
const MOST_ARGUMENTS: usize = 256 * 1024;

/// The difference between a commit and the files of the folder, or between two commits (`a..b`), of the files that
/// `shows` names by their paths from the folder. What is left out is counted in the first line.
pub(super) fn diff(
    root: &Path,
    named: &str,
    shows: impl Fn(&str) -> bool,
) -> Result<ReferenceText, Unavailable> {
    let (settings, reference) = checked(root, named)?;
    let reference = reference.as_str();
    let run = |more: &[&str], paths: &[&str], limit: u64| {
        let mut command = git(root, &settings);
        // A file's name is no pattern.
        command.env("GIT_LITERAL_PATHSPECS", "1");
        command.args(DIFF).args(more).args([reference, "--"]).args(paths);
        output(&mut command, limit)
    };
    let (names, names_cut) = run(&["--name-only", "-z", "--relative"], &["."], MOST_NAMES)?;
    if names_cut {
        return Err(Unavailable::TooLarge("it changes too many files".to_owned()));
    }
    let (mut shown, mut left_out) = (Vec::new(), 0_usize);
    for name in lines(&names) {
        // A name that is not UTF-8 cannot be listed.
        match std::str::from_utf8(name).ok().filter(|name| shows(name)) {
            Some(name) => shown.push(name),
            None => left_out += 1,
        }
    }
    if left_out > 0 && shown.iter().map(|name| name.len() + 1).sum::<usize>() > MOST_ARGUMENTS {
        return Err(Unavailable::TooLarge("it changes too many files".to_owned()));
    }
    let real_paths = shown.iter().map(|name| root.join(name).to_string_lossy().into_owned()).collect();
    let (text, is_cut) = match (shown.is_empty(), left_out) {
        (true, _) => (Vec::new(), false),
        (false, 0) => run(&["--relative"], &["."], MOST_BYTES)?,
        (false, _) => run(&["--relative"], &shown, MOST_BYTES)?,
    };
    let text = String::from_utf8_lossy(&text);
    let text = match left_out {
        0 => text.into_owned(),
        1 => format!("[1 changed file is not listed in context_files and is left out]\n{text}"),
        count => format!("[{count} changed files are not listed in context_files and are left out]\n{text}"),
    };
    Ok(ReferenceText { name: format!("diff {named}"), real_paths, text, is_cut })
}

/// Whether git can make a diff of this name, in a folder that is part of a working tree; `None` elsewhere.
pub(super) fn check(root: &Path, named: &str) -> Option<Unavailable> {
    let inside = output(git(root, &[]).args(["rev-parse", "--is-inside-work-tree"]), 64).ok()?;
    if !inside.0.starts_with(b"true") {
        return None;
    }
    checked(root, named).err()
}

/// The settings for git, and the reference with the ids of its commits.
fn checked(root: &Path, named: &str) -> Result<(Vec<(String, String)>, String), Unavailable> {
    let plain = |sign: char| sign.is_alphanumeric() || "._/~^@{}-".contains(sign);
    if named.is_empty() || named.starts_with('-') || !named.chars().all(plain) {
        return Err(Unavailable::Failed(format!("{named:?} is not the name of a commit")));
    }
    let settings = settings(root)?;
    let reference = commits(root, &settings, named)?;
    Ok((settings, reference))
}

/// The reference with the ids of commits for its names. Trees and blobs are refused: in a diff of a folder's tree the
/// paths lack the folder's name, so protected paths would not be known again.
fn commits(root: &Path, settings: &[(String, String)], reference: &str) -> Result<String, Unavailable> {
    let commit = |name: &str| {
        let name = if name.is_empty() { "HEAD" } else { name };
        if EMPTY_TREES.contains(&name) {
            return Ok(name.to_owned());
        }
        let mut command = git(root, settings);
        command.args(["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{name}^{{commit}}")]);
        let unknown = || Unavailable::Failed(format!("{name:?} is not the name of a commit"));
        let (id, _) = output(&mut command, 256).map_err(|_| unknown())?;
        let id = String::from_utf8_lossy(&id).trim().to_owned();
        if id.is_empty() { Err(unknown()) } else { Ok(id) }
    };
    for between in ["...", ".."] {
        if let Some((from, to)) = reference.split_once(between) {
            return Ok(format!("{}{between}{}", commit(from)?, commit(to)?));
        }
    }
    commit(reference)
}

/// Settings that keep git from starting programs that the repository chose. A file's attributes name a filter, and
/// the configuration says what program that is, so every filter that any configuration has is emptied.
fn settings(root: &Path) -> Result<Vec<(String, String)>, Unavailable> {
    let none: Vec<(String, String)> =
        NO_PROGRAMS.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let (names, is_cut) =
        output(git(root, &none).args(["config", "--list", "--name-only", "-z"]), MOST_NAMES)?;
    if is_cut {
        return Err(Unavailable::Failed("the configuration of git is too long".to_owned()));
    }
    let mut drivers = BTreeSet::new();
    for name in lines(&names) {
        let name = std::str::from_utf8(name)
            .map_err(|_| Unavailable::Failed("the configuration of git is not UTF-8".to_owned()))?;
        let (section, rest) = name.split_once('.').unwrap_or((name, ""));
        if let Some((driver, _)) = rest.rsplit_once('.').filter(|_| section.eq_ignore_ascii_case("filter")) {
            drivers.insert(driver.to_owned());
        }
    }
    let filters = drivers.iter().flat_map(|driver| {
        NO_FILTER.map(|(variable, value)| (format!("filter.{driver}.{variable}"), value.to_owned()))
    });
    Ok(none.into_iter().chain(filters).collect())
}

/// Git in a folder with these settings, and with nothing of this process's environment that changes what it does.
fn git(root: &Path, settings: &[(String, String)]) -> Command {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    for (index, (key, value)) in settings.iter().enumerate() {
        command.env(format!("GIT_CONFIG_KEY_{index}"), key).env(format!("GIT_CONFIG_VALUE_{index}"), value);
    }
    command
        .current_dir(root)
        .args(["--no-pager", "--no-optional-locks"])
        .env("GIT_CONFIG_COUNT", settings.len().to_string())
        .env("GIT_TERMINAL_PROMPT", "0")
        // Objects that a partial clone lacks are not fetched: that would start the program of a remote.
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_ALLOW_PROTOCOL", "none")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// The parts of a text that ends each of them with a zero.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == 0).filter(|line| !line.is_empty())
}

/// What a command printed, and whether it printed more than `limit` bytes.
fn output(command: &mut Command, limit: u64) -> Result<(Vec<u8>, bool), Unavailable> {
    let mut child =
        command.spawn().map_err(|error| Unavailable::Failed(format!("git cannot be started: {error}")))?;
    let result = read(&mut child, limit);
    // It has ended, or it must.
    let _ = child.kill();
    let _ = child.wait();
    result
}

fn read(child: &mut Child, limit: u64) -> Result<(Vec<u8>, bool), Unavailable> {
    let (output, complaint) = (child.stdout.take(), child.stderr.take());
    let output = std::thread::spawn(move || gather(output, limit + 1));
    let complaint = std::thread::spawn(move || gather(complaint, 4096));
    let start = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if output.is_finished() && start.elapsed() < LONGEST => {
                // The end of the output, or more of it than is wanted.
                std::thread::sleep(PAUSE);
                if child.try_wait().ok().flatten().is_none() {
                    let _ = child.kill();
                    break None;
                }
            }
            Ok(None) if start.elapsed() < LONGEST => std::thread::sleep(PAUSE),
            Ok(None) => {
                let _ = child.kill();
                let seconds = LONGEST.as_secs();
                return Err(Unavailable::Failed(format!("git took longer than {seconds} seconds")));
            }
            Err(error) => return Err(Unavailable::Failed(format!("git cannot be waited for: {error}"))),
        }
    };
    let mut bytes = output.join().unwrap_or_default();
    let complaint = complaint.join().unwrap_or_default();
    if status.is_some_and(|status| !status.success()) {
        let complaint = String::from_utf8_lossy(&complaint);
        let line = complaint.lines().next().unwrap_or("git failed").trim_start_matches("fatal: ");
        return Err(Unavailable::Failed(line.chars().take(200).collect()));
    }
    let is_cut = bytes.len() as u64 > limit;
    bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok((bytes, is_cut))
}

fn gather(stream: Option<impl Read>, limit: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // What could be read before a failure is all there is.
        let _ = stream.take(limit).read_to_end(&mut bytes);
    }
    bytes
}
