//! Which headers of a request belong to the client and not to a flow.

/// Headers that say where a request begins and ends, who it is for, or how the connection is used. A client that sets
/// one of them can make the two ends disagree about what was sent.
const OF_THE_CLIENT: [&str; 13] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Whether only the HTTP client sets a header of this name.
#[must_use]
pub fn is_of_the_client(name: &str) -> bool {
    let name = name.trim();
    OF_THE_CLIENT.iter().any(|known| known.eq_ignore_ascii_case(name)) || name.starts_with(':')
}

/// Whether a text can be the name of a header.
#[must_use]
pub fn is_token(name: &str) -> bool {
    let is_sign = |byte: u8| b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || is_sign(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn framing_and_hop_by_hop_headers_are_the_clients() {
        for name in
            ["Host", "content-LENGTH", " Transfer-Encoding", "Connection", "TE", "Upgrade", ":authority"]
        {
            assert!(is_of_the_client(name), "{name}");
        }
        for name in ["Authorization", "Content-Type", "X-Host", "Accept", "Idempotency-Key"] {
            assert!(!is_of_the_client(name), "{name}");
        }
    }
}
