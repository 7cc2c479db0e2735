//! The built `stave`, started as a process.

use std::ffi::OsStr;
use std::process::Stdio;
use std::time::Duration;

use stave_canon::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use crate::folder::Folder;

/// The longest that a process may take before its test fails.
const LONGEST: Duration = Duration::from_secs(60);

/// What of the tests' own environment a process gets: enough to start, and nothing that could change what
/// it prints.
const PASSED_ON: [&str; 4] = ["PATH", "SystemRoot", "TMPDIR", "TEMP"];

/// One call of `stave`, before it is made.
#[derive(Debug)]
pub(crate) struct Stave {
    command: Command,
    input: Option<String>,
}

/// What came of a call.
#[derive(Debug, Clone)]
pub(crate) struct Finished {
    /// The exit code, or -1 for a process that a signal ended.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A process that can be asked to end.
#[cfg(unix)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessId(u32);

#[cfg(unix)]
impl ProcessId {
    /// Asks the process to end, as a service manager does.
    pub(crate) fn terminate(self) {
        let id = nix::unistd::Pid::from_raw(i32::try_from(self.0).expect("process ids are small"));
        nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM).expect("the process is there");
    }
}

/// A process that runs until it is dropped.
#[derive(Debug)]
pub(crate) struct Watched {
    child: tokio::process::Child,
    stderr: tokio::process::ChildStderr,
    seen: String,
}

impl Watched {
    pub(crate) fn id(&self) -> u32 {
        self.child.id().expect("the process is running")
    }

    /// Waits until standard error has a text that was not there before, and gives what came up to it.
    pub(crate) async fn wait_for_stderr(&mut self, text: &str) -> String {
        let reading = async {
            let mut bytes = [0; 4096];
            while !self.seen.contains(text) {
                let count = self.stderr.read(&mut bytes).await.expect("stderr can be read");
                assert!(count > 0, "the process ended before `{text}`: {}", self.seen);
                self.seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        };
        let in_time = tokio::time::timeout(LONGEST, reading).await;
        assert!(in_time.is_ok(), "`{text}` did not come: {}", self.seen);
        std::mem::take(&mut self.seen)
    }
}

#[cfg(unix)]
impl Watched {
    /// Asks the process to end.
    pub(crate) fn terminate(&self) {
        self.signal("-TERM");
    }

    /// Asks the process to read its settings again.
    pub(crate) fn hang_up(&self) {
        self.signal("-HUP");
    }

    fn signal(&self, signal: &str) {
        let id = self.child.id().expect("the process is running").to_string();
        let asked = std::process::Command::new("kill").args([signal, &id]).status();
        assert!(asked.is_ok_and(|status| status.success()), "process {id} cannot be signalled");
    }

