//! JSON values as payloads of Restate's handlers, with numbers kept exact.

use bytes::Bytes;
use restate_sdk::serde::{Deserialize, PayloadMetadata, Serialize};
use stave_canon::Value;

/// A JSON value on its way to or from a handler.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Body(pub(crate) Value);

#[derive(Debug, thiserror::Error)]
#[error("a payload is not JSON: {0}")]
pub(crate) struct NotJson(String);

impl Serialize for Body {
    type Error = std::convert::Infallible;

    fn serialize(&self) -> Result<Bytes, Self::Error> {
        Ok(Bytes::from(self.0.to_string()))
    }
}

impl Deserialize for Body {
    type Error = NotJson;

    fn deserialize(bytes: &mut Bytes) -> Result<Self, Self::Error> {
        stave_canon::parse_bytes(bytes).map(Body).map_err(|error| NotJson(error.to_string()))
    }
}

impl PayloadMetadata for Body {}
