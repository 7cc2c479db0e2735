//! What can go wrong between this process and Restate.

use stave_runtime::journal::JournalError;

#[derive(Debug, thiserror::Error)]
pub enum ScaleError {
    #[error("{address} cannot be reached: {reason}")]
    Unreachable { address: String, reason: String },
    #[error("{address} answered {status}: {message}")]
    Refused { address: String, status: u16, message: String },
    #[error("{0} is not an address")]
    BadAddress(String),
    #[error("what Restate has kept cannot be read: {0}")]
    Damaged(String),
    #[error("{0}")]
    Setup(String),
}

impl From<ScaleError> for JournalError {
    fn from(error: ScaleError) -> Self {
        match error {
            ScaleError::Damaged(reason) => JournalError::Damaged(reason),
            other => JournalError::Unreachable(other.to_string()),
        }
    }
}
