//! The bounds of connections to providers and hosts, for everything that opens one.

use std::time::Duration;

/// How long opening a connection may take.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a connection is kept that nobody uses; servers commonly close them after a minute.
pub const IDLE_TIME: Duration = Duration::from_secs(50);

/// How many connections to one host are kept that nobody uses.
pub const IDLE_CONNECTIONS: usize = 256;
