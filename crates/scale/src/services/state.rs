//! What a session of a flow, or one run, remembers.
//!
//! Invariant: a commit is made once, and only when what its step has read is still what is there.

use restate_sdk::prelude::*;
use stave_canon::{Object, Timestamp, Value};
use stave_runtime::journal::codec;
use stave_runtime::state::{apply, next_version};

use crate::body::Body;
use crate::error::ScaleError;
use crate::services::failed;
use crate::state::CONFLICT;

#[derive(Debug)]
pub(crate) struct StateObject;

const RECORDS: &str = "records";

#[restate_sdk::object(name = "StaveState")]
impl StateObject {
    /// The fields of a record and their version.
    #[handler]
    async fn load(&self, ctx: SharedObjectContext<'_>, asked: Body) -> Result<Body, HandlerError> {
        let records = ctx.get::<Body>(RECORDS).await?.map_or(Value::Null, |records| records.0);
        let key = asked.0.get("key").and_then(Value::as_str).unwrap_or_default();
        let now = asked.0.get("now").and_then(Value::as_str).and_then(|now| now.parse::<Timestamp>().ok());
        let record = records.get(key).filter(|record| now.is_none_or(|now| is_live(record, now)));
        Ok(Body(record.cloned().unwrap_or_default()))
    }

    /// Makes the writes of a step.
    #[handler]
    async fn commit(&self, ctx: ObjectContext<'_>, commit: Body) -> Result<Body, HandlerError> {
        let text = commit.0.as_str().unwrap_or_default();
        let commit =
            codec::decode_commit(text).map_err(|error| failed(ScaleError::Damaged(error.to_string())))?;
        let mut records = match ctx.get::<Body>(RECORDS).await? {
            Some(Body(Value::Object(records))) => records,
            _ => Object::new(),
        };
        records.retain(|_, record| is_live(record, commit.at));
        let before = records.get(commit.key.as_str());
        let member = |name: &str| before.and_then(|record| record.get(name));
        if member("by").and_then(Value::as_str) == Some(commit.by.as_str()) {
            return Ok(Body(Value::Null));
        }
        let version = member("version").and_then(Value::as_i64).unwrap_or_default();
        if commit.read.is_some_and(|read| read != version) {
            return Ok(Body(CONFLICT.into()));
        }
        let mut fields = member("fields").and_then(Value::as_object).cloned().unwrap_or_default();
        apply(&mut fields, commit.writes);
        let record = Value::from_iter([
            ("fields", Value::Object(fields)),
            ("version", next_version(version, commit.at).into()),
            ("by", commit.by.into()),
            ("expires_at", commit.expires_at.map(|at| at.to_string()).into()),
        ]);
        records.insert(commit.key.as_str().to_owned(), record);
        ctx.set(RECORDS, Body(Value::Object(records)));
        Ok(Body(Value::Null))
    }

    /// Forgets everything.
    #[handler]
    async fn forget(&self, ctx: ObjectContext<'_>) -> Result<(), HandlerError> {
        ctx.clear_all();
        Ok(())
    }
}

fn is_live(record: &Value, now: Timestamp) -> bool {
    let end = record.get("expires_at").and_then(Value::as_str).and_then(|end| end.parse::<Timestamp>().ok());
    end.is_none_or(|end| now < end)
}
