//! The runs of a project that Restate keeps.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::Method;
use stave_canon::{Timestamp, Value};
use stave_runtime::journal::{
    Decision, Ending, JournalError, RunFilter, RunStatus, RunSummary, Runs, StoredRun, codec, questions,
};

use crate::client::RestateClient;
use crate::error::ScaleError;
use crate::keys::{ProjectKey, RUN, in_query};
use crate::messages::{self, Start, record_of, report_of};
use crate::services::{ASKED, DECIDED, HEAD, STANDING, STEPS};
use crate::store::{Packed, Store};

/// How often and how long is looked whether a run has taken something up.
const LOOKS: u32 = 100;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

#[derive(Debug, Clone)]
pub struct RestateRuns {
    pub(crate) client: Arc<RestateClient>,
    pub(crate) store: Arc<Store>,
    pub(crate) project: ProjectKey,
}

impl RestateRuns {
    #[must_use]
    pub fn new(client: Arc<RestateClient>, project: ProjectKey) -> RestateRuns {
        RestateRuns { store: Arc::new(Store::new(Arc::clone(&client))), client, project }
    }

    /// Everything that is known of a run, and how often it has rested.
    pub(crate) async fn stored(&self, run: &str) -> Result<(StoredRun, u32), JournalError> {
        for _ in 0..LOOKS {
            let state = self.state(run).await?;
            if state.contains_key(HEAD) && state.contains_key(STANDING) {
                return self.read(run, &state).await;
            }
            if self.invocation(run).await?.is_none() {
                return Err(JournalError::UnknownRun(run.to_owned()));
            }
            // It was handed over, and no worker has begun with it.
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        Err(JournalError::Unreachable(format!("no worker has begun with run `{run}`")))
    }

    /// Resumes a run that Restate has put aside after too many failures.
    pub(crate) async fn wake(&self, run: &str) -> Result<(), JournalError> {
        if let Some((id, _)) = self.invocation(run).await? {
            self.client.admin(Method::PATCH, &format!("/invocations/{id}/resume"), &Value::Null).await?;
        }
        Ok(())
    }

    /// What a run has written down about itself.
    async fn state(&self, run: &str) -> Result<HashMap<String, Value>, ScaleError> {
        let query = format!(
            "SELECT key, value_utf8 FROM state WHERE service_name = '{RUN}' AND service_key = '{}'",
            in_query(&self.project.run(run))
        );
        let rows = self.client.query(&query).await?;
        let rows = rows.iter().map(|row| Ok((messages::text(row, "key")?, parsed(row, "value_utf8")?)));
        rows.collect()
    }

    /// The invocation of a run and how Restate sees it.
    async fn invocation(&self, run: &str) -> Result<Option<(String, String)>, ScaleError> {
        let query = format!(
            "SELECT id, status FROM sys_invocation WHERE target_service_name = '{RUN}' \
             AND target_service_key = '{}' AND target_handler_name = 'run'",
            in_query(&self.project.run(run))
        );
        let rows = self.client.query(&query).await?;
        let found = rows.first().map(|row| Ok((messages::text(row, "id")?, messages::text(row, "status")?)));
        found.transpose()
    }

    async fn read(
        &self,
        run: &str,
        state: &HashMap<String, Value>,
    ) -> Result<(StoredRun, u32), JournalError> {
        let head = Start::of_value(state.get(HEAD).unwrap_or(&Value::Null))?;
        let standing = state.get(STANDING).unwrap_or(&Value::Null);
        let mut keys: Vec<&String> = state.keys().filter(|key| key.starts_with(STEPS)).collect();
        keys.sort();
        let mut steps = Vec::with_capacity(keys.len());
        for key in keys {
            let step = state.get(key).unwrap_or(&Value::Null);
            let text = self.unpacked(run, &messages::packed(step, "record")?).await?;
            steps.push(record_of(&messages::text(step, "node")?, &text)?);
        }
        let mut decisions: Vec<(String, Decision)> = head.decisions.clone().into_iter().collect();
        for (key, decision) in state {
            if let (Some(node), Some(text)) = (key.strip_prefix(DECIDED), decision.as_str()) {
                decisions.push((node.to_owned(), codec::decode_decision(text)?));
            }
        }
        let mut questions = Vec::new();
        for asked in state.iter().filter(|(key, _)| key.starts_with(ASKED)).map(|(_, asked)| asked) {
            questions.push(messages::question_of(&messages::text(asked, "question")?)?);
        }
        questions.sort_by(|one, other| one.path.cmp(&other.path));
        let (mut status, ended_at, rests) = stands(standing)?;
        if status == RunStatus::Running
            && self.invocation(run).await?.is_some_and(|(_, status)| status == "paused")
        {
            status = RunStatus::Interrupted;
        }
        let report = match standing.get("report").and_then(Packed::of_value) {
            Some(report) => Some(report_of(&self.unpacked(run, &report).await?)?),
            None => None,
        };
        let idle = report.as_ref().map(stave_runtime::RunReport::idle).unwrap_or_default();
        let ending: Option<Ending> = report.and_then(|report| report.ending());
        let document = self.store.document(&self.project, &head.document).await?;
        let request = stave_canon::parse(&self.unpacked(run, &head.request).await?)
            .map_err(|error| JournalError::Damaged(error.to_string()))?;
        let summary = RunSummary {
            id: run.to_owned(),
            flow: head.flow,
            status,
            started_at: head.times.started_at,
            ended_at,
            steps: steps.len() as u64,
            replay_of: head.replay_of,
            crashes: 0,
        };
        let stored = StoredRun {
            summary,
            document_hash: document.fingerprint(),
            document: Arc::new(document),
            request,
            digest: head.digest,
            had_auth: false,
            auth_digest: None,
            arrived_at: head.times.arrived_at,
            steps,
            calls: Vec::new(),
            items: Vec::new(),
            decisions,
            questions,
            ending,
            used: Duration::ZERO,
            idle,
        };
        Ok((stored, rests))
    }

    async fn unpacked(&self, run: &str, packed: &Packed) -> Result<Arc<str>, ScaleError> {
        self.store.unpack(&self.project, run, packed).await
    }
}

#[async_trait]
impl Runs for RestateRuns {
    async fn list(&self, filter: RunFilter) -> Result<Vec<RunSummary>, JournalError> {
        let beginning = in_query(&self.project.runs());
        let query = format!(
            "SELECT service_key, key, value_utf8 FROM state WHERE service_name = '{RUN}' \
             AND key IN ('{HEAD}', '{STANDING}') AND starts_with(service_key, '{beginning}')"
        );
        let mut known: HashMap<String, (Option<Value>, Option<Value>)> = HashMap::new();
        for row in self.client.query(&query).await? {
            let key = messages::text(&row, "service_key")?;
            let Some(run) = self.project.run_of(&key) else { continue };
            let value = parsed(&row, "value_utf8")?;
            let known = known.entry(run).or_default();
            match messages::text(&row, "key")?.as_str() {
                HEAD => known.0 = Some(value),
                _ => known.1 = Some(value),
            }
        }
        let query = format!(
            "SELECT service_key, count(*) AS steps FROM state WHERE service_name = '{RUN}' \
             AND starts_with(key, '{STEPS}') AND starts_with(service_key, '{beginning}') GROUP BY service_key"
        );
        let mut steps: HashMap<String, u64> = HashMap::new();
        for row in self.client.query(&query).await? {
            let count = row.get("steps").and_then(Value::as_i64).and_then(|count| u64::try_from(count).ok());
            steps.insert(messages::text(&row, "service_key")?, count.unwrap_or_default());
        }
        let mut runs = Vec::new();
        for (id, (head, standing)) in known {
            let (Some(head), Some(standing)) = (head, standing) else { continue };
            let head = Start::of_value(&head)?;
            let (status, ended_at, _) = stands(&standing)?;
            let fits = filter.flow.as_ref().is_none_or(|flow| *flow == head.flow)
                && filter.status.is_none_or(|wanted| wanted == status);
            if fits {
                let steps = steps.get(&self.project.run(&id)).copied().unwrap_or_default();
                let (flow, started_at, replay_of) = (head.flow, head.times.started_at, head.replay_of);
                runs.push(RunSummary {
                    id,
                    flow,
                    status,
                    started_at,
                    ended_at,
                    steps,
                    replay_of,
                    crashes: 0,
                });
            }
        }
        runs.sort_by(|one, other| other.started_at.cmp(&one.started_at).then_with(|| other.id.cmp(&one.id)));
        if filter.oldest_first {
            runs.reverse();
        }
        if let Some((at, id)) = &filter.after {
            let after = |run: &RunSummary| (run.started_at, run.id.as_str()).cmp(&(*at, id.as_str()));
            let wanted = if filter.oldest_first { Ordering::Greater } else { Ordering::Less };
            runs.retain(|run| after(run) == wanted);
        }
        runs.truncate(filter.limit.unwrap_or(usize::MAX));
        Ok(runs)
    }

