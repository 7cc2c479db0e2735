//! How a command ends.

use std::process::ExitCode;

use stave_canon::Value;

/// The design's table of exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    Fine,
    /// The run or a step of it failed.
    Failed,
    /// The input is invalid.
    Invalid,
    /// Governance or a capability rule refused.
    Refused,
    /// Internal, or the environment failed us.
    Internal,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Fine => 0,
            Exit::Failed => 1,
            Exit::Invalid => 2,
            Exit::Refused => 3,
            Exit::Internal => 4,
        })
    }
}

/// Something that stops a command before it can do its work: a message and the code to end with.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Stop {
    pub exit: Exit,
    pub message: String,
    /// What the person should do.
    pub help: Option<String>,
    /// The word for programs, where the reason has one.
    pub code: Option<&'static str>,
}

impl Stop {
    pub fn invalid(message: impl Into<String>) -> Self {
        Stop { exit: Exit::Invalid, message: message.into(), help: None, code: None }
    }

    pub fn refused(message: impl Into<String>) -> Self {
        Stop { exit: Exit::Refused, message: message.into(), help: None, code: None }
    }

    pub fn internal(message: impl Into<String>) -> Self {
        Stop { exit: Exit::Internal, message: message.into(), help: None, code: None }
    }

    /// What needs a feature that this program was built without.
    pub fn without_feature(feature: &str, what: &str) -> Self {
        Stop::invalid(format!("{what} needs the feature `{feature}`, and this program was built without it"))
            .help(format!("`cargo build --release -p stave-cli --features {feature}` builds one that has it"))
    }

    /// The machine form, for commands that answer in JSON.
    pub fn to_value(&self) -> Value {
        let kind = match self.exit {
            Exit::Fine | Exit::Failed => "failed",
            Exit::Invalid => "invalid",
            Exit::Refused => "refused",
            Exit::Internal => "internal",
        };
        let mut members = vec![
            ("message", Value::from(self.message.as_str())),
            ("kind", kind.into()),
            ("help", self.help.clone().into()),
        ];
        members.extend(self.code.map(|code| ("code", code.into())));
        let error = Value::from_iter(members);
        Value::from_iter([("status", Value::from("error")), ("error", error)])
    }

    pub fn code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
