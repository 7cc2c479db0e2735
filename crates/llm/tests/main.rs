//! What the clients of models promise, one module per subject.

mod client;
mod codecs;
mod docs;
mod loopback;
mod recordings;
