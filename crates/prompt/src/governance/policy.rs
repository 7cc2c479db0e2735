//! A policy as data.
//!
//! Invariant: a policy that was read names a known type and a known action. A policy that could not
//! match anything because of a misspelt word would silently protect nothing, so it is refused.

use std::sync::Arc;

use regex::{Regex, RegexBuilder};
use stave_canon::Number;
use stave_shape::Shape;

use super::evidence::Instruction;

/// The largest automaton that one expression may become.
const EXPRESSION_BYTES: usize = 1 << 20;

/// What a policy looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Shape)]
#[shape(words)]
pub enum PolicyType {
    /// Patterns in each context reference, case-sensitive.
    ContextRef,
    /// Keywords in the intent, in any letter case.
    Intent,
    /// Keywords in each constraint, in any letter case.
    Constraint,
    /// Keywords in what a prompt carries along: metadata, output requirements, role.
    Metadata,
    /// Keywords in what references resolve to and, in strict mode, in what a prompt carries along.
    Content,
    /// Models that must not, or alone may, be asked.
    Model,
    /// Bounds of a number.
    Number,
}

/// What a violation leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Shape)]
#[shape(name = "Action", words)]
pub enum PolicyAction {
    /// The prompt is refused.
    Deny,
    /// The violation is recorded and the prompt continues.
    Flag,
}

/// How a policy's texts are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Shape)]
#[shape(words)]
pub enum Matching {
    /// Anywhere in the text.
    Substring,
    /// As a word of its own, with its usual endings.
    Word,
    /// As a place in a file system.
    Path,
    /// As a regular expression.
    Regex,
}

/// The number that a policy bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Shape)]
#[shape(words)]
pub enum Quantity {
    TokenBudget,
    Priority,
    TemperatureHint,
    /// How many references there are.
    ContextRefs,
    /// How many constraints there are.
    Constraints,
}

/// A range that a number must lie in.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    pub quantity: Quantity,
    pub minimum: Option<Number>,
    pub maximum: Option<Number>,
}

/// One rule: texts that must not occur in one field, or bounds of a number.
#[derive(Debug, Clone)]
pub struct Policy {
    name: Arc<str>,
    policy_type: PolicyType,
    action: PolicyAction,
    matching: Option<Matching>,
    patterns: Vec<Pattern>,
    allow: Vec<String>,
    only: Vec<String>,
    bounds: Option<Bounds>,
    /// For expressions: every match holds one of these, when that is known.
    needles: Option<&'static [&'static str]>,
    /// For policies of which one hit is little evidence: what each expression tells the model; see `evidence`.
    instructions: Option<&'static [Instruction]>,
}

/// A forbidden text, kept as written for messages and prepared for matching.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    written: Arc<str>,
    lowered: String,
    expression: Option<Regex>,
}

/// A regular expression that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadExpression(pub String);

impl PolicyAction {
    /// The word that begins a violation's sentence.
    #[must_use]
    pub fn shout(self) -> &'static str {
        match self {
            PolicyAction::Deny => "DENY",
            PolicyAction::Flag => "FLAG",
        }
    }
}

impl Policy {
    #[must_use]
    pub fn new(
        name: impl Into<Arc<str>>,
        policy_type: PolicyType,
        patterns: impl IntoIterator<Item = String>,
        action: PolicyAction,
    ) -> Self {
        let patterns = patterns.into_iter().map(Pattern::new).collect();
        Policy {
            name: name.into(),
            policy_type,
            action,
            matching: None,
            patterns,
            allow: Vec::new(),
            only: Vec::new(),
            bounds: None,
            needles: None,
            instructions: None,
        }
    }

    /// A policy that bounds a number.
    #[must_use]
    pub fn number(name: impl Into<Arc<str>>, bounds: Bounds, action: PolicyAction) -> Self {
        Policy { bounds: Some(bounds), ..Policy::new(name, PolicyType::Number, [], action) }
    }

    /// Sets how the texts are compared, whatever the mode.
    pub fn matching(mut self, matching: Matching) -> Result<Self, BadExpression> {
        self.matching = Some(matching);
        if matching == Matching::Regex {
            for pattern in &mut self.patterns {
                pattern.expression = Some(expression(&pattern.written)?);
            }
        }
        Ok(self)
    }

    /// Says what every match of the policy's expressions holds at least one of.
    pub(super) fn needles(mut self, needles: &'static [&'static str]) -> Self {
        self.needles = Some(needles);
        self
    }

    pub(super) fn known_needles(&self) -> Option<&'static [&'static str]> {
        self.needles
    }

    /// Says that a hit is evidence, which a caller that sees ordinary conversations weighs, and what each expression
    /// tells the model.
    pub(super) fn weighed(self, instructions: &'static [Instruction]) -> Self {
        Policy { instructions: Some(instructions), ..self }
    }

    pub(super) fn instructions(&self) -> Option<&'static [Instruction]> {
        self.instructions
    }

    /// Texts around which the policy makes an exception: a hit inside one of them does not count.
    #[must_use]
    pub fn allow(mut self, texts: Vec<String>) -> Self {
        self.allow = texts;
        self
    }

    /// The only places that references may name, or the only models that may be asked.
    #[must_use]
    pub fn only(mut self, places: Vec<String>) -> Self {
        self.only = places;
        self
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn shared_name(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }

    #[must_use]
    pub fn policy_type(&self) -> PolicyType {
        self.policy_type
    }

    #[must_use]
    pub fn action(&self) -> PolicyAction {
        self.action
    }

    #[must_use]
    pub fn bounds(&self) -> Option<&Bounds> {
        self.bounds.as_ref()
    }

    /// The forbidden texts as written.
    pub fn forbidden(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(Pattern::written)
    }

    pub(super) fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }

    pub(super) fn explicit_matching(&self) -> Option<Matching> {
        self.matching
    }

    pub(super) fn allowed(&self) -> &[String] {
        &self.allow
    }

    pub(super) fn only_places(&self) -> &[String] {
        &self.only
    }
}

impl Pattern {
    fn new(written: String) -> Self {
        Pattern { lowered: written.to_lowercase(), written: written.into(), expression: None }
    }

    pub(super) fn written(&self) -> &str {
        &self.written
    }

    pub(super) fn shared(&self) -> Arc<str> {
        Arc::clone(&self.written)
    }

    pub(super) fn lowered(&self) -> &str {
        &self.lowered
    }

    pub(super) fn expression(&self) -> Option<&Regex> {
        self.expression.as_ref()
    }
}

/// Policies are equal when they say the same; what is known about their expressions follows from that.
impl PartialEq for Policy {
    fn eq(&self, other: &Self) -> bool {
        let said = |policy: &Policy| (policy.policy_type, policy.action, policy.matching);
        said(self) == said(other)
            && self.name == other.name
            && self.patterns == other.patterns
            && self.allow == other.allow
            && self.only == other.only
            && self.bounds == other.bounds
    }
}

/// Patterns are equal when they were written the same; the rest follows from that.
impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written && self.expression.is_some() == other.expression.is_some()
    }
}

/// Compiles an expression within bounds. The engine takes linear time, whatever is written.
fn expression(written: &str) -> Result<Regex, BadExpression> {
    RegexBuilder::new(written)
        .case_insensitive(true)
        .size_limit(EXPRESSION_BYTES)
        .dfa_size_limit(EXPRESSION_BYTES)
        .build()
        .map_err(|error| {
            BadExpression(error.to_string().lines().last().unwrap_or_default().trim().to_owned())
        })
}