    /// Waits until the process has ended by itself.
    pub(crate) async fn finish(mut self) -> Finished {
        let mut said = String::new();
        let ending = async {
            let _ = self.stderr.read_to_string(&mut said).await;
            self.child.wait().await.expect("a process can be waited for")
        };
        let status = tokio::time::timeout(LONGEST, ending).await.expect("the process ends in time");
        let stderr = format!("{}{said}", self.seen);
        Finished { code: status.code().unwrap_or(-1), stdout: String::new(), stderr }
    }
}

/// `stave` with these arguments, in this folder.
pub(crate) fn stave<I, A>(folder: &Folder, arguments: I) -> Stave
where
    I: IntoIterator<Item = A>,
    A: AsRef<OsStr>,
{
    let mut command = Command::new(env!("CARGO_BIN_EXE_stave"));
    command.args(arguments).current_dir(folder.path()).env_clear().kill_on_drop(true);
    command.envs(PASSED_ON.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.env("NO_PROXY", "127.0.0.1").env("OPENAI_API_KEY", "test-key");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    Stave { command, input: None }
}

impl Stave {
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn without_env(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// The same call in a process that permissions hold for, also when the tests run as root.
    #[cfg(unix)]
    pub(crate) fn without_overrides(self) -> Self {
        let script = "[ \"$(id -u)\" = 0 ] || exec \"$0\" \"$@\"; \
            exec setpriv --bounding-set=-all --inh-caps=-all \"$0\" \"$@\"";
        self.through(script)
    }

    /// The same call in a process that may write no file beyond this many bytes, as on a disk that is full.
    #[cfg(unix)]
    pub(crate) fn with_largest_file(self, bytes: usize) -> Self {
        // A shell counts blocks of 512 bytes.
        self.through(&format!("ulimit -f {} && exec \"$0\" \"$@\"", bytes / 512))
    }

    /// The same call by a shell.
    #[cfg(unix)]
    fn through(mut self, script: &str) -> Self {
        let call = self.command.as_std();
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(script).arg(call.get_program()).args(call.get_args());
        command.env_clear().kill_on_drop(true).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(folder) = call.get_current_dir() {
            command.current_dir(folder);
        }
        self.command = command;
        self
    }

    /// The same call in a folder below the test's own.
    pub(crate) fn inside(mut self, folder: &Folder, below: &str) -> Self {
        self.command.current_dir(folder.path().join(below));
        self
    }

    /// The text that the process reads from its standard input, which is closed otherwise.
    pub(crate) fn input(mut self, text: &str) -> Self {
        self.input = Some(text.to_owned());
        self
    }

    /// Waits for the end. A process that does not end in time fails the test.
    pub(crate) async fn finish(self) -> Finished {
        self.outcome().await.unwrap_or_else(|reason| panic!("{reason}"))
    }

    /// Kills the process, without warning, when `moment` has come; `None` when it ended before.
    pub(crate) async fn killed_at(mut self, moment: impl Future<Output = ()>) -> Option<()> {
        self.command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = self.command.spawn().expect("stave starts");
        let came = tokio::select! {
            _ = child.wait() => None,
            () = moment => Some(()),
        };
        if came.is_some() {
            child.kill().await.expect("a process that runs can be killed");
        }
        came
    }

    /// Starts the process, and gives its id with the wait for its end.
    #[cfg(unix)]
    pub(crate) fn with_id(mut self) -> (ProcessId, impl Future<Output = Finished>) {
        self.command.stdin(Stdio::null());
        let child = self.command.spawn().expect("stave starts");
        let id = ProcessId(child.id().expect("a process that was just started has an id"));
        let finish = async move {
            let output = tokio::time::timeout(LONGEST, child.wait_with_output()).await;
            let output = output.expect("the process ends in time").expect("the process can be waited for");
            let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
            Finished {
                code: output.status.code().unwrap_or(-1),
                stdout: text(output.stdout),
                stderr: text(output.stderr),
            }
        };
        (id, finish)
    }

    /// Starts a process that does not end by itself.
    pub(crate) fn start(mut self) -> Watched {
        let mut child = self.command.stdin(Stdio::null()).spawn().expect("stave starts");
        let stderr = child.stderr.take().expect("stderr is piped");
        Watched { child, stderr, seen: String::new() }
    }

    /// Waits for the end, or says why there is none.
    pub(crate) async fn outcome(mut self) -> Result<Finished, String> {
        self.command.stdin(if self.input.is_some() { Stdio::piped() } else { Stdio::null() });
        let mut child = self.command.spawn().map_err(|error| format!("stave does not start: {error}"))?;
        if let (Some(text), Some(mut stdin)) = (self.input, child.stdin.take()) {
            // A process that does not read its input has closed it, which is no failure.
            let _ = stdin.write_all(text.as_bytes()).await;
        }
        let output = tokio::time::timeout(LONGEST, child.wait_with_output())
            .await
            .map_err(|_| format!("no end within {} s", LONGEST.as_secs()))?
            .map_err(|error| format!("stave cannot be waited for: {error}"))?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(Finished {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        })
    }
}

impl Finished {
    /// Standard output as the one JSON object that machines get.
    pub(crate) fn object(&self) -> Result<Value, String> {
        match stave_canon::parse(&self.stdout) {
            Ok(value @ Value::Object(_)) => Ok(value),
            Ok(other) => Err(format!("{self}\nstdout is {}, not an object", other.kind())),
            Err(error) => Err(format!("{self}\nstdout is not JSON: {error}")),
        }
    }

    /// [`Finished::object`], or a failed test.
    pub(crate) fn json(&self) -> Value {
        self.object().unwrap_or_else(|reason| panic!("{reason}"))
    }

    /// The same, after the exit code was compared.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "the exit code\n{self}");
        self
    }
}

impl std::fmt::Display for Finished {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            out,
            "exit {}\nstdout: {}\nstderr: {}",
            self.code,
            self.stdout.trim_end(),
            self.stderr.trim_end()
        )
    }
}
