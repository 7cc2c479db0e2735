//! Every step has an id of its own.

use std::collections::HashMap;

use stave_diag::Diagnostic;
use stave_diag::codes::exec as codes;

use crate::wdl::Faults;
use crate::wdl::tree::WdlLocation;
use crate::wdl::workflow::WdlCall;

/// Where each id was met first.
#[derive(Debug, Default)]
pub(super) struct DuplicateSteps<'w>(HashMap<&'w str, WdlLocation>);

impl<'w> DuplicateSteps<'w> {
    pub(super) fn call(&mut self, call: &'w WdlCall, faults: &mut Faults) {
        let Some(earlier) = self.0.get(call.id.as_str()).copied() else {
            self.0.insert(call.id.as_str(), call.place);
            return;
        };
        let span = faults.span(call.place);
        let label = faults.span(earlier);
        let message = format!("step `{}` exists already", call.id);
        let diagnostic = Diagnostic::new(codes::WDL_DUPLICATE_STEP_ID, span, message);
        faults.push(diagnostic.label(label, "it is here").help("choose another id"));
    }
}
