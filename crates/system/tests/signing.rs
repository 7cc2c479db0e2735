//! Keys and signatures: what is signed is taken, everything else is refused for its own reason.

#![expect(clippy::unwrap_used, reason = "a test stops at a surprise")]

use proptest::prelude::*;
use proptest::sample::{Index, select};
use stave_canon::Timestamp;
use stave_system::sign::{
    ArtefactKind, Claim, Minimums, PublicKey, SecretKey, Signature, Terms, Trust, TrustRefusal, TrustSettings,
};

const MANIFEST: &str =
    r#"{"schema_kind": "run_manifest", "tenant_id": "acme", "repo_id": "support", "run_id": "run-1"}"#;

fn key(seed: u8) -> SecretKey {
    SecretKey::from_seed(&[seed; 32])
}

pub(crate) fn trusting(keys: &[PublicKey]) -> TrustSettings {
    TrustSettings { trusted: keys.to_vec(), ..TrustSettings::default() }
}

fn trust(settings: &TrustSettings) -> Trust<'_> {
    Trust { settings, tenant_id: "acme", repo_id: "support", name: None }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

const NOW: &str = "2026-07-01T12:00:00Z";

pub(crate) fn terms() -> Terms {
    Terms { counter: 7, issued_at: at("2026-06-30T12:00:00Z"), expires_at: Some(at("2026-08-01T00:00:00Z")) }
}

pub(crate) fn verify(
    text: &str,
    signature: Option<&Signature>,
    trust: Trust<'_>,
) -> Result<(), TrustRefusal> {
    stave_system::sign::verify(text, signature, trust, at(NOW))
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
    let keys = trusting(&[mine.public()]);
    let signature = mine.sign(Claim::of(MANIFEST).unwrap(), terms());
    assert_eq!(verify(MANIFEST, Some(&signature), trust(&keys)), Ok(()));
    assert_eq!(verify(MANIFEST, None, trust(&keys)), Err(TrustRefusal::Unsigned));
    let foreign_key = other.sign(Claim::of(MANIFEST).unwrap(), terms());
    let untrusted = TrustRefusal::UntrustedKey(other.public().id());
    assert_eq!(verify(MANIFEST, Some(&foreign_key), trust(&keys)), Err(untrusted));
    let changed = MANIFEST.replace("run-1", "run-2");
    assert_eq!(verify(&changed, Some(&signature), trust(&keys)), Err(TrustRefusal::Tampered));
    let elsewhere = Trust { tenant_id: "beta", ..trust(&keys) };
    assert!(matches!(verify(MANIFEST, Some(&signature), elsewhere), Err(TrustRefusal::ForeignScope { .. })));
    // A claim that was rewritten to fit other bytes no longer fits the signature.
    let text = signature.to_file_text();
    let hash = &signature.claim.sha256;
    let forged = Claim::of(&changed).unwrap();
    let rewritten = text.replace(hash, &forged.sha256).replace("run-1", "run-2");
    let rewritten = Signature::from_text(&rewritten).unwrap();
    assert_eq!(verify(&changed, Some(&rewritten), trust(&keys)), Err(TrustRefusal::BadSignature));
}

