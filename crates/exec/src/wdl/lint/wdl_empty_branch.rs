//! A `when` has steps.

use stave_diag::Diagnostic;
use stave_diag::codes::exec as codes;

use crate::wdl::Faults;
use crate::wdl::workflow::WdlWhen;

pub(super) fn when(when: &WdlWhen, faults: &mut Faults) {
    if when.steps.is_empty() {
        let span = faults.span(when.place);
        let diagnostic = Diagnostic::new(codes::WDL_EMPTY_BRANCH, span, "this `when` has no steps");
        faults.push(diagnostic.help("indent its steps deeper than the `-`, or take it away"));
    }
}
