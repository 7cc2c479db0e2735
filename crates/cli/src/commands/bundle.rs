//! `stave bundle`: runtime bundles compared with their documents, signed and verified.

use std::path::{Component, Path};

use stave_canon::{Clock, Pointer, Timestamp, Value};
use stave_lower::system_intent;
use stave_system::bundle::check::{BundleComparison, Derivation, Issue, check};
use stave_system::bundle::{
    Bundle, Intent, Specifications, bundle_path, coordination_path, delivery_plan_path, orchestration_path,
    specifications,
};
use stave_system::manifest::manifest_path;
use stave_system::manifest_check::ManifestComparison;
use stave_system::policy::{Check, Level};
use stave_system::sign::{Claim, PublicKey, Signature, Terms, Trust, TrustRefusal, verify};
use stave_system::{Places, SystemDocument, codes};

use crate::admission::artefacts::{
    admit, exec_claim, exec_hash, is_exec, project_of, refused, signature_of, signature_path, verify_exec,
};
use crate::args::{self, BundleAction, BundleCheck, BundleSign, BundleVerify};
use crate::exit::{Exit, Stop};
use crate::files;
use crate::findings::{self, Findings};
use crate::ports::SystemClock;
use crate::signing_keys::{read_public, read_secret};
use crate::system_documents::{self as documents, root_of, run_id_beside};
use crate::terminal::{self, Terminal};

pub(crate) fn bundle(arguments: &args::Bundle, terminal: Terminal) -> Result<Exit, Stop> {
    match &arguments.action {
        BundleAction::Check(arguments) => check_bundle(arguments, terminal),
        BundleAction::Sign(arguments) => sign(arguments),
        BundleAction::Verify(arguments) => verify_all(arguments),
    }
}

fn check_bundle(arguments: &BundleCheck, terminal: Terminal) -> Result<Exit, Stop> {
    let mut findings = Findings::default();
    let project = findings.project(&arguments.file)?;
    let text = documents::read(&arguments.file)?;
    admit(&arguments.file, &text, &project)?;
    let source = findings.sources.add(files::shown(&arguments.file).display().to_string(), text.as_str());
    let bundle = match Bundle::from_text(&text) {
        Ok(bundle) => bundle,
        Err(error) => {
            findings.diagnostics.extend(error.diagnostics(source, &text));
            return Ok(findings.print(arguments.json, terminal));
        }
    };
    let run_id = run_id_beside(&bundle, &arguments.file)?;
    let document = document_of(&bundle, run_id, arguments)?;
    let beside = |path: String| -> Result<Option<Value>, Stop> {
        let Some(path) = root_of(&arguments.file).map(|root| root.join(path)) else { return Ok(None) };
        // A link to nowhere, a pipe or a device is no file that is not there.
        if path.symlink_metadata().is_err() {
            return Ok(None);
        }
        let text = documents::read(&path)?;
        let value = stave_canon::parse_untrusted(&text)
            .map_err(|error| Stop::invalid(format!("{} is not JSON: {error}", path.display())))?;
        Ok(Some(value))
    };
    let manifest = beside(manifest_path(run_id))?;
    let derived = Derived::of(&document, &bundle, manifest.as_ref(), run_id);
    let beside_or = |path: String, made: Option<&Value>| Ok(beside(path)?.or_else(|| made.cloned()));
    let made = derived.as_ref().map(|derived| &derived.specifications);
    let orchestration = beside_or(orchestration_path(run_id), made.map(|made| &made.orchestration))?;
    let coordination = beside_or(coordination_path(run_id), made.map(|made| &made.coordination))?;
    let delivery_plan = beside(delivery_plan_path(run_id))?;
    let policies = findings::policies(&project, arguments.policies);
    let issues = check(BundleComparison {
        document: &document,
        bundle: bundle.value(),
        orchestration: orchestration.as_ref(),
        coordination: coordination.as_ref(),
        expected_allow_network: None,
        derivation: Some(Derivation {
            intent: derived.as_ref().map(|derived| &derived.intent),
            specifications: made,
            delivery_plan: delivery_plan.as_ref(),
            demands_alignment: policies.level(Check::IntentAlignment) == Level::Error,
        }),
    });
    let mut places = Places::new(source, &text);
    if let Some(manifest) = &manifest {
        let comparison = ManifestComparison {
            manifest,
            document: &document,
            bundle: &bundle,
            bundle_text: &text,
            intent_sha256: derived.as_ref().map(|derived| derived.intent_sha256.as_str()),
        };
        let root = root_of(&arguments.file);
        let read = |path: &str| {
            let is_inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
            let file = root.as_ref().filter(|_| is_inside)?.join(path);
            files::read_plain(&file, files::MAX_FILE_BYTES).ok()
        };
        // An edited bundle differs from the hash in its manifest. Where its own members say what was edited, that is enough.
        let faults = comparison.faults(read, exec_hash).into_iter();
        let of_bundle = format!("`{}`", bundle_path(run_id));
        // Another run's manifest disagrees with everything, and the issue names the run.
        let is_misnamed = issues.iter().any(|issue| issue.pointer.as_str() == "/run_id");
        let faults = faults.filter(|fault| {
            issues.is_empty()
                || !(is_misnamed || fault.contains("`runtime_bundle/sha256`") || fault.contains(&of_bundle))
        });
        for message in faults {
            let level = policies.level(Check::ArtifactConsistency);
            findings.add(level, places.diagnostic(codes::BUNDLE_CONTENT_DRIFT, &Pointer::root(), &message));
        }
    }
    for Issue { code, check, pointer, message } in &issues {
        findings.add(policies.level(*check), places.diagnostic(*code, pointer, message));
    }
    Ok(findings.print(arguments.json, terminal))
}

