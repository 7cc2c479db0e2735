//! Ed25519 signatures over artefacts: who vouches for which bytes, in whose name.
//!
//! A signature stands in a file of its own beside the artefact. What is signed is a claim: the kind of
//! artefact, its tenant, repository and run, and the SHA-256 of its bytes. So a signature can not be moved
//! to another artefact, another tenant or another kind.
//!
//! Invariant: secret keys are wiped when they are dropped and never printed; comparisons of secrets are
//! the library's own, in constant time.

use std::fmt;

use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey};
use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use stave_canon::{
    DuplicateKeys, Items, Object, ParseOptions, Value, compact_utf8, parse_each, pretty_sorted_utf8,
    sha256_hex,
};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::strip;

/// Keeps what is signed here apart from everything else that the same key may sign.
const DOMAIN: &str = "stave.signature.v1\n";
const SCHEMA_KIND: &str = "stave_signature";
const ALGORITHM: &str = "ed25519";

/// The ending of a signature's file: `bundle.json` is signed by `bundle.json.sig`.
pub const ENDING: &str = ".sig";

pub struct SecretKey(SigningKey);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

/// What a signature vouches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub subject: Subject,
    pub tenant_id: String,
    pub repo_id: String,
    pub run_id: Option<String>,
    /// Of the artefact's bytes.
    pub sha256: String,
}

/// The kinds of artefact that are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    RuntimeBundle,
    RunManifest,
    SystemIr,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    pub claim: Claim,
    pub key_id: String,
    bytes: [u8; 64],
}

/// Whose artefacts are taken.
#[derive(Debug, Clone, Copy)]
pub struct Trust<'t> {
    pub keys: &'t [PublicKey],
    pub tenant_id: &'t str,
    pub repo_id: &'t str,
}

/// Why an artefact is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("it is not signed")]
    Unsigned,
    #[error("its signature can not be read: {0}")]
    Malformed(&'static str),
    #[error("it is signed with {0}, which the project does not trust")]
    UntrustedKey(String),
    #[error("it belongs to {field} {found:?}, not to {own:?}")]
    ForeignScope { field: &'static str, found: String, own: String },
    #[error("its bytes are not the ones that were signed")]
    Tampered,
    #[error("its signature does not belong to its key and claim")]
    BadSignature,
}

/// A key that can not be read. What was in its file stays out of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("this is no Ed25519 key in PEM form")]
pub struct BadKey;

impl Subject {
    const ALL: [Subject; 3] = [Subject::RuntimeBundle, Subject::RunManifest, Subject::SystemIr];

    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Subject::RuntimeBundle => "runtime_bundle",
            Subject::RunManifest => "run_manifest",
            Subject::SystemIr => "system_ir",
        }
    }

    fn of(artefact: &Value) -> Option<Subject> {
        let text = |key: &str| artefact.get(key).and_then(Value::as_str).unwrap_or_default();
        match (text("schema_kind"), text("schema_id")) {
            (crate::model::SCHEMA_KIND, _) => Some(Subject::SystemIr),
            (crate::manifest::SCHEMA_KIND, _) => Some(Subject::RunManifest),
            (_, id) if id.starts_with("akc:runtime_bundle:v") => Some(Subject::RuntimeBundle),
            _ => None,
        }
    }
}

impl Claim {
    /// What there is to say about an artefact's text; `None` when it is nothing that is signed.
    #[must_use]
    pub fn of(text: &str) -> Option<Claim> {
        let options = ParseOptions { duplicate_keys: DuplicateKeys::Refuse, non_finite: true };
        let artefact = parse_each(text, options, "nodes", &mut Passing).ok()?;
        let member = |key: &str| {
            let text = artefact.get(key).and_then(Value::as_str).map(strip)?;
            Some(text.to_owned()).filter(|text| !text.is_empty())
        };
        Some(Claim {
            subject: Subject::of(&artefact)?,
            tenant_id: member("tenant_id")?,
            repo_id: member("repo_id")?,
            run_id: member("run_id"),
            sha256: sha256_hex(text),
        })
    }

