//! A session with a server, from its beginning to its end within the time limit.

use std::time::Duration;

use opcua::client::{Client, ClientBuilder, IdentityToken, Session};
use opcua::crypto::SecurityPolicy;
use opcua::types::{EndpointDescription, Error, MessageSecurityMode, UserTokenPolicy};
use stave_runtime::opcua::OpcuaFault;

use crate::plants::{OpcUaSettings, Security};

/// How this program names itself to servers.
const NAME: &str = "stave";
const URI: &str = "urn:stave";

/// How long the end of a session is waited for.
const GOODBYE: Duration = Duration::from_secs(1);

/// Connects, works, and leaves. Dropping the future ends the connection.
pub(crate) async fn with_session<T>(
    settings: &OpcUaSettings,
    address: &str,
    work: impl AsyncFnOnce(&Session) -> Result<T, Error>,
) -> Result<T, OpcuaFault> {
    let unreachable = |message: String| OpcuaFault::Unreachable { endpoint: address.to_owned(), message };
    // The first client of a project makes its certificate, which takes a while and is no part of the call.
    let made = settings.clone();
    let made = tokio::task::spawn_blocking(move || client(&made)).await;
    let mut client = made.map_err(|error| OpcuaFault::Configuration(error.to_string()))??;
    let all = async {
        let endpoint = match &settings.security {
            None => unprotected(address),
            Some(security) => protected(&client, address, security).await?,
        };
        let identity = match settings.security.as_ref().and_then(|security| security.user.as_ref()) {
            Some(user) => IdentityToken::UserName(user.name.clone(), user.password.expose().into()),
            None => IdentityToken::Anonymous,
        };
        let (session, events) = client
            .connect_to_endpoint_directly(endpoint, identity)
            .map_err(|error| OpcuaFault::Configuration(error.to_string()))?;
        session.disable_reconnects();
        let mut events = std::pin::pin!(events.run());
        let working = async {
            session.wait_for_connection().await;
            work(&session).await
        };
        let result = tokio::select! {
            result = working => result.map_err(|error| unreachable(error.to_string())),
            status = &mut events => return Err(unreachable(format!("the connection ended: {status}"))),
        };
        // The answer is here; a server that takes its time to say goodbye is not waited for.
        let goodbye = async { tokio::join!(session.disconnect(), &mut events) };
        let _ = tokio::time::timeout(GOODBYE, goodbye).await;
        result
    };
    tokio::time::timeout(settings.timeout, all).await.unwrap_or_else(|_| {
        let limit_ms = settings.timeout.as_millis();
        Err(OpcuaFault::Timeout { endpoint: address.to_owned(), limit_ms })
    })
}

fn client(settings: &OpcUaSettings) -> Result<Client, OpcuaFault> {
    let mut builder = ClientBuilder::new()
        .application_name(NAME)
        .application_uri(URI)
        .product_uri(URI)
        .trust_server_certs(false)
        .verify_server_certs(true)
        .session_retry_limit(0)
        .request_timeout(settings.timeout);
    builder = match &settings.security {
        None => builder.create_sample_keypair(false),
        Some(security) => builder.create_sample_keypair(true).pki_dir(&security.pki),
    };
    builder.client().map_err(|errors| OpcuaFault::Configuration(errors.join("; ")))
}

fn unprotected(address: &str) -> EndpointDescription {
    (address, "None", MessageSecurityMode::None, UserTokenPolicy::anonymous()).into()
}

/// What the server offers under the wanted policy. Its certificate comes from there; its address stays the one
/// that the project lists.
async fn protected(
    client: &Client,
    address: &str,
    security: &Security,
) -> Result<EndpointDescription, OpcuaFault> {
    let policy = security.policy.parse::<SecurityPolicy>();
    let policy = policy.ok().filter(SecurityPolicy::is_supported).ok_or_else(|| {
        OpcuaFault::Configuration(format!("there is no security policy `{}`", security.policy))
    })?;
    let mode =
        if security.is_encrypted { MessageSecurityMode::SignAndEncrypt } else { MessageSecurityMode::Sign };
    let offered = client.get_server_endpoints_from_url(address).await.map_err(|error| {
        OpcuaFault::Unreachable { endpoint: address.to_owned(), message: error.to_string() }
    })?;
    let fitting = offered.into_iter().find(|endpoint| {
        endpoint.security_mode == mode && endpoint.security_policy_uri.as_ref() == policy.to_uri()
    });
    let mut endpoint = fitting.ok_or_else(|| {
        OpcuaFault::Configuration(format!("`{address}` does not offer `{}` with {mode}", security.policy))
    })?;
    endpoint.endpoint_url = address.into();
    Ok(endpoint)
}
