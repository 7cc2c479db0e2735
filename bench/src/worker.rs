//! Conditions in a sandbox: a real worker process behind the pool.

use std::ffi::OsString;
use std::rc::Rc;

use stave_canon::{Object, Value};
use stave_script::{JobLimits, PoolOptions, PythonPool, WorkerCommand};
use tokio::runtime::{Builder, Runtime};

use crate::contest::{Contestant, Error};
use crate::cost::{Cost, Scope, measure};
use crate::machine::Machine;

/// A pool of one worker that evaluates one expression in given scopes.
#[derive(Debug)]
pub(crate) struct Sandbox {
    runtime: Runtime,
    pool: PythonPool,
    pub(crate) expression: String,
    pub(crate) scopes: Vec<Object>,
}

impl Sandbox {
    /// The command line's own worker when it is built, else the one of the tests.
    pub(crate) fn open(machine: &Machine, expression: &str, scopes: &[Object]) -> Result<Rc<Sandbox>, Error> {
        let candidates = [
            (machine.programs.join("stave"), vec![OsString::from("py-worker")]),
            (machine.programs.join("stave-py-worker-test"), Vec::new()),
        ];
        let mut reason = "no worker is built".to_owned();
        for (program, arguments) in candidates {
            if !program.is_file() {
                continue;
            }
            let name = program.display().to_string();
            match Sandbox::start(WorkerCommand { program, arguments }, expression, scopes) {
                Ok(sandbox) => return Ok(Rc::new(sandbox)),
                // It may be older than this program; another one may do.
                Err(error) => reason = format!("{name} does not answer ({error})"),
            }
        }
        Err(Error::Missing(format!("{reason}; run `cargo build --release -p stave-cli`")))
    }

    fn start(command: WorkerCommand, expression: &str, scopes: &[Object]) -> Result<Sandbox, Error> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Error::Failed(error.to_string()))?;
        let sandbox = Sandbox {
            pool: PythonPool::new(PoolOptions { command, size: 1 }),
            runtime,
            expression: expression.to_owned(),
            scopes: scopes.to_vec(),
        };
        sandbox.evaluate(scopes.get(..1).unwrap_or_default().to_vec())?;
        Ok(sandbox)
    }

    fn evaluate(&self, scopes: Vec<Object>) -> Result<Vec<Value>, Error> {
        let outcomes =
            self.runtime.block_on(self.pool.evaluate(&self.expression, scopes, &JobLimits::DEFAULT));
        let outcomes = outcomes.and_then(|outcomes| outcomes.into_iter().collect::<Result<Vec<_>, _>>());
        outcomes.map_err(|error| Error::Failed(error.to_string()))
    }
}

/// The sandbox as a contestant: some scopes a call, the next ones each time.
#[derive(Debug)]
pub(crate) struct Calls {
    pub(crate) sandbox: Rc<Sandbox>,
    /// How many scopes go into one call.
    pub(crate) batch: usize,
    pub(crate) position: usize,
}

impl Calls {
    fn call(&mut self) -> Result<Vec<Value>, Error> {
        let scopes =
            self.sandbox.scopes.iter().cycle().skip(self.position).take(self.batch).cloned().collect();
        self.position = (self.position + self.batch) % self.sandbox.scopes.len().max(1);
        self.sandbox.evaluate(scopes)
    }
}

impl Contestant for Calls {
    fn answer(&mut self) -> Result<String, Error> {
        let mut results = Vec::new();
        while results.len() < self.sandbox.scopes.len() {
            results.extend(self.call()?);
        }
        let holding = results.iter().filter(|result| **result == Value::Bool(true)).count();
        Ok(format!("{holding} of {} hold", results.len()))
    }

    fn sample(&mut self, iterations: u64) -> Result<Cost, Error> {
        let (done, cost) = measure(Scope::Family, || (0..iterations).try_for_each(|_| self.call().map(drop)));
        done.map(|()| cost)
    }
}
