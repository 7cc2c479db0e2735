//! `stave gateway` over sockets of this machine.

mod life;
mod python;
mod sdk;
