//! `diff:` references: a real git diff, bounded in time and size, never through a shell.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use stave_prompt::resolve::{SourceText, Unavailable};

/// How long git may take.
const LONGEST: Duration = Duration::from_secs(10);
/// How often a running git is looked at.
const PAUSE: Duration = Duration::from_millis(5);
/// How much of a diff is read.
const MOST_BYTES: u64 = 256 * 1024;

/// The difference between a commit and the files of the folder, or between two commits (`a..b`).
pub(super) fn diff(root: &Path, reference: &str) -> Result<SourceText, Unavailable> {
    let plain = |sign: char| sign.is_alphanumeric() || "._/~^@{}-".contains(sign);
    if reference.is_empty() || reference.starts_with('-') || !reference.chars().all(plain) {
        return Err(Unavailable::Failed(format!("{reference:?} is not the name of a commit")));
    }
    let mut command = Command::new("git");
    command
        .current_dir(root)
        // What a repository configures must not start programs of its own.
        .args(["-c", "core.fsmonitor=false", "-c", "core.pager=cat", "-c", "core.quotePath=false"])
        .args(["--no-optional-locks", "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--relative"])
        .args([reference, "--", "."])
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child =
        command.spawn().map_err(|error| Unavailable::Failed(format!("git can not be started: {error}")))?;
    let result = read(&mut child);
    // It has ended, or it must.
    let _ = child.kill();
    let _ = child.wait();
    let (text, is_cut) = result?;
    Ok(SourceText { name: format!("diff {reference}"), real_path: None, text, is_cut })
}

fn read(child: &mut Child) -> Result<(String, bool), Unavailable> {
    let (output, complaint) = (child.stdout.take(), child.stderr.take());
    let output = std::thread::spawn(move || gather(output, MOST_BYTES + 1));
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
            Err(error) => return Err(Unavailable::Failed(format!("git can not be waited for: {error}"))),
        }
    };
    let bytes = output.join().unwrap_or_default();
    let complaint = complaint.join().unwrap_or_default();
    if status.is_some_and(|status| !status.success()) {
        let complaint = String::from_utf8_lossy(&complaint);
        let line = complaint.lines().next().unwrap_or("git failed").trim_start_matches("fatal: ");
        return Err(Unavailable::Failed(line.chars().take(200).collect()));
    }
    let is_cut = bytes.len() as u64 > MOST_BYTES;
    let kept = bytes.get(..MOST_BYTES as usize).unwrap_or(&bytes);
    Ok((String::from_utf8_lossy(kept).into_owned(), is_cut))
}

fn gather(stream: Option<impl Read>, limit: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // What could be read before a failure is all there is.
        let _ = stream.take(limit).read_to_end(&mut bytes);
    }
    bytes
}
