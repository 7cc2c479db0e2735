//! The words that several lines share.
//!
//! Invariant: a word that means the same in two documents is one type here, with one spelling. A line that needs
//! another order or another word for it has another notion, and a type of its own.

mod on_denied;
mod phase;
mod port_type;
mod provenance;
mod provider;
mod sensitivity;

pub use on_denied::OnDenied;
pub use phase::PhaseType;
pub use port_type::PortType;
pub use provenance::Provenance;
pub use provider::{Provider, UnknownProvider};
pub use sensitivity::Sensitivity;
