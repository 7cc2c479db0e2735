//! The proxy: from a client's bytes to an upstream's and back.

mod admin;
mod answer;
mod attempts;
mod cost_bound;
mod delegated;
mod echo;
mod echo_events;
mod entry;
mod exchange;
mod gateway;
mod headers;
mod heavy_work;
mod interface;
mod judge;
mod listener;
mod measure;
mod metrics;
mod origin;
mod pages;
mod plugins;
mod prepare;
mod queue;
mod received;
mod reply;
mod seen;
mod setup;
mod stats;
mod tally;
mod tap;
mod traced;
mod upstream;
mod upstream_request;
mod warm_up;

pub use gateway::{Gateway, GatewayOptions};
pub use setup::BadSetup;
pub use upstream::BadUpstream;
