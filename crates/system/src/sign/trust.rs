//! Which signatures a project accepts: trusted and not revoked keys, its own tenant and repository, builds that are
//! not older than its minimum, and terms that hold now.
//!
//! Invariant: [`verify`] is the only function that accepts an artefact. It judges terms only after the
//! signature over them was found valid, except that a revoked key is named first.

use std::collections::BTreeMap;
use std::time::Duration;

use stave_canon::Timestamp;
use thiserror::Error;

use super::{Claim, PublicKey, Signature, message};

/// How far the signer's clock may be ahead of this one.
pub const CLOCK_TOLERANCE: Duration = Duration::from_secs(5 * 60);

/// The `[signing]` settings of a project that decide about signatures.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustSettings {
    pub trusted: Vec<PublicKey>,
    /// Ids of keys whose signatures are refused, whatever they signed and when.
    pub revoked: Vec<String>,
    pub minimum: Minimums,
    /// Whether signatures of version 1, which have no terms, are accepted.
    pub unversioned: bool,
}

/// The least version counter that is accepted, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Minimums {
    /// Of everything that has no minimum of its own.
    pub project: u64,
    pub named: BTreeMap<String, u64>,
}

/// What an artefact is held against.
#[derive(Debug, Clone, Copy)]
pub struct Trust<'t> {
    pub settings: &'t TrustSettings,
    pub tenant_id: &'t str,
    pub repo_id: &'t str,
    /// The name that has a minimum of its own: of the flow, when a manifest is verified for one of the flows that
    /// it lists. Without it the artefact's kind is the name.
    pub name: Option<&'t str>,
}

/// Why an artefact is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TrustRefusal {
    #[error("it is not signed")]
    Unsigned,
    #[error("its signature cannot be read: {0}")]
    Malformed(&'static str),
    #[error("it is signed with {0}, which the project does not trust")]
    UntrustedKey(String),
    #[error("it is signed with {0}, which the project has revoked")]
    RevokedKey(String),
    #[error("it belongs to {field} {found:?}, not to {own:?}")]
    ForeignScope { field: &'static str, found: String, own: String },
    #[error("its bytes are not the ones that were signed")]
    Tampered,
    #[error("its signature does not belong to its key and claim")]
    BadSignature,
    #[error("its signature has no version counter and no issue time")]
    Unversioned,
    #[error("its version counter is {found}, and the project accepts {minimum} or more for `{name}`")]
    RolledBack { found: u64, minimum: u64, name: String },
    #[error("its signature expired at {0}")]
    Expired(Timestamp),
    #[error("its signature is dated {0}, which is in the future")]
    FutureDated(Timestamp),
}

impl TrustRefusal {
    /// The word for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            TrustRefusal::Unsigned => "signature-missing",
            TrustRefusal::Malformed(_) => "signature-malformed",
            TrustRefusal::UntrustedKey(_) => "signature-untrusted-key",
            TrustRefusal::RevokedKey(_) => "signature-revoked-key",
            TrustRefusal::ForeignScope { .. } => "signature-foreign-scope",
            TrustRefusal::Tampered => "signature-content-mismatch",
            TrustRefusal::BadSignature => "signature-invalid",
            TrustRefusal::Unversioned => "signature-unversioned",
            TrustRefusal::RolledBack { .. } => "signature-rolled-back",
            TrustRefusal::Expired(_) => "signature-expired",
            TrustRefusal::FutureDated(_) => "signature-future-dated",
        }
    }
}

impl Minimums {
    #[must_use]
    pub fn of(&self, name: &str) -> u64 {
        self.named.get(name).copied().unwrap_or(self.project)
    }
}

/// Accepts an artefact only when a trusted key vouches for exactly these bytes in the name of this tenant and
/// repository, under terms that hold at `now`.
pub fn verify(
    text: &str,
    signature: Option<&Signature>,
    trust: Trust<'_>,
    now: Timestamp,
) -> Result<(), TrustRefusal> {
    let signature = signature.ok_or(TrustRefusal::Unsigned)?;
    let settings = trust.settings;
    if settings.revoked.contains(&signature.key_id) {
        return Err(TrustRefusal::RevokedKey(signature.key_id.clone()));
    }
    let key = settings.trusted.iter().find(|key| key.id() == signature.key_id);
    let key = key.ok_or_else(|| TrustRefusal::UntrustedKey(signature.key_id.clone()))?;
    let claim = Claim::of(text).ok_or(TrustRefusal::Tampered)?;
    if claim != signature.claim {
        return Err(TrustRefusal::Tampered);
    }
    let message = message(&signature.claim, signature.terms.as_ref(), &signature.key_id);
    let bytes = ed25519_dalek::Signature::from_bytes(&signature.bytes);
    key.0.verify_strict(message.as_bytes(), &bytes).map_err(|_| TrustRefusal::BadSignature)?;
    own_scope(&claim, trust.tenant_id, trust.repo_id)?;
    terms(signature, trust, now)
}

/// Whether the terms of a valid signature hold now.
fn terms(signature: &Signature, trust: Trust<'_>, now: Timestamp) -> Result<(), TrustRefusal> {
    let name = trust.name.unwrap_or_else(|| signature.claim.subject.word());
    let minimum = trust.settings.minimum.of(name);
    let found = match signature.terms {
        Some(terms) => terms.counter,
        None if trust.settings.unversioned => 0,
        None => return Err(TrustRefusal::Unversioned),
    };
    if found < minimum {
        return Err(TrustRefusal::RolledBack { found, minimum, name: name.to_owned() });
    }
    let Some(terms) = signature.terms else { return Ok(()) };
    // At the end of the calendar nothing is later than this clock allows.
    let latest = now.checked_add(CLOCK_TOLERANCE).unwrap_or(Timestamp::MAX);
    if terms.issued_at > latest {
        return Err(TrustRefusal::FutureDated(terms.issued_at));
    }
    match terms.expires_at {
        Some(end) if end <= now => Err(TrustRefusal::Expired(end)),
        _ => Ok(()),
    }
}

/// An artefact of another tenant or repository is not this project's, no matter who signed it.
pub fn own_scope(claim: &Claim, tenant_id: &str, repo_id: &str) -> Result<(), TrustRefusal> {
    let pairs = [("tenant", &claim.tenant_id, tenant_id), ("repository", &claim.repo_id, repo_id)];
    for (field, found, own) in pairs {
        if found != own {
            return Err(TrustRefusal::ForeignScope { field, found: found.clone(), own: own.to_owned() });
        }
    }
    Ok(())
}
