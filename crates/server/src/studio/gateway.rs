//! What the gateway recorded.

use stave_canon::Value;

use super::object;
use crate::handlers::Call;

pub(super) fn gateway(_: &Call<'_>) -> Value {
    let reason = "no gateway of this project has recorded anything";
    object([("available", false.into()), ("reason", reason.into())])
}

/// Whether there is anything to show.
pub(super) fn is_available(_: &Call<'_>) -> bool {
    false
}
