//! Ed25519 signatures over artefacts: who vouches for which bytes, in whose name.
//!
//! A signature is in a file of its own beside the artefact. What is signed is a claim (the kind of
//! artefact, its tenant, repository and run, and the SHA-256 of its bytes) and its terms (version counter,
//! issue time, expiry). So a signature cannot be moved to another artefact, another tenant or another kind,
//! and its terms cannot be changed. [`verify`] in `sign/trust.rs` decides whether a signature is accepted.
//!
//! Invariants: every member of a signature's file but the signature itself is signed, and a file with other
//! members is malformed. The two versions of the format sign different domains. Secret keys are wiped when
//! they are dropped and never printed.

mod trust;

use std::fmt;

use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey};
use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use stave_canon::{
    DuplicateKeys, Items, Object, ParseOptions, Timestamp, Value, compact_utf8, parse_each, parse_with,
    pretty_sorted_utf8, sha256_hex,
};
use thiserror::Error;
use zeroize::Zeroizing;

pub use self::trust::{CLOCK_TOLERANCE, Minimums, Trust, TrustRefusal, TrustSettings, own_scope, verify};
use crate::strip;

const SCHEMA_KIND: &str = "stave_signature";
const ALGORITHM: &str = "ed25519";
const SIGNATURE: &str = "signature";

/// The ending of a signature's file: `bundle.json` is signed by `bundle.json.sig`.
pub const ENDING: &str = ".sig";

pub struct SecretKey(SigningKey);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

/// What a signature vouches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub subject: ArtefactKind,
    pub tenant_id: String,
    pub repo_id: String,
    pub run_id: Option<String>,
    /// Of the artefact's bytes.
    pub sha256: String,
}

/// The kinds of artefact that are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArtefactKind {
    RuntimeBundle,
    RunManifest,
    SystemIr,
}

/// How long and against which builds a signature counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// Grows with each build that is signed, so that a project can refuse older ones.
    pub counter: u64,
    pub issued_at: Timestamp,
    /// From this time on the signature is refused.
    pub expires_at: Option<Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    pub claim: Claim,
    /// `None` in signatures of version 1, which had no terms.
    pub terms: Option<Terms>,
    pub key_id: String,
    bytes: [u8; 64],
}

/// A key that cannot be read. What was in its file stays out of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("holds no Ed25519 key in PEM form")]
pub struct BadKey;

impl ArtefactKind {
    const ALL: [ArtefactKind; 3] =
        [ArtefactKind::RuntimeBundle, ArtefactKind::RunManifest, ArtefactKind::SystemIr];

    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            ArtefactKind::RuntimeBundle => "runtime_bundle",
            ArtefactKind::RunManifest => "run_manifest",
            ArtefactKind::SystemIr => "system_ir",
        }
    }

    fn of(artefact: &Value) -> Option<ArtefactKind> {
        let text = |key: &str| artefact.get(key).and_then(Value::as_str).unwrap_or_default();
        match (text("schema_kind"), text("schema_id")) {
            (crate::model::SCHEMA_KIND, _) => Some(ArtefactKind::SystemIr),
            (crate::manifest::SCHEMA_KIND, _) => Some(ArtefactKind::RunManifest),
            (_, id) if id.starts_with("akc:runtime_bundle:v") => Some(ArtefactKind::RuntimeBundle),
            _ => None,
        }
    }
}

impl Claim {
    /// What there is to say about an artefact's text; `None` when it is nothing that is signed.
    #[must_use]
    pub fn of(text: &str) -> Option<Claim> {
        let options = ParseOptions { duplicate_keys: DuplicateKeys::Refuse, non_finite: false };
        let artefact = parse_each(text, options, "nodes", &mut Passing).ok()?;
        let member = |key: &str| {
            let text = artefact.get(key).and_then(Value::as_str).map(strip)?;
            Some(text.to_owned()).filter(|text| !text.is_empty())
        };
        Some(Claim {
            subject: ArtefactKind::of(&artefact)?,
            tenant_id: member("tenant_id")?,
            repo_id: member("repo_id")?,
            run_id: member("run_id"),
            sha256: sha256_hex(text),
        })
    }
}

/// The members of a signature's file that are signed: all but the signature itself.
fn members(claim: &Claim, terms: Option<&Terms>, key_id: &str) -> Object {
    let version: i64 = if terms.is_some() { 2 } else { 1 };
    let mut members: Vec<(&str, Value)> = vec![
        ("schema_kind", SCHEMA_KIND.into()),
        ("signature_version", version.into()),
        ("algorithm", ALGORITHM.into()),
        ("key_id", key_id.into()),
        ("subject", claim.subject.word().into()),
        ("tenant_id", claim.tenant_id.as_str().into()),
        ("repo_id", claim.repo_id.as_str().into()),
        ("run_id", claim.run_id.clone().into()),
        ("sha256", claim.sha256.as_str().into()),
    ];
    if let Some(terms) = terms {
        members.extend([
            ("counter", terms.counter.into()),
            ("issued_at", terms.issued_at.to_string().into()),
            ("expires_at", terms.expires_at.map(|time| time.to_string()).into()),
        ]);
    }
    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The bytes that are signed. The domain keeps them apart from everything else that the same key may sign, and
/// from the other version of the format.
fn message(claim: &Claim, terms: Option<&Terms>, key_id: &str) -> String {
    let domain = if terms.is_some() { "stave.signature.v2" } else { "stave.signature.v1" };
    format!("{domain}\n{}", compact_utf8(&members(claim, terms, key_id).into()))
}

/// A document's nodes say nothing about its owner, and are not held to find it.
struct Passing;

impl Items for Passing {
    fn begin(&mut self) {}

    fn item(&mut self, _: Value) {}
}

impl SecretKey {
    /// The key of 32 random bytes.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> SecretKey {
        SecretKey(SigningKey::from_bytes(seed))
    }

    pub fn from_pem(text: &str) -> Result<SecretKey, BadKey> {
        SigningKey::from_pkcs8_pem(text.trim()).map(SecretKey).map_err(|_| BadKey)
    }

    /// PKCS #8 in PEM form, as other tools read it. The text is wiped when it is dropped.
    pub fn to_pem(&self) -> Result<Zeroizing<String>, BadKey> {
        self.0.to_pkcs8_pem(LineEnding::LF).map_err(|_| BadKey)
    }

    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Signs a claim under its terms.
    #[must_use]
    pub fn sign(&self, claim: Claim, terms: Terms) -> Signature {
        self.sign_with(claim, Some(terms))
    }

    /// Signs in the format of version 1, for tests of what projects still hold.
    #[doc(hidden)]
    #[must_use]
    pub fn sign_version_1(&self, claim: Claim) -> Signature {
        self.sign_with(claim, None)
    }

    fn sign_with(&self, claim: Claim, terms: Option<Terms>) -> Signature {
        let key_id = self.public().id();
        let bytes = self.0.sign(message(&claim, terms.as_ref(), &key_id).as_bytes()).to_bytes();
        Signature { claim, terms, key_id, bytes }
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "SecretKey({})", self.public().id())
    }
}

