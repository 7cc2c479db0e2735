//! The outside world of the engine in these tests.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use stave_canon::{CountingIds, FixedClock, Timestamp};
use stave_llm::Transport;
use stave_llm::prices::Prices;
use stave_llm::recording::{Recording, Replayer};
use stave_prompt::plugins::{BudgetOptimizer, ConfiguredPlugin};
use stave_runtime::cache::MemoryCache;
use stave_runtime::features::EmbeddedFeatures;
use stave_runtime::http::{AllowList, HttpClient};
use stave_runtime::journal::{
    CallRecord, Driver, Ending, Going, Journal, JournalError, NewRun, Pause, StepRecord, StoredRun,
};
use stave_runtime::state::{Commit, StateStore};
use stave_runtime::tool_servers::NoToolServers;
use stave_runtime::{ModelHosts, NodeReport, RunLimits, Secrets, Services};
use stave_script::{PoolOptions, PythonPool, TemplateRenderer, WorkerCommand};

/// The worker that cargo builds beside the tests.
fn worker() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let built = tests.ancestors().nth(2).unwrap().join("examples").join("python_worker");
    built.with_extension(std::env::consts::EXE_EXTENSION)
}

pub(crate) fn python() -> Arc<PythonPool> {
    let command = WorkerCommand { program: worker(), arguments: Vec::new() };
    Arc::new(PythonPool::new(PoolOptions { command, size: 2 }))
}

pub(crate) fn services(
    python: &Arc<PythonPool>,
    state: Arc<dyn StateStore>,
    journal: Arc<dyn Journal>,
) -> Services {
    static HTTP: LazyLock<HttpClient> = LazyLock::new(|| HttpClient::new(AllowList::public()).unwrap());
    let models: Arc<dyn Transport> = Arc::new(Replayer::new(Recording::default()));
    Services {
        clock: Arc::new(FixedClock(Timestamp::from_second(1_767_225_600).unwrap())),
        ids: Arc::new(CountingIds::new()),
        python: Arc::clone(python),
        templates: Arc::new(TemplateRenderer::new(Arc::clone(python))),
        models,
        planning: None,
        prices: Arc::new(Prices::built_in()),
        model_hosts: ModelHosts::everywhere(),
        http: HTTP.clone(),
        state,
        journal,
        cache: Arc::new(MemoryCache::default()),
        observer: Arc::new(()),
        tracer: Arc::new(()),
        opcua: None,
        references: Arc::new(stave_runtime::NoSource),
        digests: stave_runtime::DigestSettings::default(),
        prompt_plugins: vec![ConfiguredPlugin::new(Arc::new(BudgetOptimizer::default()))],
        gate: Arc::default(),
        heavy_work: Arc::default(),
        features: Arc::new(EmbeddedFeatures::new()),
        tool_servers: Arc::new(NoToolServers),
        secrets: Secrets::default(),
        limits: RunLimits::default(),
        policy: None,
    }
}

/// A journal that stops working after some operations, as if the process had been killed there.
#[derive(Debug)]
pub(crate) struct Crashing<J> {
    inner: J,
    left: std::sync::atomic::AtomicI64,
    /// Whether the operation that does not return has been done.
    done: bool,
}

impl<J: Journal> Crashing<J> {
    pub(crate) fn new(inner: J, after: i64, done: bool) -> Self {
        Crashing { inner, left: std::sync::atomic::AtomicI64::new(after), done }
    }

    /// How many more operations would have been possible; below zero after the crash.
    pub(crate) fn left(&self) -> i64 {
        self.left.load(std::sync::atomic::Ordering::SeqCst)
    }

    async fn pass<T>(
        &self,
        operation: impl Future<Output = Result<T, JournalError>>,
    ) -> Result<T, JournalError> {
        let left = self.left.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
        let crashed = || JournalError::Damaged("crashed".to_owned());
        match left {
            1.. => operation.await,
            0 if self.done => operation.await.and(Err(crashed())),
            _ => Err(crashed()),
        }
    }
}

#[async_trait]
impl<J: Journal> Journal for Crashing<J> {
    fn file(&self) -> Option<&std::path::Path> {
        self.inner.file()
    }

    fn is_durable(&self) -> bool {
        true
    }

    async fn begin(&self, run: &NewRun) -> Result<Driver, JournalError> {
        self.pass(self.inner.begin(run)).await
    }

    async fn start(&self, run: &str, at: Timestamp) -> Result<(), JournalError> {
        self.pass(self.inner.start(run, at)).await
    }

    async fn claim(&self, run: &str, at: Timestamp) -> Result<(StoredRun, Driver), JournalError> {
        self.pass(self.inner.claim(run, at)).await
    }

    async fn record(
        &self,
        run: &str,
        step: &StepRecord,
        state: Option<Commit>,
    ) -> Result<Going, JournalError> {
        self.pass(self.inner.record(run, step, state)).await
    }

    async fn record_call(
        &self,
        run: &str,
        call: &CallRecord,
        state: Option<Commit>,
    ) -> Result<(), JournalError> {
        self.pass(self.inner.record_call(run, call, state)).await
    }

    async fn suspend(&self, run: &str, pause: Pause<'_>) -> Result<bool, JournalError> {
        self.pass(self.inner.suspend(run, pause)).await
    }

    async fn end(
        &self,
        run: &str,
        ending: &Ending,
        idle: &[NodeReport],
        at: Timestamp,
    ) -> Result<bool, JournalError> {
        self.pass(self.inner.end(run, ending, idle, at)).await
    }

    async fn is_cancelled(&self, run: &str) -> Result<bool, JournalError> {
        self.inner.is_cancelled(run).await
    }
}
