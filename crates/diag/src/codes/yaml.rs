//! Codes of the YAML text itself.

codes! { Flow:
}