impl PublicKey {
    pub fn from_pem(text: &str) -> Result<PublicKey, BadKey> {
        VerifyingKey::from_public_key_pem(text.trim()).map(PublicKey).map_err(|_| BadKey)
    }

    pub fn to_pem(&self) -> Result<String, BadKey> {
        self.0.to_public_key_pem(LineEnding::LF).map_err(|_| BadKey)
    }

    /// The 32 bytes as 64 hexadecimal digits, which is how a project file names a trusted key.
    #[must_use]
    pub fn to_hex(&self) -> String {
        hex::encode(self.0.as_bytes())
    }

    pub fn from_hex(text: &str) -> Result<PublicKey, BadKey> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text.trim(), &mut bytes).map_err(|_| BadKey)?;
        VerifyingKey::from_bytes(&bytes).map(PublicKey).map_err(|_| BadKey)
    }

    /// A short name that follows from the key.
    #[must_use]
    pub fn id(&self) -> String {
        let digest = sha256_hex(self.0.as_bytes());
        format!("{ALGORITHM}:{}", digest.get(..16).unwrap_or(&digest))
    }
}

impl Signature {
    /// The text of the signature's file.
    #[must_use]
    pub fn to_file_text(&self) -> String {
        let mut members = members(&self.claim, self.terms.as_ref(), &self.key_id);
        members.insert(SIGNATURE.into(), hex::encode(self.bytes).into());
        let mut text = pretty_sorted_utf8(&members.into());
        text.push('\n');
        text
    }

    pub fn from_text(text: &str) -> Result<Signature, TrustRefusal> {
        let options = ParseOptions { duplicate_keys: DuplicateKeys::Refuse, ..ParseOptions::default() };
        let value = parse_with(text, options).map_err(|_| TrustRefusal::Malformed("it is not JSON"))?;
        let member =
            |key: &'static str| value.get(key).and_then(Value::as_str).ok_or(TrustRefusal::Malformed(key));
        if member("schema_kind")? != SCHEMA_KIND {
            return Err(TrustRefusal::Malformed("it is of an unknown kind"));
        }
        let number = |key: &str| value.get(key).and_then(Value::as_i64).and_then(|it| u64::try_from(it).ok());
        let terms = match number("signature_version") {
            Some(1) => None,
            Some(2) => Some(Terms {
                counter: number("counter").ok_or(TrustRefusal::Malformed("counter"))?,
                issued_at: time(&value, "issued_at")?.ok_or(TrustRefusal::Malformed("issued_at"))?,
                expires_at: time(&value, "expires_at")?,
            }),
            _ => return Err(TrustRefusal::Malformed("it is of an unknown version")),
        };
        if member("algorithm")? != ALGORITHM {
            return Err(TrustRefusal::Malformed("its algorithm is not ed25519"));
        }
        let word = member("subject")?;
        let subject = ArtefactKind::ALL.into_iter().find(|subject| subject.word() == word);
        let mut bytes = [0; 64];
        hex::decode_to_slice(member(SIGNATURE)?, &mut bytes)
            .map_err(|_| TrustRefusal::Malformed(SIGNATURE))?;
        let signature = Signature {
            claim: Claim {
                subject: subject.ok_or(TrustRefusal::Malformed("subject"))?,
                tenant_id: member("tenant_id")?.to_owned(),
                repo_id: member("repo_id")?.to_owned(),
                run_id: value.get("run_id").and_then(Value::as_str).map(str::to_owned),
                sha256: member("sha256")?.to_owned(),
            },
            terms,
            key_id: member("key_id")?.to_owned(),
            bytes,
        };
        // What was read is all there is, as it would be written: no member is outside of the signature.
        let mut signed = members(&signature.claim, signature.terms.as_ref(), &signature.key_id);
        signed.insert(SIGNATURE.into(), value.get(SIGNATURE).cloned().unwrap_or_default());
        if value != signed.into() {
            return Err(TrustRefusal::Malformed("it has members that are not signed"));
        }
        Ok(signature)
    }
}

/// A time of the signature's file; `None` when it is null.
fn time(value: &Value, key: &'static str) -> Result<Option<Timestamp>, TrustRefusal> {
    match value.get(key) {
        Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => text.parse().map(Some).map_err(|_| TrustRefusal::Malformed(key)),
        _ => Err(TrustRefusal::Malformed(key)),
    }
}
