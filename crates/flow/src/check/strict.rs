use stave_diag::Diagnostic;
pub(crate) fn promote(_d: &mut [Diagnostic]) {}