    async fn show(&self, run: &str) -> Result<StoredRun, JournalError> {
        self.stored(run).await.map(|(stored, _)| stored)
    }

    async fn find(&self, beginning: &str) -> Result<String, JournalError> {
        // A key is a list, so what follows the beginning of an id is not its end.
        let key = self.project.run(beginning);
        let key = key.trim_end_matches("\"]");
        let query = format!(
            "SELECT DISTINCT target_service_key FROM sys_invocation WHERE target_service_name = '{RUN}' \
             AND target_handler_name = 'run' AND starts_with(target_service_key, '{}') \
             ORDER BY target_service_key LIMIT {}",
            in_query(key),
            JournalError::MATCHES + 1
        );
        let rows = self.client.query(&query).await?;
        let found: Vec<String> = rows
            .iter()
            .filter_map(|row| self.project.run_of(row.get("target_service_key")?.as_str()?))
            .collect();
        // An id that is the beginning of another one comes before it.
        JournalError::sole_match(beginning.to_owned(), found)
    }

    async fn cancel(&self, run: &str, _: Timestamp) -> Result<RunStatus, JournalError> {
        let status = self.show(run).await?.summary.status;
        if status.is_terminal() {
            return Err(JournalError::Ended { run: run.to_owned(), status });
        }
        self.client.call(RUN, &self.project.run(run), "cancel", &Value::Null).await?;
        if status != RunStatus::Waiting {
            return Ok(RunStatus::Running);
        }
        // A run that waits for nobody but a person ends at once.
        for _ in 0..LOOKS {
            let status = self.show(run).await?.summary.status;
            if status.is_terminal() {
                return Ok(status);
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        Ok(RunStatus::Running)
    }

    async fn decide(&self, run: &str, path: &str, decision: Decision) -> Result<Decision, JournalError> {
        let mut handed_over: Option<Decision> = None;
        for _ in 0..LOOKS {
            let stored = self.show(run).await?;
            let earlier = stored.decisions.into_iter().find(|(decided, _)| decided == path);
            let earlier = earlier.map(|(_, decided)| decided);
            if let (Some(handed_over), Some(earlier)) = (&handed_over, &earlier)
                && handed_over.digest == earlier.digest
            {
                return Ok(earlier.clone());
            }
            let status = stored.summary.status;
            if status.is_terminal() {
                return Err(JournalError::Ended { run: run.to_owned(), status });
            }
            if handed_over.is_none() {
                let open = stored.questions.iter().find(|question| question.path == path);
                let is_earlier = |decided: &Decision| Some(decided) == earlier.as_ref();
                let decided = questions::settle(run, path, open, earlier.clone(), decision.clone())?;
                if is_earlier(&decided) {
                    return Ok(decided);
                }
                let asked = Value::from_iter([
                    ("node", Value::from(path)),
                    ("decision", codec::encode_decision(&decided).into()),
                ]);
                let answer = self.client.call(RUN, &self.project.run(run), "decide", &asked).await?;
                if answer != Value::Bool(true) {
                    let node = questions::address(path);
                    return Err(JournalError::QuestionChanged { run: run.to_owned(), node });
                }
                handed_over = Some(decided);
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
        Err(JournalError::Unreachable(format!("run `{run}` has not taken the decision up")))
    }
}

/// The status of a run, when it ended, and how often it has rested.
fn stands(standing: &Value) -> Result<(RunStatus, Option<Timestamp>, u32), ScaleError> {
    let word = messages::text(standing, "status")?;
    let status = RunStatus::from_word(&word)
        .ok_or_else(|| ScaleError::Damaged(format!("a run has the status {word:?}")))?;
    let ended_at = match standing.get("ended_at").and_then(Value::as_str) {
        Some(_) => Some(messages::time(standing, "ended_at")?),
        None => None,
    };
    let rests = standing.get("rests").and_then(Value::as_i64).and_then(|rests| u32::try_from(rests).ok());
    Ok((status, ended_at, rests.unwrap_or_default()))
}

fn parsed(row: &Value, key: &str) -> Result<Value, ScaleError> {
    let text = messages::text(row, key)?;
    stave_canon::parse(&text).map_err(|error| ScaleError::Damaged(error.to_string()))
}
