//! `hopsworks.get_model`: what the registry knows about a model.

use async_trait::async_trait;
use stave_canon::Value;

use super::hopsworks_read_features::{feature_failure, text_argument};
use super::{Step, StepOutput, bad_argument, optional_argument};
use crate::features::ModelQuery;
use crate::labels::{self, Receiver};
use crate::{Failure, run::Call};

#[derive(Debug)]
pub(super) struct GetModel;

#[async_trait]
impl Step for GetModel {
    async fn execute(&self, call: &Call<'_>) -> Result<StepOutput, Failure> {
        labels::admit(call, Receiver::Features)?;
        let scope = call.scope();
        let version = match optional_argument(call, &scope, "version")? {
            None => None,
            Some(Value::String(word)) if word == "latest" => None,
            Some(value) => {
                let number = value.as_i64().or_else(|| value.as_str().and_then(|text| text.parse().ok()));
                Some(number.ok_or_else(|| bad_argument("version", "an integer or `latest`"))?)
            }
        };
        let query = ModelQuery { name: text_argument(call, &scope, "name")?, version };
        let entry = call.services.features.model(&query).await.map_err(|error| feature_failure(&error))?;
        Ok(StepOutput::Whole(Value::Object(entry)))
    }
}
