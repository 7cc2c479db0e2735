//! A peer in Python: one process for each benchmark, which follows its instructions and times itself.
//!
//! A request is a line of JSON, and so is a reply. The first request carries what the work is done on.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use stave_canon::{Value, compact_ascii};

use crate::contest::{Contestant, Entrant, Error};
use crate::cost::Cost;
use crate::machine::Machine;

/// The loop that every peer's script hands its rows to.
const SERVE: &str = include_str!("peers/serve.py");

/// A Python process with the rows of one benchmark. It ends with the last of its contestants.
#[derive(Debug, Clone)]
pub(crate) struct Peer(Result<Rc<RefCell<Process>>, Rc<str>>);

#[derive(Debug)]
struct Process {
    child: Child,
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts `script` on `input`. A failure is kept for the rows that need the peer.
    pub(crate) fn start(machine: &Machine, script: &str, input: Value) -> Peer {
        let started = Process::start(machine, script).and_then(|mut process| {
            process.ask(vec![("input", input)])?;
            Ok(Rc::new(RefCell::new(process)))
        });
        Peer(started.map_err(|error| Rc::from(error.to_string())))
    }

    /// The row `row` of the script, as a contestant.
    pub(crate) fn entrant(&self, name: &'static str, row: &'static str) -> Entrant {
        let contestant = match &self.0 {
            Ok(process) => Ok(Box::new(Row { process: Rc::clone(process), row }) as Box<dyn Contestant>),
            Err(reason) => Err(Error::Missing(reason.to_string())),
        };
        Entrant { name, contestant }
    }
}

impl Process {
    fn start(machine: &Machine, script: &str) -> Result<Process, Error> {
        let mut child = Command::new(&machine.python)
            .args(["-c", &format!("{SERVE}\n{script}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| {
                Error::Missing(format!("{} cannot be started: {error}", machine.python.display()))
            })?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(requests), Some(replies)) => {
                Ok(Process { child, requests: Some(requests), replies: BufReader::new(replies) })
            }
            _ => Err(Error::Failed("it has no pipes".to_owned())),
        }
    }

    /// Sends a request and returns its reply, which may be a refusal.
    fn ask(&mut self, request: Vec<(&str, Value)>) -> Result<Value, Error> {
        let request = compact_ascii(&Value::from_iter(request));
        let mut line = String::new();
        let exchanged = match &mut self.requests {
            Some(requests) => writeln!(requests, "{request}")
                .and_then(|()| requests.flush())
                .and_then(|()| self.replies.read_line(&mut line)),
            None => Ok(0),
        };
        match exchanged {
            Ok(0) => return Err(Error::Failed("the peer ended".to_owned())),
            Ok(_) => {}
            Err(error) => return Err(Error::Failed(error.to_string())),
        }
        let reply = stave_canon::parse(&line).map_err(|error| Error::Failed(error.to_string()))?;
        match reply.get("missing").and_then(Value::as_str) {
            Some(reason) => Err(Error::Missing(reason.to_owned())),
            None => Ok(reply),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The script's loop ends with its input.
        self.requests = None;
        let _ = self.child.wait();
    }
}

struct Row {
    process: Rc<RefCell<Process>>,
    row: &'static str,
}

impl Contestant for Row {
    fn answer(&mut self) -> Result<String, Error> {
        let reply = self.process.borrow_mut().ask(vec![("answer", self.row.into())])?;
        let answer = reply.get("answer").and_then(Value::as_str);
        answer.map(str::to_owned).ok_or_else(|| Error::Failed("the peer gave no answer".to_owned()))
    }

    fn sample(&mut self, iterations: u64) -> Result<Cost, Error> {
        let request = vec![("row", self.row.into()), ("iterations", iterations.into())];
        let reply = self.process.borrow_mut().ask(request)?;
        let time = |name: &str| {
            let nanoseconds =
                reply.get(name).and_then(Value::as_i64).and_then(|time| u64::try_from(time).ok());
            nanoseconds.map(Duration::from_nanos)
        };
        match (time("wall_ns"), time("cpu_ns")) {
            (Some(wall), Some(cpu)) => Ok(Cost { wall, cpu }),
            _ => Err(Error::Failed("the peer told no time".to_owned())),
        }
    }
}