/// What follows from a document that was lowered from flows: its intent and specifications.
struct Derived {
    intent: Intent,
    intent_sha256: String,
    specifications: Specifications,
}

impl Derived {
    /// `None` for a document whose intent is kept apart from it. An edit of one of the places that name the intent does not
    /// hide that the intent follows from the document.
    fn of(
        document: &SystemDocument,
        bundle: &Bundle,
        manifest: Option<&Value>,
        run_id: &str,
    ) -> Option<Derived> {
        let intent = system_intent(document);
        let intent_sha256 = intent.reference.get("stable_intent_sha256")?.as_str()?.to_owned();
        let places = [
            bundle.value().pointer("/intent_ref/stable_intent_sha256"),
            bundle.value().pointer("/intent_policy_projection/stable_intent_sha256"),
            manifest.and_then(|manifest| manifest.get("stable_intent_sha256")),
        ];
        let is_named = places.into_iter().flatten().any(|place| place.as_str() == Some(&intent_sha256));
        is_named.then(|| Derived { specifications: specifications(run_id, document), intent, intent_sha256 })
    }
}

/// The document to compare with: the one that is named, else the bundle's own.
fn document_of(bundle: &Bundle, run_id: &str, arguments: &BundleCheck) -> Result<SystemDocument, Stop> {
    match &arguments.ir {
        Some(path) => documents::load(path),
        None => documents::document_of_run(run_id, bundle, &arguments.file, &project_of(&arguments.file)?),
    }
}

fn sign(arguments: &BundleSign) -> Result<Exit, Stop> {
    let mut signed = Vec::new();
    for file in &arguments.files {
        let project = project_of(file)?;
        let key = arguments
            .key
            .clone()
            .or_else(|| project.settings.signing.key.as_ref().map(|key| project.root.join(key)));
        let key = key.ok_or_else(|| {
            Stop::invalid("there is no key to sign with")
                .help("give --key FILE, or set `key` under [signing] in stave.toml")
        })?;
        let key = read_secret(&key)?;
        let text = documents::read(file)?;
        let claim = Claim::of(&text).ok_or_else(|| {
            let stop = Stop::invalid(format!(
                "{} is not a runtime bundle, run manifest or system document",
                file.display()
            ));
            match is_exec(file) {
                true => stop.help("sign the run manifest that lists it: .akc/run/*.manifest.json"),
                false => stop,
            }
        })?;
        let terms = terms(arguments)?;
        not_lower(file, terms.counter)?;
        let signature = key.sign(claim, terms);
        let path = signature_path(file);
        files::write_atomic(&path, &signature.to_file_text())?;
        signed.push(Value::from_iter([
            ("file", Value::from(file.display().to_string())),
            ("signature_file", path.display().to_string().into()),
            ("subject", signature.claim.subject.word().into()),
            ("key_id", signature.key_id.clone().into()),
            ("counter", signature.terms.map(|terms| terms.counter).into()),
            ("issued_at", signature.terms.map(|terms| terms.issued_at.to_string()).into()),
            ("expires_at", expiry(&signature).into()),
        ]));
        if !arguments.json {
            let counter = signature.terms.map_or(0, |terms| terms.counter);
            let end = expiry(&signature).map_or_else(String::new, |end| format!(", until {end}"));
            let key_id = &signature.key_id;
            terminal::error(&format!("signed {} with {key_id}, counter {counter}{end}", file.display()));
        }
    }
    if arguments.json {
        terminal::out(&Value::from_iter([("signed", signed)]).to_string());
    }
    Ok(Exit::Fine)
}

