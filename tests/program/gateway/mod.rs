//! `stave gateway` over sockets of this machine.

mod images;
mod injections;
mod life;
mod python;
mod sdk;
