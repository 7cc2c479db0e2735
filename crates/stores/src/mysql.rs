//! Connections to a database that speaks MySQL's protocol.

use std::time::Duration;

use mysql_async::{Conn, Opts, OptsBuilder, Pool, PoolConstraints, PoolOpts};

use crate::AddressError;

/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many connections one process keeps at the most.
const CONNECTIONS: usize = 8;

/// Times are exchanged in UTC, whatever the server's own zone is.
const SETUP: [&str; 1] = ["SET time_zone = '+00:00'"];

/// A pool of connections. Cloning it shares them.
#[derive(Clone)]
pub struct Mysql(Pool);

impl Mysql {
    /// A pool for an address like `mysql://user:password@host:3306/database`. Connections are made when
    /// they are needed.
    pub fn new(address: &str) -> Result<Self, AddressError> {
        let wanted = "mysql://user:password@host:port/database";
        let options = Opts::from_url(address).map_err(|_| AddressError { wanted })?;
        if options.db_name().is_none() {
            return Err(AddressError { wanted });
        }
        let bounds = PoolConstraints::new(0, CONNECTIONS).unwrap_or_default();
        let pool = PoolOpts::new().with_constraints(bounds);
        let options =
            OptsBuilder::from_opts(options).pool_opts(pool).prefer_socket(false).setup(SETUP.to_vec());
        Ok(Mysql(Pool::new(options)))
    }

    /// A connection for one piece of work.
    pub(crate) async fn connection(&self) -> Result<Conn, String> {
        match tokio::time::timeout(PATIENCE, self.0.get_conn()).await {
            Ok(connection) => connection.map_err(|error| words(&error)),
            Err(_) => Err(format!("no connection within {} seconds", PATIENCE.as_secs())),
        }
    }
}

/// What the server said, or what kind of fault it is; never the address.
pub(crate) fn words(error: &mysql_async::Error) -> String {
    match error {
        mysql_async::Error::Server(error) => format!("MySQL {}: {}", error.code, error.message),
        mysql_async::Error::Io(error) => format!("MySQL: the connection failed: {error}"),
        mysql_async::Error::Driver(error) => format!("MySQL: {error}"),
        mysql_async::Error::Url(_) => "MySQL: the address cannot be used".to_owned(),
        mysql_async::Error::Other(error) => format!("MySQL: {error}"),
    }
}

impl std::fmt::Debug for Mysql {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Mysql").finish_non_exhaustive()
    }
}
