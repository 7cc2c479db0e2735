//! Codes of the prompt line.

codes! { Prompt:
}
