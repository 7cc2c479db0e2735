//! A gateway in this process, with a file of records of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use stave_canon::{Clock, CountingIds, Ids, Timestamp};
use stave_gateway::database::{Evidence, EvidenceSettings, FILE};
use stave_gateway::keys::{KeyLimits, KeyStore, NewKey};
use stave_gateway::{
    FaultClass, Gateway, GatewayConfig, GatewayOptions, GatewayTimeouts, ModelRoute, Retries, RouteTarget,
    UpstreamConfig,
};
use stave_llm::Provider;
use stave_request::planning::{CachePlanners, PlannersInMemory};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::client::{Answer, Client};
use crate::upstream::Upstream;

#[derive(Debug)]
struct TestClock(Instant);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

pub(crate) struct Scene {
    pub(crate) port: u16,
    pub(crate) gateway: Gateway,
    evidence: Evidence,
    folder: tempfile::TempDir,
    key_ids: CountingIds,
    end: Option<oneshot::Sender<()>>,
    serving: JoinSet<usize>,
}

/// One record, as far as tests look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) status: u16,
    pub(crate) outcome: String,
    pub(crate) attempts: u32,
    pub(crate) upstream: Option<String>,
    pub(crate) input: i64,
    pub(crate) output: i64,
    pub(crate) cache_read: i64,
    pub(crate) breakpoints: Option<String>,
    pub(crate) not_planned: Option<String>,
    pub(crate) failed_open: Option<String>,
    pub(crate) gates: Option<String>,
    pub(crate) miss_place: Option<String>,
    pub(crate) request_hash: Option<[u8; 32]>,
    pub(crate) sent_hash: Option<[u8; 32]>,
    pub(crate) edits: Option<String>,
    pub(crate) session: Option<String>,
}

impl Scene {
    pub(crate) async fn new(config: GatewayConfig) -> Scene {
        Scene::of(config, Arc::new(CountingIds::default()), Arc::new(PlannersInMemory)).await
    }