#[test]
fn a_signature_reads_back_and_nothing_else_does() {
    let signature = key(1).sign(Claim::of(MANIFEST).unwrap(), terms());
    let text = signature.to_file_text();
    assert_eq!(Signature::from_text(&text), Ok(signature));
    for (from, to) in [
        ("stave_signature", "other"),
        ("\"signature_version\": 2", "\"signature_version\": 3"),
        ("\"signature_version\": 2", "\"signature_version\": 1"),
        ("\"counter\": 7", "\"counter\": -7"),
        ("\"counter\": 7", "\"counter\": 7.0"),
        ("\"counter\": 7", "\"counter\": 7, \"counter\": 9"),
        ("\"counter\": 7", "\"counter\": 7, \"note\": \"not signed\""),
        ("\"issued_at\": \"2026-06-30T12:00:00Z\"", "\"issued_at\": \"2026-06-30T14:00:00+02:00\""),
        ("\"issued_at\": \"2026-06-30T12:00:00Z\"", "\"issued_at\": null"),
        ("\"expires_at\": \"2026-08-01T00:00:00Z\"", "\"expires_at\": 1785542400"),
        ("\"run_id\": \"run-1\"", "\"run_id\": 1"),
        ("\"ed25519\"", "\"none\""),
        ("run_manifest", "something"),
        ("\"signature\": \"", "\"signature\": \"zz"),
        ("\"tenant_id\": \"acme\"", "\"tenant_id\": 3"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        assert!(matches!(Signature::from_text(&changed), Err(TrustRefusal::Malformed(_))), "{from}");
    }
}

#[test]
fn terms_hold_at_a_time_and_for_a_build() {
    let key = key(1);
    let claim = || Claim::of(MANIFEST).unwrap();
    let settings = trusting(&[key.public()]);
    let signed = |change: &dyn Fn(&mut Terms)| {
        let mut terms = terms();
        change(&mut terms);
        key.sign(claim(), terms)
    };
    let judged = |settings: &TrustSettings, signature: &Signature| {
        verify(MANIFEST, Some(signature), trust(settings)).map_err(|refusal| refusal.code())
    };
    let fresh = signed(&|_| {});
    assert_eq!(judged(&settings, &fresh), Ok(()));
    assert_eq!(judged(&settings, &signed(&|terms| terms.expires_at = None)), Ok(()));
    assert_eq!(
        judged(&settings, &signed(&|terms| terms.expires_at = Some(at(NOW)))),
        Err("signature-expired")
    );
    // The signer's clock may be five minutes ahead.
    let issued = |text: &'static str| signed(&move |terms: &mut Terms| terms.issued_at = at(text));
    assert_eq!(judged(&settings, &issued("2026-07-01T12:05:00Z")), Ok(()));
    assert_eq!(judged(&settings, &issued("2026-07-01T12:05:01Z")), Err("signature-future-dated"));

    let minimum = |project: u64, named: &[(&str, u64)]| TrustSettings {
        minimum: Minimums {
            project,
            named: named.iter().map(|(name, least)| ((*name).to_owned(), *least)).collect(),
        },
        ..settings.clone()
    };
    assert_eq!(judged(&minimum(7, &[]), &fresh), Ok(()));
    assert_eq!(judged(&minimum(8, &[]), &fresh), Err("signature-rolled-back"));
    // A name of its own counts for itself: the kind of artefact, or the flow that a manifest is verified for.
    assert_eq!(judged(&minimum(8, &[("run_manifest", 3)]), &fresh), Ok(()));
    assert_eq!(judged(&minimum(3, &[("run_manifest", 8)]), &fresh), Err("signature-rolled-back"));
    let flow = minimum(3, &[("echo", 8)]);
    assert_eq!(judged(&flow, &fresh), Ok(()));
    let for_flow = |name| verify(MANIFEST, Some(&fresh), Trust { name: Some(name), ..trust(&flow) });
    assert_eq!(for_flow("other"), Ok(()));
    assert_eq!(
        for_flow("echo"),
        Err(TrustRefusal::RolledBack { found: 7, minimum: 8, name: "echo".to_owned() })
    );

    let revoked = TrustSettings { revoked: vec![key.public().id()], ..settings.clone() };
    assert_eq!(judged(&revoked, &fresh), Err("signature-revoked-key"));
}

#[test]
fn a_signature_without_terms_counts_only_where_the_project_says_so() {
    let key = key(1);
    let old = key.sign_version_1(Claim::of(MANIFEST).unwrap());
    let judged = |settings: &TrustSettings| verify(MANIFEST, Some(&old), trust(settings));
    let settings = trusting(&[key.public()]);
    assert_eq!(judged(&settings), Err(TrustRefusal::Unversioned));
    let mut lenient = TrustSettings { unversioned: true, ..settings };
    assert_eq!(judged(&lenient), Ok(()));
    // With a minimum, a signature without a counter is older than everything.
    lenient.minimum.project = 1;
    assert!(matches!(judged(&lenient), Err(TrustRefusal::RolledBack { found: 0, .. })));
}

/// Each term is under the signature: changed in the file, the signature no longer fits, also as the other version.
#[test]
fn terms_cannot_be_changed_or_taken_away() {
    let key = key(1);
    let settings = TrustSettings { unversioned: true, ..trusting(&[key.public()]) };
    let text = key.sign(Claim::of(MANIFEST).unwrap(), terms()).to_file_text();
    for (from, to) in [
        ("\"counter\": 7", "\"counter\": 8"),
        ("2026-06-30T12:00:00Z", "2026-06-30T12:00:01Z"),
        ("\"2026-08-01T00:00:00Z\"", "null"),
        ("2026-08-01T00:00:00Z", "2036-08-01T00:00:00Z"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        let changed = Signature::from_text(&changed).unwrap();
        assert_eq!(
            verify(MANIFEST, Some(&changed), trust(&settings)),
            Err(TrustRefusal::BadSignature),
            "{from}"
        );
    }
    let stripped: String = text
        .lines()
        .filter(|line| !["counter", "issued_at", "expires_at"].iter().any(|term| line.contains(term)))
        .collect();
    let stripped = stripped.replace("\"signature_version\": 2", "\"signature_version\": 1");
    let stripped = Signature::from_text(&stripped).unwrap();
    assert_eq!(verify(MANIFEST, Some(&stripped), trust(&settings)), Err(TrustRefusal::BadSignature));
}

/// A claim about anything, as far as a claim can be written.
fn claims() -> impl Strategy<Value = Claim> {
    let subject =
        select(vec![ArtefactKind::RuntimeBundle, ArtefactKind::RunManifest, ArtefactKind::SystemIr]);
    (subject, any::<String>(), any::<String>(), proptest::option::of(any::<String>()), "[0-9a-f]{64}")
        .prop_map(|(subject, tenant_id, repo_id, run_id, sha256)| Claim {
            subject,
            tenant_id,
            repo_id,
            run_id,
            sha256,
        })
}

fn all_terms() -> impl Strategy<Value = Terms> {
    let time = || (0_i64..4_000_000_000).prop_map(|second| Timestamp::from_second(second).unwrap());
    (0..=i64::MAX.unsigned_abs(), time(), proptest::option::of(time()))
        .prop_map(|(counter, issued_at, expires_at)| Terms { counter, issued_at, expires_at })
}

proptest! {
    #[test]
    fn every_signature_reads_back_as_it_was_written(
        claim in claims(),
        seed in any::<[u8; 32]>(),
        terms in proptest::option::of(all_terms()),
    ) {
        let key = SecretKey::from_seed(&seed);
        let signature = match terms {
            Some(terms) => key.sign(claim, terms),
            None => key.sign_version_1(claim),
        };
        prop_assert_eq!(Signature::from_text(&signature.to_file_text()), Ok(signature));
    }

    #[test]
    fn no_text_makes_reading_a_signature_panic(text in any::<String>()) {
        prop_assert!(matches!(Signature::from_text(&text), Err(TrustRefusal::Malformed(_))), "{}", text);
    }

    /// A damaged signature is malformed, or one that its key does not verify.
    #[test]
    fn a_damaged_signature_vouches_for_nothing(
        seed in any::<[u8; 32]>(),
        place in any::<Index>(),
        with in any::<u8>(),
    ) {
        let key = SecretKey::from_seed(&seed);
        let signature = key.sign(Claim::of(MANIFEST).unwrap(), terms());
        let mut bytes = signature.to_file_text().into_bytes();
        let at = place.index(bytes.len());
        bytes[at] = with;
        let Ok(text) = String::from_utf8(bytes) else { return Ok(()) };
        let keys = trusting(&[key.public()]);
        match Signature::from_text(&text) {
            Err(refusal) => prop_assert!(matches!(refusal, TrustRefusal::Malformed(_))),
            // White space outside the values, or upper case in the digits, says the same.
            Ok(read) if read == signature => prop_assert_eq!(verify(MANIFEST, Some(&read), trust(&keys)), Ok(())),
            Ok(read) => prop_assert!(verify(MANIFEST, Some(&read), trust(&keys)).is_err()),
        }
    }
}
