//! `hopsworks.write_features`: rows into a feature group.

use async_trait::async_trait;
use stave_canon::{Object, Value};

use super::hopsworks_read_features::{feature_failure, text_argument, time_argument, version_argument};
use super::{Step, StepOutput, argument, bad_argument};
use crate::features::FeatureBatch;
use crate::labels::{self, Receiver};
use crate::{Failure, run::Call};

#[derive(Debug)]
pub(super) struct WriteFeatures;

#[async_trait]
impl Step for WriteFeatures {
    async fn execute(&self, call: &Call<'_>) -> Result<StepOutput, Failure> {
        labels::admit(call, Receiver::Features)?;
        let scope = call.scope();
        let rows = match argument(call, &scope, "data")? {
            Value::Object(row) => vec![row],
            Value::Array(rows) => {
                let rows = rows.into_iter().map(|row| match row {
                    Value::Object(row) => Ok(row),
                    _ => Err(bad_argument("data", "a row or a list of rows, each an object")),
                });
                rows.collect::<Result<_, _>>()?
            }
            _ => return Err(bad_argument("data", "a row or a list of rows, each an object")),
        };
        let batch = FeatureBatch {
            name: text_argument(call, &scope, "feature_group")?,
            version: version_argument(call, &scope)?,
            rows,
            // Without a time of its own the batch was known when the request was made, so that a run that
            // is repeated writes the same rows again and not later ones.
            event_time: time_argument(call, &scope, "event_time")?,
        };
        let written = call.services.features.write(batch).await.map_err(|error| feature_failure(&error))?;
        let answer: Object = [("written".to_owned(), Value::from(written))].into_iter().collect();
        Ok(StepOutput::Whole(Value::Object(answer)))
    }
}