    /// The same with parts that the test brings.
    pub(crate) async fn of(
        config: GatewayConfig,
        ids: Arc<dyn Ids>,
        planners: Arc<dyn CachePlanners>,
    ) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let clock: Arc<dyn Clock> = Arc::new(TestClock(Instant::now()));
        let evidence =
            Evidence::open(&folder.path().join(FILE), Arc::clone(&clock), EvidenceSettings::default())
                .unwrap();
        let options = GatewayOptions {
            keys: evidence.keys(),
            sink: evidence.sink(),
            clock,
            ids,
            planners,
            tracer: None,
            version: "test",
        };
        let gateway = Gateway::new(config, options).unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (end, ended) = oneshot::channel();
        let mut serving = JoinSet::new();
        let serves = gateway.clone();
        serving.spawn(async move {
            serves
                .serve(listener, async {
                    let _ = ended.await;
                })
                .await
        });
        Scene { port, gateway, evidence, folder, key_ids: CountingIds::new(), end: Some(end), serving }
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.port).await
    }

    pub(crate) async fn post(&self, path: &str, body: &str) -> Answer {
        self.client().await.post(path, "", body).await
    }

    pub(crate) async fn get(&self, path: &str, headers: &str) -> Answer {
        let mut client = self.client().await;
        client.send(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n").as_bytes()).await;
        client.answer().await.unwrap()
    }

    /// Issues a key of a tenant, and waits until the gateway knows it.
    pub(crate) async fn key_of(&self, tenant: &str) -> String {
        self.key_with(tenant, KeyLimits::default()).await
    }

    /// The same with limits.
    pub(crate) async fn key_with(&self, tenant: &str, limits: KeyLimits) -> String {
        let new = NewKey {
            name: format!("key of {tenant}"),
            tenant: tenant.to_owned(),
            models: Vec::new(),
            limits,
            is_admin: false,
            expires_at: None,
        };
        let mut store = KeyStore::open(&self.folder.path().join(FILE)).unwrap();
        let key = store.issue(&new, &self.key_ids, Timestamp::now()).unwrap().text.expose().to_owned();
        let begun = Instant::now();
        while self.evidence.keys().authenticate(&key).is_none() {
            assert!(begun.elapsed() < crate::client::LONG, "the gateway does not know its key");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        key
    }

    /// What the first key spent today and has set aside, as the file has it.
    pub(crate) fn spent_today(&self) -> stave_llm::prices::Cost {
        self.evidence.flush();
        let store = KeyStore::open(&self.folder.path().join(FILE)).unwrap();
        store.list(Timestamp::now()).unwrap()[0].spent_today
    }

    /// Asks the gateway to end.
    pub(crate) fn ask_to_end(&mut self) {
        let _ = self.end.take().expect("it was not asked before").send(());
    }

    /// Waits until it has, and gives the number of requests that were broken off.
    pub(crate) async fn ended(&mut self) -> usize {
        tokio::time::timeout(crate::client::LONG, self.serving.join_next()).await.unwrap().unwrap().unwrap()
    }

    /// The records so far.
    pub(crate) fn records(&self) -> Vec<Row> {
        self.evidence.flush();
        let connection = rusqlite::Connection::open(self.folder.path().join(FILE)).unwrap();
        let columns = "status, outcome, attempts, upstream, input, output, cache_read, breakpoints, not_planned, \
                       failed_open, gates, miss_place, request_hash, sent_hash, edits, session";
        let mut rows = connection.prepare(&format!("SELECT {columns} FROM request ORDER BY number")).unwrap();
        let rows = rows.query_map([], |row| {
            Ok(Row {
                status: row.get(0)?,
                outcome: row.get(1)?,
                attempts: row.get(2)?,
                upstream: row.get(3)?,
                input: row.get(4)?,
                output: row.get(5)?,
                cache_read: row.get(6)?,
                breakpoints: row.get(7)?,
                not_planned: row.get(8)?,
                failed_open: row.get(9)?,
                gates: row.get(10)?,
                miss_place: row.get(11)?,
                request_hash: row.get(12)?,
                sent_hash: row.get(13)?,
                edits: row.get(14)?,
                session: row.get(15)?,
            })
        });
        rows.unwrap().map(|row| row.unwrap()).collect()
    }

    /// Waits until there are so many records.
    pub(crate) async fn records_of(&self, count: usize) -> Vec<Row> {
        for _ in 0..400 {
            let records = self.records();
            if records.len() >= count {
                return records;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("there are not {count} records but {:?}", self.records());
    }
}

/// One upstream that speaks as a provider does, with short waits.
pub(crate) fn config(upstream: &Upstream, provider: Provider) -> GatewayConfig {
    several(&[("one", upstream, provider)])
}

pub(crate) fn several(upstreams: &[(&str, &Upstream, Provider)]) -> GatewayConfig {
    let upstreams = upstreams.iter().map(|(name, upstream, provider)| UpstreamConfig {
        endpoint: Some(upstream.endpoint()),
        ..UpstreamConfig::new(*name, *provider)
    });
    GatewayConfig {
        upstreams: upstreams.collect(),
        retries: Retries { backoff: Duration::from_millis(5), ..Retries::default() },
        timeouts: GatewayTimeouts {
            connect: Duration::from_secs(5),
            first_byte: Duration::from_secs(10),
            idle: Duration::from_secs(10),
        },
        ..GatewayConfig::default()
    }
}

/// Requests for `model` go to the first upstream, and to the others when it fails.
pub(crate) fn with_fallback(mut config: GatewayConfig, model: &str) -> GatewayConfig {
    let target =
        |upstream: &UpstreamConfig| RouteTarget { upstream: upstream.name.clone(), model: None, weight: 1 };
    let mut targets: Vec<RouteTarget> = config.upstreams.iter().map(target).collect();
    let fallback = targets.split_off(1);
    config.models = vec![ModelRoute {
        name: model.to_owned(),
        targets,
        fallback,
        fallback_on: FaultClass::PASSING.to_vec(),
    }];
    config
}

pub(crate) const CHAT: &str = r#"{"model":"gpt-x","messages":[{"role":"user","content":"hi"}]}"#;
pub(crate) const CHAT_STREAM: &str =
    r#"{"model":"gpt-x","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
pub(crate) const MESSAGES: &str =
    r#"{"model":"claude-x","max_tokens":16,"messages":[{"role":"user","content":"hi"}]}"#;
pub(crate) const CHAT_REPLY: &str = r#"{"id":"c1","object":"chat.completion","created":1,"model":"gpt-x","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}"#;
pub(crate) const MESSAGES_REPLY: &str = r#"{"id":"m1","type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":7,"output_tokens":3}}"#;
