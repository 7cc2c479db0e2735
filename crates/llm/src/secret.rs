//! A secret text that cannot be printed by accident and is wiped from memory when it goes.

use std::fmt;

use zeroize::Zeroizing;

/// An API key or another secret. `Debug` shows nothing of it; there is no `Display` and no serialisation.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Secret(Zeroizing::new(text.into()))
    }

    /// The text itself, for the one place that puts it on the wire.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(redacted)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_print() {
        let secret = Secret::new("sk-very-secret");
        assert_eq!(format!("{secret:?} {secret:#?}"), "Secret(redacted) Secret(redacted)");
        assert_eq!(secret.expose(), "sk-very-secret");
    }
}
