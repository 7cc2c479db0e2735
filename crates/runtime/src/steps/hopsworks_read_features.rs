//! `hopsworks.read_features`: the newest row of a key that was known at a time.

use async_trait::async_trait;
use stave_canon::{Timestamp, Value};
use stave_diag::codes::run as codes;

use super::{Produced, Step, argument, bad_argument, optional_argument};
use crate::features::FeatureQuery;
use crate::{Failure, failure::Kind, run::Call};

#[derive(Debug)]
pub(super) struct ReadFeatures;

#[async_trait]
impl Step for ReadFeatures {
    async fn execute(&self, call: &Call<'_>) -> Result<Produced, Failure> {
        let scope = call.scope();
        // A view is what was asked for when both are named: it is made of groups.
        let name = match optional_argument(call, &scope, "feature_view")? {
            Some(view) => view,
            None => argument(call, &scope, "feature_group")?,
        };
        let Value::String(name) = name else { return Err(bad_argument("feature_group", "a text")) };
        let as_of = match optional_argument(call, &scope, "as_of")? {
            None => call.request.event_time,
            Some(value) => {
                let parsed = value.as_str().and_then(|text| text.parse::<Timestamp>().ok());
                parsed.ok_or_else(|| bad_argument("as_of", "an RFC 3339 timestamp"))?
            }
        };
        let version = match optional_argument(call, &scope, "version")? {
            None => None,
            Some(value) => Some(value.as_i64().ok_or_else(|| bad_argument("version", "an integer"))?),
        };
        let features = match optional_argument(call, &scope, "features")? {
            None => Vec::new(),
            Some(Value::Array(names)) => {
                let names = names.iter().map(|name| name.as_str().map(str::to_owned));
                names.collect::<Option<_>>().ok_or_else(|| bad_argument("features", "a list of texts"))?
            }
            Some(_) => return Err(bad_argument("features", "a list of texts")),
        };
        let query = FeatureQuery { name, version, key: argument(call, &scope, "key")?, as_of, features };
        let row = call
            .services
            .features
            .read(&query)
            .await
            .map_err(|error| Failure::new(codes::NOT_FOUND, Kind::Upstream, error.to_string()))?;
        Ok(Produced::Whole(Value::Object(row)))
    }
}
