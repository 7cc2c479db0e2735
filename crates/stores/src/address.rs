//! Addresses of servers.

/// An address that cannot be used. It is not repeated, because it may hold a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressError {
    /// The form that an address has.
    pub wanted: &'static str,
}

impl std::fmt::Display for AddressError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "the address must have the form {}", self.wanted)
    }
}

impl std::error::Error for AddressError {}
