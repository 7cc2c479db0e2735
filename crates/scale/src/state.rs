//! What steps remember, kept by Restate.

use std::sync::Arc;

use async_trait::async_trait;
use stave_canon::{Object, Timestamp, Value};
use stave_runtime::journal::codec;
use stave_runtime::state::{Commit, Record, RecordKey, StateError, StateStore};

use crate::client::RestateClient;
use crate::keys::{ProjectKey, STATE};

/// The result of a commit, in the object's words.
pub(crate) const CONFLICT: &str = "conflict";

/// The records of a project: one object for each session of a flow, and one for each run.
#[derive(Debug, Clone)]
pub(crate) struct RestateState {
    pub(crate) client: Arc<RestateClient>,
    pub(crate) project: ProjectKey,
}

impl RestateState {
    fn object(&self, key: &RecordKey) -> Result<String, StateError> {
        self.project.state(key).ok_or_else(|| StateError::Damaged(format!("the key {}", key.as_str())))
    }
}

#[async_trait]
impl StateStore for RestateState {
    fn is_server(&self, _: &RecordKey) -> bool {
        false
    }

    async fn load(&self, key: &RecordKey, now: Timestamp) -> Result<Record, StateError> {
        let asked = Value::from_iter([("key", key.as_str()), ("now", &now.to_string())]);
        let found = self.client.call(STATE, &self.object(key)?, "load", &asked).await;
        let found = found.map_err(|error| StateError::Store(error.to_string()))?;
        let fields = match found.get("fields") {
            Some(Value::Object(fields)) => fields.clone(),
            _ => Object::new(),
        };
        let version = found.get("version").and_then(Value::as_i64).unwrap_or_default();
        Ok(Record { fields, version })
    }

    async fn commit(&self, commit: Commit) -> Result<(), StateError> {
        let object = self.object(&commit.key)?;
        let asked = Value::from(codec::encode_commit(&commit));
        let answer = self.client.call(STATE, &object, "commit", &asked).await;
        let answer = answer.map_err(|error| StateError::Store(error.to_string()))?;
        if answer.as_str() == Some(CONFLICT) { Err(StateError::Conflict) } else { Ok(()) }
    }
}
