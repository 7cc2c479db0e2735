//! How strictly each kind of check is held.

use stave_diag::Severity;

/// A kind of check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Check {
    /// Contracts are where they belong.
    OperationalStructure,
    /// The graph holds together.
    GraphIntegrity,
    /// A bundle and what it was made from agree.
    ArtifactConsistency,
    /// Deployment intents and the deployable nodes of a bundle agree.
    IntentAlignment,
}

/// What comes of a broken rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    Off,
    Warn,
    Error,
}

/// The level of every kind of check: `error` for references, tenants and fingerprints, `warn` for
/// structure, unless a project says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckPolicies {
    pub operational_structure: Level,
    pub graph_integrity: Level,
    pub artifact_consistency: Level,
    pub intent_alignment: Level,
}

impl Check {
    pub const ALL: [Check; 4] = [
        Check::OperationalStructure,
        Check::GraphIntegrity,
        Check::ArtifactConsistency,
        Check::IntentAlignment,
    ];

    /// The setting that holds the check's level.
    #[must_use]
    pub fn setting(self) -> &'static str {
        match self {
            Check::OperationalStructure => "ir_operational_structure_policy",
            Check::GraphIntegrity => "ir_graph_integrity_policy",
            Check::ArtifactConsistency => "artifact_consistency_policy",
            Check::IntentAlignment => "deployment_intents_ir_alignment_policy",
        }
    }
}

impl Level {
    pub const ALL: [Level; 3] = [Level::Off, Level::Warn, Level::Error];

    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Level::Off => "off",
            Level::Warn => "warn",
            Level::Error => "error",
        }
    }

    #[must_use]
    pub fn of(word: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.word() == word)
    }

    /// The severity of what is found, unless it is not looked for.
    #[must_use]
    pub fn severity(self) -> Option<Severity> {
        match self {
            Level::Off => None,
            Level::Warn => Some(Severity::Warning),
            Level::Error => Some(Severity::Error),
        }
    }
}

impl Default for CheckPolicies {
    fn default() -> Self {
        CheckPolicies {
            operational_structure: Level::Warn,
            graph_integrity: Level::Error,
            artifact_consistency: Level::Error,
            intent_alignment: Level::Error,
        }
    }
}

impl CheckPolicies {
    #[must_use]
    pub fn level(&self, check: Check) -> Level {
        match check {
            Check::OperationalStructure => self.operational_structure,
            Check::GraphIntegrity => self.graph_integrity,
            Check::ArtifactConsistency => self.artifact_consistency,
            Check::IntentAlignment => self.intent_alignment,
        }
    }

    pub fn set(&mut self, check: Check, level: Level) {
        match check {
            Check::OperationalStructure => self.operational_structure = level,
            Check::GraphIntegrity => self.graph_integrity = level,
            Check::ArtifactConsistency => self.artifact_consistency = level,
            Check::IntentAlignment => self.intent_alignment = level,
        }
    }
}