    fn members(&self, key_id: &str) -> Object {
        let members: [(&str, Value); 9] = [
            ("schema_kind", SCHEMA_KIND.into()),
            ("signature_version", 1_i64.into()),
            ("algorithm", ALGORITHM.into()),
            ("key_id", key_id.into()),
            ("subject", self.subject.word().into()),
            ("tenant_id", self.tenant_id.as_str().into()),
            ("repo_id", self.repo_id.as_str().into()),
            ("run_id", self.run_id.clone().into()),
            ("sha256", self.sha256.as_str().into()),
        ];
        members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// The bytes that are signed.
    fn message(&self, key_id: &str) -> String {
        format!("{DOMAIN}{}", compact_utf8(&self.members(key_id).into()))
    }
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

    /// Signs a claim.
    #[must_use]
    pub fn sign(&self, claim: Claim) -> Signature {
        let key_id = self.public().id();
        let bytes = self.0.sign(claim.message(&key_id).as_bytes()).to_bytes();
        Signature { claim, key_id, bytes }
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
        let mut members = self.claim.members(&self.key_id);
        members.insert("signature".into(), hex::encode(self.bytes).into());
        let mut text = pretty_sorted_utf8(&members.into());
        text.push('\n');
        text
    }

    pub fn from_text(text: &str) -> Result<Signature, Refusal> {
        let value = stave_canon::parse(text).map_err(|_| Refusal::Malformed("it is not JSON"))?;
        let member =
            |key: &'static str| value.get(key).and_then(Value::as_str).ok_or(Refusal::Malformed(key));
        if member("schema_kind")? != SCHEMA_KIND || value.get("signature_version") != Some(&1_i64.into()) {
            return Err(Refusal::Malformed("it is of an unknown version"));
        }
        if member("algorithm")? != ALGORITHM {
            return Err(Refusal::Malformed("its algorithm is not ed25519"));
        }
        let word = member("subject")?;
        let subject = Subject::ALL.into_iter().find(|subject| subject.word() == word);
        let mut bytes = [0; 64];
        hex::decode_to_slice(member("signature")?, &mut bytes)
            .map_err(|_| Refusal::Malformed("signature"))?;
        Ok(Signature {
            claim: Claim {
                subject: subject.ok_or(Refusal::Malformed("subject"))?,
                tenant_id: member("tenant_id")?.to_owned(),
                repo_id: member("repo_id")?.to_owned(),
                run_id: value.get("run_id").and_then(Value::as_str).map(str::to_owned),
                sha256: member("sha256")?.to_owned(),
            },
            key_id: member("key_id")?.to_owned(),
            bytes,
        })
    }
}

/// Takes an artefact only when a trusted key vouches for exactly these bytes in the name of this tenant and
/// repository.
pub fn verify(text: &str, signature: Option<&Signature>, trust: Trust<'_>) -> Result<(), Refusal> {
    let signature = signature.ok_or(Refusal::Unsigned)?;
    let key = trust.keys.iter().find(|key| key.id() == signature.key_id);
    let key = key.ok_or_else(|| Refusal::UntrustedKey(signature.key_id.clone()))?;
    let claim = Claim::of(text).ok_or(Refusal::Tampered)?;
    if claim != signature.claim {
        return Err(Refusal::Tampered);
    }
    let message = signature.claim.message(&signature.key_id);
    let bytes = ed25519_dalek::Signature::from_bytes(&signature.bytes);
    key.0.verify_strict(message.as_bytes(), &bytes).map_err(|_| Refusal::BadSignature)?;
    own_scope(&claim, trust.tenant_id, trust.repo_id)
}

/// An artefact of another tenant or repository is not this project's, whoever signed it.
pub fn own_scope(claim: &Claim, tenant_id: &str, repo_id: &str) -> Result<(), Refusal> {
    let pairs = [("tenant", &claim.tenant_id, tenant_id), ("repository", &claim.repo_id, repo_id)];
    for (field, found, own) in pairs {
        if found != own {
            return Err(Refusal::ForeignScope { field, found: found.clone(), own: own.to_owned() });
        }
    }
    Ok(())
}
