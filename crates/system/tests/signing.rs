//! Keys and signatures: what is signed is taken, everything else is refused for its own reason.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use stave_system::sign::{Claim, PublicKey, Refusal, SecretKey, Signature, Subject, Trust, verify};

const MANIFEST: &str =
    r#"{"schema_kind": "run_manifest", "tenant_id": "acme", "repo_id": "support", "run_id": "run-1"}"#;

fn key(seed: u8) -> SecretKey {
    SecretKey::from_seed(&[seed; 32])
}

fn trust(keys: &[PublicKey]) -> Trust<'_> {
    Trust { keys, tenant_id: "acme", repo_id: "support" }
}

#[test]
fn a_key_is_the_same_after_its_file() {
    let key = key(1);
    let again = SecretKey::from_pem(&key.to_pem().unwrap()).unwrap();
    assert_eq!(again.public(), key.public());
    assert!(key.to_pem().unwrap().starts_with("-----BEGIN PRIVATE KEY-----"));
    assert_eq!(PublicKey::from_pem(&key.public().to_pem().unwrap()), Ok(key.public()));
    assert_eq!(PublicKey::from_hex(&key.public().to_hex()), Ok(key.public()));
}

/// The first test of RFC 8032, section 7.1.
#[test]
fn a_key_is_the_one_of_the_standard() {
    let mut seed = [0; 32];
    hex::decode_to_slice("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60", &mut seed)
        .unwrap();
    let public = SecretKey::from_seed(&seed).public().to_hex();
    assert_eq!(public, "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
}

#[test]
fn a_key_never_shows_its_secret_part() {
    let key = key(5);
    let shown = format!("{key:?}");
    assert_eq!(shown, format!("SecretKey({})", key.public().id()));
    assert!(!shown.contains(&"05".repeat(8)));
}

#[test]
fn what_is_no_key_is_refused_without_being_repeated() {
    for text in ["", "not a key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"] {
        let error = SecretKey::from_pem(text).unwrap_err().to_string();
        assert!(!error.contains("AAAA"), "{error}");
        assert!(PublicKey::from_pem(text).is_err());
        assert!(PublicKey::from_hex(text).is_err());
    }
}

#[test]
fn every_refusal_has_its_own_reason() {
    let (mine, other) = (key(1), key(2));
    let keys = [mine.public()];
    let signature = mine.sign(Claim::of(MANIFEST).unwrap());
    assert_eq!(verify(MANIFEST, Some(&signature), trust(&keys)), Ok(()));
    assert_eq!(verify(MANIFEST, None, trust(&keys)), Err(Refusal::Unsigned));
    let foreign_key = other.sign(Claim::of(MANIFEST).unwrap());
    let untrusted = Refusal::UntrustedKey(other.public().id());
    assert_eq!(verify(MANIFEST, Some(&foreign_key), trust(&keys)), Err(untrusted));
    let changed = MANIFEST.replace("run-1", "run-2");
    assert_eq!(verify(&changed, Some(&signature), trust(&keys)), Err(Refusal::Tampered));
    let elsewhere = Trust { keys: &keys, tenant_id: "beta", repo_id: "support" };
    assert!(matches!(verify(MANIFEST, Some(&signature), elsewhere), Err(Refusal::ForeignScope { .. })));
    // A claim that was rewritten to fit other bytes no longer fits the signature.
    let text = signature.to_file_text();
    let hash = &signature.claim.sha256;
    let forged = Claim::of(&changed).unwrap();
    let rewritten = text.replace(hash, &forged.sha256).replace("run-1", "run-2");
    let rewritten = Signature::from_text(&rewritten).unwrap();
    assert_eq!(verify(&changed, Some(&rewritten), trust(&keys)), Err(Refusal::BadSignature));
}

#[test]
fn a_signature_reads_back_and_nothing_else_does() {
    let signature = key(1).sign(Claim::of(MANIFEST).unwrap());
    let text = signature.to_file_text();
    assert_eq!(Signature::from_text(&text), Ok(signature));
    for (from, to) in [
        ("stave_signature", "other"),
        ("\"signature_version\": 1", "\"signature_version\": 2"),
        ("\"ed25519\"", "\"none\""),
        ("run_manifest", "something"),
        ("\"signature\": \"", "\"signature\": \"zz"),
        ("\"tenant_id\": \"acme\"", "\"tenant_id\": 3"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        assert!(matches!(Signature::from_text(&changed), Err(Refusal::Malformed(_))), "{from}");
    }
}

/// A claim about anything, as far as a claim can be written.
fn claims() -> impl Strategy<Value = Claim> {
    let subject = select(vec![Subject::RuntimeBundle, Subject::RunManifest, Subject::SystemIr]);
    (subject, any::<String>(), any::<String>(), proptest::option::of(any::<String>()), "[0-9a-f]{64}")
        .prop_map(|(subject, tenant_id, repo_id, run_id, sha256)| Claim {
            subject,
            tenant_id,
            repo_id,
            run_id,
            sha256,
        })
}

proptest! {
    #[test]
    fn every_signature_reads_back_as_it_was_written(claim in claims(), seed in any::<[u8; 32]>()) {
        let signature = SecretKey::from_seed(&seed).sign(claim);
        prop_assert_eq!(Signature::from_text(&signature.to_file_text()), Ok(signature));
    }

    #[test]
    fn no_text_makes_reading_a_signature_panic(text in any::<String>()) {
        prop_assert!(matches!(Signature::from_text(&text), Err(Refusal::Malformed(_))), "{}", text);
    }

    /// A damaged signature is malformed, or one that its key does not stand by.
    #[test]
    fn a_damaged_signature_vouches_for_nothing(
        seed in any::<[u8; 32]>(),
        place in any::<Index>(),
        with in any::<u8>(),
    ) {
        let key = SecretKey::from_seed(&seed);
        let signature = key.sign(Claim::of(MANIFEST).unwrap());
        let mut bytes = signature.to_file_text().into_bytes();
        let at = place.index(bytes.len());
        bytes[at] = with;
        let Ok(text) = String::from_utf8(bytes) else { return Ok(()) };
        let keys = [key.public()];
        match Signature::from_text(&text) {
            Err(refusal) => prop_assert!(matches!(refusal, Refusal::Malformed(_))),
            // White space outside the values, or upper case in the digits, says the same.
            Ok(read) if read == signature => prop_assert_eq!(verify(MANIFEST, Some(&read), trust(&keys)), Ok(())),
            Ok(read) => prop_assert!(verify(MANIFEST, Some(&read), trust(&keys)).is_err()),
        }
    }
}
