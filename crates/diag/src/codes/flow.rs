//! Codes of the flow line.

codes! { Flow:
}
