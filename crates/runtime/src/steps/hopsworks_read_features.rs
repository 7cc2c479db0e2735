//! `hopsworks.read_features`: the newest row of a key that was known at a time.

use async_trait::async_trait;
use stave_canon::{Timestamp, Value};
use stave_diag::codes::run as codes;

use super::{Step, StepOutput, argument, bad_argument, optional_argument};
use crate::features::{FeatureError, FeatureQuery};
use crate::labels::{self, Receiver};
use crate::{Failure, failure::FailureKind, interpolate::PathScope, run::Call};

#[derive(Debug)]
pub(super) struct ReadFeatures;

#[async_trait]
impl Step for ReadFeatures {
    async fn execute(&self, call: &Call<'_>) -> Result<StepOutput, Failure> {
        labels::admit(call, Receiver::Features)?;
        let scope = call.scope();
        // A view is what was asked for when both are named: it is made of groups.
        let name = match optional_argument(call, &scope, "feature_view")? {
            Some(Value::String(view)) => view,
            Some(_) => return Err(bad_argument("feature_view", "a text")),
            None => text_argument(call, &scope, "feature_group")?,
        };
        let features = match optional_argument(call, &scope, "features")? {
            None => Vec::new(),
            Some(Value::Array(names)) => {
                let names = names.iter().map(|name| name.as_str().map(str::to_owned));
                names.collect::<Option<_>>().ok_or_else(|| bad_argument("features", "a list of texts"))?
            }
            Some(_) => return Err(bad_argument("features", "a list of texts")),
        };
        let query = FeatureQuery {
            name,
            version: version_argument(call, &scope)?,
            key: argument(call, &scope, "key")?,
            as_of: time_argument(call, &scope, "as_of")?,
            features,
        };
        let row = call.services.features.read(&query).await.map_err(|error| feature_failure(&error))?;
        Ok(StepOutput::Whole(Value::Object(row)))
    }
}

pub(super) fn text_argument(call: &Call<'_>, scope: &PathScope<'_>, name: &str) -> Result<String, Failure> {
    match argument(call, scope, name)? {
        Value::String(text) => Ok(text),
        _ => Err(bad_argument(name, "a text")),
    }
}

/// A time, or that of the request.
pub(super) fn time_argument(
    call: &Call<'_>,
    scope: &PathScope<'_>,
    name: &str,
) -> Result<Timestamp, Failure> {
    let Some(value) = optional_argument(call, scope, name)? else { return Ok(call.request.event_time) };
    let parsed = value.as_str().and_then(|text| text.parse::<Timestamp>().ok());
    parsed.ok_or_else(|| bad_argument(name, "an RFC 3339 timestamp"))
}

pub(super) fn version_argument(call: &Call<'_>, scope: &PathScope<'_>) -> Result<Option<i64>, Failure> {
    let Some(value) = optional_argument(call, scope, "version")? else { return Ok(None) };
    let number = value.as_i64().or_else(|| value.as_str().and_then(|text| text.parse().ok()));
    number.map(Some).ok_or_else(|| bad_argument("version", "an integer"))
}

/// What is not there will not be there in a moment; a store that failed may answer again.
pub(super) fn feature_failure(error: &FeatureError) -> Failure {
    match error {
        FeatureError::BadRow { .. } => {
            Failure::new(codes::BAD_ARGUMENT, FailureKind::Value, error.to_string())
        }
        FeatureError::Store(_) => {
            Failure::new(codes::STATE_FAILED, FailureKind::Upstream, error.to_string()).retryable()
        }
        _ => Failure::new(codes::NOT_FOUND, FailureKind::Upstream, error.to_string()),
    }
}
