//! The real `stave compile` on a project of many sources, as a process of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use crate::contest::{Contestant, Error};
use crate::cost::{Cost, Scope, measure};
use crate::machine::Machine;

/// What is done again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    /// Everything, as if for the first time.
    Whole,
    /// One source has changed, and the outputs and the cache of the others are there.
    OneChanged,
    /// Nothing has changed.
    Nothing,
}

/// A folder of sources and the program that compiles it. It goes with its owner.
#[derive(Debug)]
pub(crate) struct CompileProgram {
    program: PathBuf,
    folder: PathBuf,
    task: Task,
    /// The source that changes, in the forms that it has by turns.
    changing: [String; 2],
    turn: usize,
}

impl CompileProgram {
    /// Writes the sources `(name, text)`; the first is the one that changes, into `changed`.
    pub(crate) fn new(
        machine: &Machine,
        task: Task,
        sources: &[(String, String)],
        changed: String,
    ) -> Result<CompileProgram, Error> {
        let program = machine.programs.join("stave");
        if !program.is_file() {
            return Err(Error::Missing("run `cargo build --release -p stave-cli`".to_owned()));
        }
        let folder = std::env::temp_dir().join(format!(
            "stave-bench-{}-{task:?}-{}",
            std::process::id(),
            sources.len()
        ));
        let failed = |error: io::Error| Error::Failed(format!("{}: {error}", folder.display()));
        let first = sources.first().map(|(_, text)| text.clone()).unwrap_or_default();
        write(&folder, sources).map_err(failed)?;
        let program = CompileProgram { program, folder, task, changing: [first, changed], turn: 0 };
        program.compile(false)?;
        Ok(program)
    }

    fn compile(&self, whole: bool) -> Result<(), Error> {
        let mut command = Command::new(&self.program);
        command.args(["compile", "flows", "--out", "out", "--emit", "exec", "--json"]);
        if whole {
            command.args(["--clean-all", "--no-cache"]);
        }
        command.current_dir(&self.folder).stdout(Stdio::null()).stderr(Stdio::null());
        match command.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Error::Failed(format!("stave compile: {status}"))),
            Err(error) => Err(Error::Failed(error.to_string())),
        }
    }

    fn once(&mut self) -> Result<(), Error> {
        if self.task == Task::OneChanged {
            self.turn += 1;
            let text = self.changing.get(self.turn % 2).map_or("", String::as_str);
            let path = self.folder.join("flows").join("0000.wdl");
            let path = if path.is_file() { path } else { path.with_extension("yaml") };
            fs::write(path, text).map_err(|error| Error::Failed(error.to_string()))?;
        }
        self.compile(self.task == Task::Whole)
    }
}

impl Contestant for CompileProgram {
    fn answer(&mut self) -> Result<String, Error> {
        Ok(String::new())
    }

    fn sample(&mut self, iterations: u64) -> Result<Cost, Error> {
        let (result, cost) = measure(Scope::Family, || (0..iterations).try_for_each(|_| self.once()));
        result.map(|()| cost)
    }
}

impl Drop for CompileProgram {
    fn drop(&mut self) {
        // What cannot be removed is left to the system, which empties its temporary folder.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn write(folder: &Path, sources: &[(String, String)]) -> io::Result<()> {
    let flows = folder.join("flows");
    fs::create_dir_all(&flows)?;
    sources.iter().try_for_each(|(name, text)| fs::write(flows.join(name), text))
}
