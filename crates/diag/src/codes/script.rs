//! Codes of the Python, expressions and templates inside a flow.

codes! { Flow:
}
