//! Governance: policies judge a Prompt IR before any token is spent.
//!
//! A policy forbids texts in one field, or bounds a number. A hit is a [`Violation`] that knows its policy,
//! field, place and matched text, and prints as the sentence the specification gives it. Whether a prompt
//! is denied is decided by the action of the violated policies, never by the words of a sentence.
//!
//! There are two modes. [`MatchMode::Specified`] compares bytes exactly as the specification says.
//! [`MatchMode::Strict`] compares what a reader sees, knows paths and words, and also looks at what a prompt
//! carries along and at what its references resolve to.
//!
//! Invariant: judging is a pure function of the policies and the prompt, in time linear in the prompt;
//! violations come in policy order, then item order, then pattern order.

mod carried;
mod compiled;
mod defaults;
mod evidence;
mod fixed_parts;
mod form;
mod judge;
mod lowered;
mod model;
mod policy;
mod prefilter;
mod read;
mod report;
mod strict;
mod violation;

pub use evidence::TextSource;
pub use fixed_parts::{FixedPart, FixedParts};
pub use model::AskedModel;
pub use policy::{BadExpression, Bounds, Matching, Policy, PolicyAction, PolicyType, Quantity};
pub use read::{InvalidPolicies, PolicyFault, schema};
pub use report::{CheckEntry, RECENT_CHECKS, Report};
pub use violation::{PromptField, Violation};

use std::sync::{Arc, LazyLock, OnceLock};

use stave_canon::Value;
use stave_shape::Shape;

use crate::PromptIr;
use crate::compile::{CompiledPrompt, Section, SectionKind};
use judge::Judge;

/// How texts are compared where a policy does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Shape)]
#[shape(name = "Mode", words)]
pub enum MatchMode {
    /// As a reader sees them.
    Strict,
    /// Byte by byte, as the specification says.
    #[default]
    Specified,
}

/// The policies that a prompt is judged by. The default is the specification's three, as specified.
#[derive(Debug, Clone)]
pub struct PolicySet {
    mode: MatchMode,
    policies: Arc<[Policy]>,
    allow: Vec<String>,
    judge: Arc<OnceLock<Judge>>,
}

/// What one reference resolved to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content<'c> {
    pub reference: &'c str,
    pub path: Option<RealPath<'c>>,
    pub text: &'c str,
}

/// Where a content was really found, after links were followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RealPath<'c> {
    /// From the root of the machine. Forbidden places are looked for in it.
    pub whole: &'c str,
    /// The same place from the project's root, as references name it: what `only` is compared with.
    pub in_project: Option<&'c str>,
}

/// One text of a conversation that passes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConversationText<'c> {
    /// Where in the conversation it is.
    pub reference: &'c str,
    pub source: TextSource,
    pub text: &'c str,
}

/// What the policies say about one prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdict {
    pub violations: Vec<Violation>,
}

impl PolicySet {
    /// These policies, as specified.
    #[must_use]
    pub fn new(policies: Vec<Policy>) -> Self {
        PolicySet { policies: policies.into(), ..PolicySet::empty() }
    }

    /// The specification's three policies as specified.
    #[must_use]
    pub fn specified() -> Self {
        PolicySet::new(defaults::specified())
    }

    /// The specification's three policies in strict mode, with the places and phrases that get around
    /// them.
    #[must_use]
    pub fn strict() -> Self {
        // Preparing expressions takes longer than judging many prompts, so it is done once.
        static STRICT: LazyLock<PolicySet> =
            LazyLock::new(|| PolicySet::new(defaults::strict()).with_mode(MatchMode::Strict));
        STRICT.clone()
    }

    fn empty() -> Self {
        PolicySet {
            mode: MatchMode::Specified,
            policies: Arc::from([]),
            allow: Vec::new(),
            judge: Arc::default(),
        }
    }

    #[must_use]
    pub fn with_mode(self, mode: MatchMode) -> Self {
        PolicySet { mode, judge: Arc::default(), ..self }
    }

    /// Phrases around which no policy finds anything.
    #[must_use]
    pub fn with_allow(self, allow: Vec<String>) -> Self {
        PolicySet { allow, judge: Arc::default(), ..self }
    }

