//! What an orchestrator says about its run through variables of the process (specification of REP, section 8).
//!
//! Invariant: a variable is obeyed, or refused with the reason; none is passed over silently. What a request says itself
//! comes first.

use std::time::Duration;

/// The variables of REP, read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OrchestratorEnvironment {
    /// The id of the first run that a request gives none.
    pub(super) run_id: Option<String>,
    /// The trace of requests that give none.
    pub(super) trace_id: Option<String>,
    /// How long the orchestrator lets the process live, and so how long a run may take.
    pub(super) engine_timeout: Option<Duration>,
    /// What a run has to say about variables that cannot be obeyed.
    pub(super) notes: Vec<String>,
}

impl OrchestratorEnvironment {
    /// Reads the variables that are set and not empty; `Err` says which one has no meaning.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let mut read = OrchestratorEnvironment {
            run_id: short_text("TRACE_MIND_RUN_ID", &variable)?,
            trace_id: short_text("TRACE_MIND_TRACE_ID", &variable)?,
            ..OrchestratorEnvironment::default()
        };
        if let Some(text) = variable("TRACE_MIND_ENGINE_TIMEOUT") {
            let seconds = text.trim().parse::<f64>().ok().filter(|seconds| *seconds > 0.0);
            let timeout = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            let wanted = "not a number of seconds above 0";
            read.engine_timeout = Some(timeout.ok_or_else(|| refusal("ENGINE_TIMEOUT", &text, wanted))?);
        }
        // No step of this runtime starts a shell, so both answers are obeyed.
        flag("ALLOW_SHELL", &variable)?;
        if flag("LOG_JSON", &variable)? {
            read.notes.push(
                "TRACE_MIND_LOG_JSON=1: structured logs are the events of Runtime.Poll; stdout carries replies only"
                    .to_owned(),
            );
        }
        Ok(read)
    }
}

fn refusal(name: &str, found: &str, wanted: &str) -> String {
    format!("the variable TRACE_MIND_{name} is {found:?}, {wanted}")
}

fn short_text(name: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<Option<String>, String> {
    match variable(name) {
        Some(text) if text.len() > super::start_run::MAX_RUN_ID => {
            Err(format!("the variable {name} has more than {} bytes", super::start_run::MAX_RUN_ID))
        }
        text => Ok(text),
    }
}

fn flag(name: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<bool, String> {
    match variable(&format!("TRACE_MIND_{name}")).as_deref() {
        None | Some("0") => Ok(false),
        Some("1") => Ok(true),
        Some(other) => Err(refusal(name, other, "not \"0\" or \"1\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_obeyed_or_refused_by_name() {
        let of = |set: &'static [(&'static str, &'static str)]| {
            OrchestratorEnvironment::read(|name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(of(&[]), Ok(OrchestratorEnvironment::default()));
        let read = of(&[
            ("TRACE_MIND_RUN_ID", "r"),
            ("TRACE_MIND_TRACE_ID", "t"),
            ("TRACE_MIND_ENGINE_TIMEOUT", "1.5"),
            ("TRACE_MIND_ALLOW_SHELL", "1"),
            ("TRACE_MIND_LOG_JSON", "0"),
        ]);
        let wanted = OrchestratorEnvironment {
            run_id: Some("r".to_owned()),
            trace_id: Some("t".to_owned()),
            engine_timeout: Some(Duration::from_millis(1500)),
            notes: Vec::new(),
        };
        assert_eq!(read, Ok(wanted));
        assert_eq!(of(&[("TRACE_MIND_LOG_JSON", "1")]).map(|read| read.notes.len()), Ok(1));
        for set in [
            &[("TRACE_MIND_ENGINE_TIMEOUT", "soon")],
            &[("TRACE_MIND_ENGINE_TIMEOUT", "0")],
            &[("TRACE_MIND_ENGINE_TIMEOUT", "NaN")],
            &[("TRACE_MIND_ENGINE_TIMEOUT", "1e400")],
            &[("TRACE_MIND_ALLOW_SHELL", "yes")],
            &[("TRACE_MIND_LOG_JSON", "true")],
        ] {
            let refused = of(set).expect_err("it has no meaning");
            assert!(refused.contains(set[0].0), "{refused}");
        }
    }
}
