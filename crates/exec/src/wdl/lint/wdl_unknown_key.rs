//! A top-level key means something.

use stave_diag::codes::exec as codes;
use stave_diag::{Diagnostic, did_you_mean};

use crate::wdl::Faults;
use crate::wdl::workflow::Workflow;

pub(super) fn lint(workflow: &Workflow, faults: &mut Faults) {
    for (key, place) in &workflow.unknown {
        let span = faults.span(*place);
        let diagnostic = Diagnostic::new(codes::WDL_UNKNOWN_KEY, span, format!("`{key}` means nothing here"));
        let known = ["version", "workflow", "inputs", "steps", "outputs", "triggers"];
        let help = match (key.as_str(), did_you_mean(key, known)) {
            ("timeout_ms", _) => "write `workflow: name timeout_ms=600000`".to_owned(),
            ("retry" | "retries", _) => "write `- id(target) retry=3 backoff_ms=100:` at the step".to_owned(),
            (_, Some(near)) => format!("did you mean `{near}`?"),
            (_, None) => format!("a workflow has {}", known.join(", ")),
        };
        faults.push(diagnostic.help(help));
    }
}