    /// Reads policies. `null` means the default policies as specified; a list, these policies as
    /// specified, an empty one none at all; an object `{mode, extends, allow, policies}` sets all of it,
    /// and its mode is strict unless it says otherwise.
    pub fn from_value(value: &Value) -> Result<PolicySet, InvalidPolicies> {
        read::read(value)
    }

    /// The form that [`PolicySet::from_value`] reads back: a list if that says it all.
    #[must_use]
    pub fn to_value(&self) -> Value {
        read::write(self)
    }

    #[must_use]
    pub fn mode(&self) -> MatchMode {
        self.mode
    }

    #[must_use]
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }

    /// Judges a prompt.
    #[must_use]
    pub fn check(&self, ir: &PromptIr) -> Verdict {
        self.judge().check(&self.policies, ir, None)
    }

    /// Judges what a prompt has and the prompt `before` it, which these policies approved, did not have.
    #[must_use]
    pub fn check_change(&self, before: &PromptIr, ir: &PromptIr) -> Verdict {
        self.judge().check(&self.policies, ir, Some(before))
    }

    /// Judges a model that a prompt may go to beside the one it names, such as a fallback.
    #[must_use]
    pub fn check_model(&self, model: AskedModel<'_>) -> Verdict {
        let mut violations = Vec::new();
        self.policies.iter().for_each(|policy| model::judge(policy, model, &mut violations));
        Verdict { violations }
    }

    /// Judges what the references of a prompt resolved to.
    #[must_use]
    pub fn check_content(&self, contents: &[Content<'_>]) -> Verdict {
        self.check_content_until(contents, &|| false).unwrap_or_default()
    }

    /// The same for a caller that has no time to lose; `None` once `is_late` says so. The time is looked at between walks
    /// over a text, of which there are a few for each expression.
    #[must_use]
    pub fn check_content_until(
        &self,
        contents: &[Content<'_>],
        is_late: &dyn Fn() -> bool,
    ) -> Option<Verdict> {
        self.judge().check_content(&self.policies, contents, is_late)
    }

    /// Judges the texts of a conversation that passes by, of which nobody knows what they are for: the default policies
    /// about injected instructions deny on strong evidence and flag the rest. Policies of a project deny as they say.
    /// `None` once `is_late` says so.
    #[must_use]
    pub fn check_conversation_until(
        &self,
        texts: &[ConversationText<'_>],
        is_late: &dyn Fn() -> bool,
    ) -> Option<Verdict> {
        self.judge().check_conversation(&self.policies, texts, is_late)
    }

    /// Judges what a compiled prompt sends beside what it was judged by before: the rendered template with the
    /// values in it, as one text, and every piece of context, of the history and of a tool's answers.
    #[must_use]
    pub fn check_compiled(&self, compiled: &CompiledPrompt) -> Verdict {
        let inputs: String = compiled
            .sections
            .iter()
            .filter(|section| section.kind == SectionKind::Input)
            .map(|section| section.text.as_str())
            .collect();
        let brought = compiled.sections.iter().filter(|section| {
            matches!(section.kind, SectionKind::Context | SectionKind::History | SectionKind::ToolResult)
        });
        let content = |section: &'_ Section| (section.name.clone(), section.text.clone());
        let texts: Vec<(String, String)> = brought
            .map(content)
            .chain((!inputs.is_empty()).then(|| ("template".to_owned(), inputs)))
            .collect();
        let contents: Vec<Content<'_>> =
            texts.iter().map(|(reference, text)| Content { reference, path: None, text }).collect();
        self.check_content(&contents)
    }

    /// The policies as they are searched, prepared once for all copies of the set.
    fn judge(&self) -> &Judge {
        self.judge.get_or_init(|| Judge::new(self.mode, &self.policies, &self.allow))
    }
}

impl Default for PolicySet {
    fn default() -> Self {
        PolicySet::specified()
    }
}

/// Sets are equal when they say the same.
impl PartialEq for PolicySet {
    fn eq(&self, other: &Self) -> bool {
        self.mode == other.mode && self.policies == other.policies && self.allow == other.allow
    }
}

impl Verdict {
    /// Whether the prompt may continue: no violated policy denies.
    #[must_use]
    pub fn approved(&self) -> bool {
        self.violations.iter().all(|violation| violation.action == PolicyAction::Flag)
    }

    /// The violations as the specification's sentences.
    #[must_use]
    pub fn texts(&self) -> Vec<String> {
        self.violations.iter().map(ToString::to_string).collect()
    }
}
