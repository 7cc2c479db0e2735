//! What a project says about its system document: whose it is, how strictly it is checked, who signs it and
//! how it is deployed.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use stave_canon::Value;
use stave_shape::{
    Definitions, Described, FaultKind, FieldLimits, Null, ObjectSchema, Pattern, Place, Reader, Shape,
    ValueKind, ValueNode, integer_schema,
};
use stave_system::bundle::{BundleOptions, BundleVersion};
use stave_system::deploy::DeployOptions;
use stave_system::policy::{Check, CheckPolicies, Level};
use stave_system::sign::{Minimums, PublicKey, TrustSettings};

use super::Project;

/// The tenant of a project that names none.
const LOCAL: &str = "local";

/// What the names of folders and keys are not made of.
const UNSAFE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_');

/// Who signs, and whose signatures count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Signing {
    /// Whether an artefact without a trusted signature is refused.
    pub required: bool,
    /// Which signatures count.
    pub trust: TrustSettings,
    /// The secret key's file, relative to the project.
    pub key: Option<String>,
}

impl Project {
    pub fn tenant(&self) -> &str {
        self.settings.tenant.as_deref().unwrap_or(LOCAL)
    }

    /// The repository: as the project names it, else the folder's name.
    pub fn repo(&self) -> String {
        let folder = || self.root.file_name().map(|name| name.to_string_lossy().into_owned());
        self.settings
            .repo
            .clone()
            .or_else(folder)
            .filter(|name| !name.trim().is_empty())
            .unwrap_or_else(|| LOCAL.to_owned())
    }

    /// How the project's runtime bundles are made.
    pub fn bundle_options(&self) -> BundleOptions {
        let strict_alignment = self.settings.checks.level(Check::IntentAlignment) == Level::Error;
        BundleOptions { strict_alignment, ..self.settings.bundle_options }
    }

    /// Tenant and repository in letters that folders and keys are made of. Different names stay different.
    pub fn plain_names(&self) -> [String; 2] {
        [self.tenant(), &self.repo()].map(|name| utf8_percent_encode(name, UNSAFE).to_string())
    }
}

/// The level of each check of system documents and bundles.
#[derive(Debug, Default)]
pub(super) struct Checks(pub(super) CheckPolicies);

/// How strictly a check is taken.
#[derive(Debug, Clone, Copy, Shape)]
#[shape(words)]
enum CheckLevel {
    Off,
    Warn,
    Error,
}

static CHECKS: LazyLock<Vec<&'static str>> = LazyLock::new(|| Check::ALL.map(Check::setting).to_vec());

/// The checks name their settings.
impl Shape for Checks {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        if node.kind() != ValueKind::Object {
            reader.wrong_type(node, at, "an object");
            return None;
        }
        let mut policies = CheckPolicies::default();
        node.members(|key, member| match Check::ALL.into_iter().find(|check| check.setting() == key.text) {
            None => reader.unknown_key(at, key.text, key.span, &CHECKS),
            Some(check) => {
                let word = CheckLevel::read(member, &at.key(key.text), reader);
                if let Some(level) = word.and_then(|word| Level::of(word.word())) {
                    policies.set(check, level);
                }
            }
        });
        Some(Checks(policies))
    }

    fn write(&self) -> Value {
        Check::ALL.into_iter().map(|check| (check.setting(), self.0.level(check).word())).collect()
    }

    fn schema(definitions: &mut Definitions) -> Value {
        let mut object = ObjectSchema::new("How strictly system documents and bundles are checked.", true);
        for check in Check::ALL {
            let default = CheckPolicies::default().level(check).word();
            let described = Described { description: meaning(check), default: Some(default.into()) };
            let schema = CheckLevel::schema(definitions);
            object.field(check.setting(), schema, &FieldLimits::NONE, Null::IsFault, described);
        }
        object.finish()
    }
}

fn meaning(check: Check) -> &'static str {
    match check {
        Check::OperationalStructure => "The operational contracts of nodes.",
        Check::GraphIntegrity => "The references between nodes.",
        Check::ArtifactConsistency => "Whether a bundle's artefacts agree with each other.",
        Check::IntentAlignment => "Whether deployment intents agree with the system document.",
    }
}

/// Who signs, and whose signatures count.
#[derive(Debug, Default, Shape)]
#[shape(not_null)]
pub(super) struct SigningTable {
    /// Whether an artefact without a trusted signature is refused.
    #[shape(default)]
    required: bool,
    /// The public keys whose signatures count, each of 64 hexadecimal digits.
    #[shape(default, pattern = PUBLIC_KEY)]
    trusted: Vec<String>,
    /// The keys whose signatures are refused, by their id or in full.
    #[shape(default, pattern = KEY_ID)]
    revoked: Vec<String>,
    /// The least version counter that is accepted: one for everything, or a table of names in which `*` stands for the
    /// rest.
    #[shape(default, min = 1)]
    minimum: LeastVersions,
    /// Whether signatures of version 1, which have no terms, are accepted.
    #[shape(default)]
    unversioned: bool,
    /// The secret key's file, relative to the project.
    key: Option<String>,
}

