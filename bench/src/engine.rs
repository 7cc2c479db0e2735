//! The engine of this repository, in memory and with its journal, as a contestant.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use stave_canon::{Clock, Ids, Timestamp, Value};
use stave_exec::Document;
use stave_llm::Transport;
use stave_llm::prices::Prices;
use stave_llm::recording::{Recording, Replayer};
use stave_runtime::cache::MemoryCache;
use stave_runtime::database::Database;
use stave_runtime::features::EmbeddedFeatures;
use stave_runtime::http::{AllowList, HttpClient};
use stave_runtime::journal::{Ephemeral, Journal, SqliteJournal};
use stave_runtime::state::MemoryStore;
use stave_runtime::{
    Call, EmbeddedEngine, Engine, Failure, ModelHosts, RunLimits, Secrets, Services, Step, StepOutput,
};
use stave_script::{PoolOptions, PythonPool, TemplateRenderer, WorkerCommand};
use tokio::runtime::{Builder, Runtime};

use crate::contest::{Contestant, Error};
use crate::cost::{Cost, Scope, measure};
use crate::workload::graph::NOTHING;

/// Hands its first input on, after it has let every other run continue, when there are some.
#[derive(Debug)]
pub(crate) struct Nothing {
    pub(crate) lets_others_go_on: bool,
}

#[async_trait]
impl Step for Nothing {
    async fn execute(&self, call: &Call<'_>) -> Result<StepOutput, Failure> {
        if self.lets_others_go_on {
            tokio::task::yield_now().await;
        }
        Ok(StepOutput::Whole(call.inputs.values().next().cloned().unwrap_or_default()))
    }
}

#[derive(Debug)]
pub(crate) struct SystemClock(pub(crate) Instant);

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Numbers, which are quick to make and different over processes.
#[derive(Debug)]
pub(crate) struct Numbers(pub(crate) std::sync::atomic::AtomicU64, pub(crate) u64);

impl Ids for Numbers {
    fn fresh(&self) -> u128 {
        let count = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        (u128::from(self.1) << 64) | u128::from(count)
    }
}

/// Ports that lead nowhere, for steps that need none.
pub(crate) fn services(journal: Arc<dyn Journal>) -> Result<Services, Error> {
    let failed = |error: &dyn std::fmt::Display| Error::Failed(error.to_string());
    let command = WorkerCommand { program: PathBuf::new(), arguments: Vec::new() };
    let models: Arc<dyn Transport> = Arc::new(Replayer::new(Recording::default()));
    let python = Arc::new(PythonPool::new(PoolOptions { command, size: 1 }));
    Ok(Services {
        clock: Arc::new(SystemClock(Instant::now())),
        ids: Arc::new(Numbers(Default::default(), u64::from(std::process::id()))),
        templates: Arc::new(TemplateRenderer::new(Arc::clone(&python))),
        python,
        models,
        prices: Arc::new(Prices::built_in()),
        model_hosts: ModelHosts::everywhere(),
        http: HttpClient::new(AllowList::public()).map_err(|error| failed(&error))?,
        state: Arc::new(MemoryStore::new()),
        journal,
        cache: Arc::new(MemoryCache::default()),
        observer: Arc::new(()),
        tracer: Arc::new(()),
        opcua: None,
        references: Arc::new(stave_runtime::NoSource),
        prompt_plugins: vec![stave_prompt::plugins::ConfiguredPlugin::new(Arc::new(
            stave_prompt::plugins::BudgetOptimizer::default(),
        ))],
        digests: stave_runtime::DigestSettings::default(),
        planning: None,
        gate: Arc::default(),
        heavy_work: Arc::default(),
        features: Arc::new(EmbeddedFeatures::new()),
        secrets: Secrets::default(),
        tool_servers: Arc::new(stave_runtime::tool_servers::NoToolServers),
        limits: RunLimits::default(),
        policy: None,
    })
}

/// An engine that runs one document.
pub(crate) struct Runs {
    runtime: Rc<Runtime>,
    engine: EmbeddedEngine,
    document: Arc<Document>,
    request: Value,
    /// How many runs execute at the same time.
    at_once: usize,
}

impl Runs {
    pub(crate) fn new(
        document: Arc<Document>,
        journal: Option<PathBuf>,
        at_once: usize,
    ) -> Result<Runs, Error> {
        let failed = |error: &dyn std::fmt::Display| Error::Failed(error.to_string());
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|error| failed(&error))?;
        let journal: Arc<dyn Journal> = match journal {
            None => Arc::new(Ephemeral),
            Some(folder) => {
                std::fs::create_dir_all(&folder).map_err(|error| failed(&error))?;
                let database =
                    Database::open(&folder.join("stave.sqlite"), "bench").map_err(|error| failed(&error))?;
                Arc::new(SqliteJournal::new(database))
            }
        };
        let services = services(journal)?;
        let engine = EmbeddedEngine::new(services)
            .with_step(NOTHING, Arc::new(Nothing { lets_others_go_on: at_once > 1 }));
        let request = Value::from_iter([("n", 7_i64)]);
        Ok(Runs { runtime: Rc::new(runtime), engine, document, request, at_once })
    }

    fn run(&self) -> Result<Value, Error> {
        let runs = (0..self.at_once).map(|_| self.engine.run(Arc::clone(&self.document), &self.request));
        let mut output = Value::Null;
        for report in self.runtime.block_on(futures_util::future::join_all(runs)) {
            let report = report.map_err(|error| Error::Failed(error.to_string()))?;
            output = report.result.map_err(|failed| Error::Failed(failed.failure.to_string()))?;
        }
        Ok(output)
    }
}

impl Contestant for Runs {
    fn answer(&mut self) -> Result<String, Error> {
        Ok(self.run()?.get("n").map(Value::to_string).unwrap_or_default())
    }

    fn sample(&mut self, iterations: u64) -> Result<Cost, Error> {
        let (done, cost) = measure(Scope::Family, || (0..iterations).try_for_each(|_| self.run().map(drop)));
        done.map(|()| cost)
    }
}
