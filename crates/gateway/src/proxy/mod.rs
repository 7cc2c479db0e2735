//! The way of a request through the gateway, and of its answer back.