const PUBLIC_KEY: Pattern = Pattern {
    name: "a public key of 64 hexadecimal digits",
    expression: "^[0-9a-fA-F]{64}$",
    fits: |text| PublicKey::from_hex(text).is_ok(),
};

const KEY_ID: Pattern = Pattern {
    name: "a key id (`ed25519:` and 16 digits) or a public key",
    expression: "^(ed25519:[0-9a-fA-F]{16}|[0-9a-fA-F]{64})$",
    fits: |text| key_id(text).is_some(),
};

#[derive(Debug, Default)]
struct LeastVersions(Minimums);

impl Shape for LeastVersions {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        if node.kind() != ValueKind::Object {
            return u64::read(node, at, reader)
                .map(|project| LeastVersions(Minimums { project, ..Minimums::default() }));
        }
        let mut named = BTreeMap::<String, AtLeastOne>::read(node, at, reader)?;
        let project = named.remove("*").map_or(0, |least| least.0);
        let named = named.into_iter().map(|(name, least)| (name, least.0)).collect();
        Some(LeastVersions(Minimums { project, named }))
    }

    fn write(&self) -> Value {
        let rest = (self.0.project > 0).then(|| ("*".to_owned(), self.0.project));
        self.0.named.iter().map(|(name, least)| (name.clone(), *least)).chain(rest).collect()
    }

    fn schema(definitions: &mut Definitions) -> Value {
        let one = AtLeastOne::schema(definitions);
        let named = [("type", Value::from("object")), ("additionalProperties", one.clone())];
        Value::from_iter([("anyOf", Value::Array(vec![one, Value::from_iter(named)]))])
    }
}

/// A count that is not 0.
#[derive(Debug)]
struct AtLeastOne(u64);

impl Shape for AtLeastOne {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        let count = u64::read(node, at, reader)?;
        if count == 0 {
            let kind = FaultKind::OutOfRange { wanted: "at least 1".to_owned(), found: "0".to_owned() };
            reader.fault(at, node.span(), kind);
        }
        (count > 0).then_some(AtLeastOne(count))
    }

    fn write(&self) -> Value {
        self.0.into()
    }

    fn schema(_: &mut Definitions) -> Value {
        integer_schema(1i64, u64::MAX)
    }
}

impl SigningTable {
    pub(super) fn signing(self) -> Signing {
        Signing {
            required: self.required,
            trust: TrustSettings {
                trusted: self.trusted.iter().filter_map(|text| PublicKey::from_hex(text).ok()).collect(),
                revoked: self.revoked.iter().filter_map(|text| key_id(text)).collect(),
                minimum: self.minimum.0,
                unversioned: self.unversioned,
            },
            key: self.key,
        }
    }
}

/// How runtime bundles are made.
#[derive(Debug, Default, Shape)]
#[shape(not_null)]
pub(super) struct BundleTable {
    /// The schema version of bundles.
    #[shape(min = 1, max = 4, unset = 4u64)]
    version: Option<u64>,
    /// Whether a bundle holds the whole system document.
    #[shape(default)]
    embed_system_ir: bool,
    /// Whether a bundle of version 4 holds the coordination.
    #[shape(default)]
    coordination_spec: bool,
}

impl BundleTable {
    pub(super) fn options(&self) -> BundleOptions {
        let version = self.version.and_then(|number| i64::try_from(number).ok()).and_then(BundleVersion::of);
        BundleOptions {
            version: version.unwrap_or_default(),
            embed_system_ir: self.embed_system_ir,
            embed_coordination_spec: self.coordination_spec,
            ..BundleOptions::default()
        }
    }
}

/// How services are deployed.
#[derive(Debug, Default, Shape)]
#[shape(not_null)]
pub(super) struct DeployTable {
    /// The image to run; the service's name and the run when absent.
    image: Option<String>,
    /// Put before the image's name when no image is given.
    registry: Option<String>,
}

impl DeployTable {
    pub(super) fn options(self) -> DeployOptions {
        DeployOptions { image: self.image, registry: self.registry }
    }
}

/// The id of a key that is named by its id or in full.
fn key_id(text: &str) -> Option<String> {
    if let Ok(key) = PublicKey::from_hex(text) {
        return Some(key.id());
    }
    let digits = text.strip_prefix("ed25519:")?;
    let is_id = digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| text.to_ascii_lowercase())
}