/// The terms of a signature that is made now. The time is the counter that always grows and that needs no
/// record of the last one.
fn terms(arguments: &BundleSign) -> Result<Terms, Stop> {
    let now = SystemClock.now();
    let issued_at = Timestamp::from_second(now.as_second())
        .map_err(|error| Stop::internal(format!("the clock is outside the calendar: {error}")))?;
    let counter = arguments.counter.unwrap_or_else(|| u64::try_from(now.as_second()).unwrap_or_default());
    let expires_at = arguments.expires.map(|period| period.after(issued_at)).transpose()?;
    if let Some(end) = expires_at.filter(|end| *end <= issued_at) {
        return Err(Stop::invalid("a signature that expires at once is never accepted")
            .code(TrustRefusal::Expired(end).code())
            .help("give --expires a period such as 12h or 90d, or leave it out"));
    }
    Ok(Terms { counter, issued_at, expires_at })
}

/// A counter below the one of the signature that is there would be a rollback.
fn not_lower(file: &Path, counter: u64) -> Result<(), Stop> {
    // A signature that cannot be read is replaced.
    let last = signature_of(file).ok().flatten().and_then(|signature| signature.terms);
    let Some(last) = last.map(|terms| terms.counter).filter(|last| counter < *last) else { return Ok(()) };
    let message = format!("{} is signed with the counter {last}, and {counter} is lower", file.display());
    let code = TrustRefusal::RolledBack { found: counter, minimum: last, name: String::new() }.code();
    let help = format!("give --counter {last} or more, or remove the signature to sign an older build");
    Err(Stop::invalid(message).code(code).help(help))
}

fn expiry(signature: &Signature) -> Option<String> {
    signature.terms?.expires_at.map(|end| end.to_string())
}

fn verify_all(arguments: &BundleVerify) -> Result<Exit, Stop> {
    let mut given: Vec<PublicKey> = Vec::new();
    for key in &arguments.trusted {
        let key = match PublicKey::from_hex(key) {
            Ok(key) => key,
            Err(_) => read_public(&files::read_text(Path::new(key))?, Path::new(key))?,
        };
        given.push(key);
    }
    let mut rows = Vec::new();
    let mut exit = Exit::Fine;
    for file in &arguments.files {
        let project = project_of(file)?;
        let mut settings = project.settings.signing.trust.clone();
        if !given.is_empty() {
            settings.trusted.clone_from(&given);
        }
        let text = documents::read(file)?;
        let repo = project.repo();
        // Outside a project an artefact is only held against its signature.
        let claim = if is_exec(file) { exec_claim(file) } else { Claim::of(&text) };
        let (tenant_id, repo_id) = match claim.as_ref().filter(|_| !project.has_file) {
            Some(claim) => (claim.tenant_id.as_str(), claim.repo_id.as_str()),
            None => (project.tenant(), repo.as_str()),
        };
        let trust = Trust { settings: &settings, tenant_id, repo_id, name: None };
        let (terms, result) = match signature_of(file) {
            _ if is_exec(file) => (None, verify_exec(file, &text, trust)),
            Ok(signature) => {
                let result = verify(&text, signature.as_ref(), trust, SystemClock.now());
                (signature.and_then(|it| it.terms), result.map_err(|refusal| refused(file, &refusal)))
            }
            Err(stop) => (None, Err(stop)),
        };
        let reason = result.as_ref().err().map(ToString::to_string);
        if !arguments.json {
            terminal::error(reason.as_deref().unwrap_or(&format!("{} is as it was signed", file.display())));
        }
        if result.is_err() {
            exit = Exit::Refused;
        }
        rows.push(Value::from_iter([
            ("file", Value::from(file.display().to_string())),
            ("verified", result.is_ok().into()),
            ("reason", reason.into()),
            ("code", result.as_ref().err().and_then(|stop| stop.code).into()),
            ("counter", terms.map(|terms| terms.counter).into()),
            ("issued_at", terms.map(|terms| terms.issued_at.to_string()).into()),
            ("expires_at", terms.and_then(|terms| terms.expires_at).map(|end| end.to_string()).into()),
        ]));
    }
    if arguments.json {
        terminal::out(&Value::from_iter([("artefacts", rows)]).to_string());
    }
    Ok(exit)
}
