//! Codes of failed runs.

codes! { Run:
}
