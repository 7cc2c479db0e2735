//! How every HTTP client of Stave is made.

use crate::{IDLE_CONNECTIONS, IDLE_TIME};

/// A client, and whether it can trust any https address.
#[derive(Debug, Clone)]
pub struct BuiltHttpClient {
    pub client: reqwest::Client,
    /// Whether this machine has certificates to trust; without them only plain HTTP works.
    pub has_roots: bool,
}

/// Makes a client: TLS by rustls with the machine's certificates, no proxy, no referer, Stave's name as
/// user agent. `configure` adds what the caller needs.
pub fn http_client(
    configure: impl Fn(reqwest::ClientBuilder) -> reqwest::ClientBuilder,
) -> Result<BuiltHttpClient, reqwest::Error> {
    // The process has one default for TLS; when another part has chosen already, its choice is kept.
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    let builder = || {
        let builder = reqwest::Client::builder()
            .user_agent(concat!("stave/", env!("CARGO_PKG_VERSION")))
            .referer(false)
            .pool_idle_timeout(IDLE_TIME)
            .pool_max_idle_per_host(IDLE_CONNECTIONS)
            .no_proxy();
        configure(builder)
    };
    // Building fails on a machine without any certificates, where local servers must work all the same.
    match builder().build() {
        Ok(client) => Ok(BuiltHttpClient { client, has_roots: true }),
        Err(_) => Ok(BuiltHttpClient { client: builder().tls_certs_only([]).build()?, has_roots: false }),
    }
}
