//! Who may see what all keys do: everyone on a gateway without keys, else those with an admin key.

use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hyper::StatusCode;
use hyper::header::{self, HeaderMap, HeaderValue};
use stave_block::Surface;

use super::exchange::presented;
use super::gateway::Core;
use super::interface::Fault;
use super::reply::Reply;

/// How browsers write a name and a password; some clients leave the padding out.
const BASIC: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Refuses requests without the right.
pub(crate) fn admitted(core: &Core, headers: &HeaderMap) -> Result<(), Fault> {
    match presented(core, &with_bearer(headers))? {
        Some(key) if !key.is_admin => {
            Err(Fault::new(StatusCode::FORBIDDEN, "not_admin", "an admin key is needed"))
        }
        _ => Ok(()),
    }
}

/// The answer to a refused request.
pub(crate) fn refused(fault: Fault) -> Reply {
    let asks_for_key = fault.status == StatusCode::UNAUTHORIZED;
    let mut reply = fault.into_reply(Surface::OpenAiChat);
    if asks_for_key {
        // A browser then asks for a name and a password; the key is the password.
        let challenge = HeaderValue::from_static("Basic realm=\"stave gateway\"");
        reply.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    reply
}

/// The headers with the password of a browser's `Basic` as the bearer's key.
fn with_bearer(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    let basic = headers.get(header::AUTHORIZATION).and_then(|value| {
        let encoded = value.to_str().ok()?.strip_prefix("Basic ")?;
        let text = String::from_utf8(BASIC.decode(encoded.trim()).ok()?).ok()?;
        let (_, password) = text.split_once(':')?;
        HeaderValue::from_str(&format!("Bearer {password}")).ok()
    });
    if let Some(bearer) = basic {
        headers.insert(header::AUTHORIZATION, bearer);
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_of_a_browser_is_the_key() {
        let value = |text: &'static str| {
            HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static(text))])
        };
        let said = |text| with_bearer(&value(text)).get(header::AUTHORIZATION).cloned();
        assert_eq!(said("Basic bmFtZTpzdGF2ZV9rZXk="), Some(HeaderValue::from_static("Bearer stave_key")));
        for other in ["Bearer abc", "Basic bm90IGEgcGFpcg==", "Basic *", "Basic "] {
            assert_eq!(said(other), Some(HeaderValue::from_static(other)), "{other}");
        }
    }
}
