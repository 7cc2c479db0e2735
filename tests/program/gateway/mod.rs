//! `stave gateway` over sockets of this machine.

mod images;
mod life;
mod python;
mod sdk;
