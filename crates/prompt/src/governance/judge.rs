//! Judging: every policy over every item it looks at.

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::AhoCorasick;
use stave_canon::{Number, Pointer, Value};

use super::carried::{self, Carried};
use super::lowered::Lowered;
use super::policy::{Bounds, Matching, Policy, PolicyType, Quantity};
use super::strict::{Literals, PathPattern, Paths, Places, Prepared};
use super::{Content, Field, Mode, Verdict, Violation};
use crate::{ContextRef, PromptIr};

/// The policies of a set, ready to search.
#[derive(Debug)]
pub(super) struct Judge {
    mode: Mode,
    compiled: Vec<Compiled>,
}

/// One policy, ready to search.
#[derive(Debug)]
struct Compiled {
    /// Whether texts are compared byte by byte, as specified.
    exact: bool,
    /// Finds out in one walk that nothing of an exact policy is in a text, which is the usual case.
    sieve: Option<AhoCorasick>,
    literals: Literals,
    paths: Vec<(usize, PathPattern)>,
    expressions: Vec<usize>,
    allowed: Literals,
    allowed_paths: Vec<PathPattern>,
    only: Option<(Places, Arc<str>)>,
}

/// A text that policies look at, with the forms that they ask for made once.
struct Item<'t> {
    text: &'t str,
    lowered: OnceCell<Lowered<'t>>,
    prepared: OnceCell<Prepared<'t>>,
    paths: OnceCell<Paths>,
}

impl<'t> Item<'t> {
    fn new(text: &'t str) -> Self {
        Item { text, lowered: OnceCell::new(), prepared: OnceCell::new(), paths: OnceCell::new() }
    }

    fn lowered(&self) -> &Lowered<'t> {
        self.lowered.get_or_init(|| Lowered::new(self.text))
    }

    fn prepared(&self) -> &Prepared<'t> {
        self.prepared.get_or_init(|| Prepared::new(self.text))
    }

    fn paths(&self) -> &Paths {
        self.paths.get_or_init(|| Paths::of(self.text))
    }
}

impl Judge {
    pub(super) fn new(mode: Mode, policies: &[Policy], allow: &[String]) -> Self {
        Judge { mode, compiled: policies.iter().map(|policy| Compiled::new(mode, policy, allow)).collect() }
    }

    pub(super) fn check(&self, policies: &[Policy], ir: &PromptIr) -> Verdict {
        let mut out = Vec::new();
        let intent = Item::new(&ir.intent);
        let references: Vec<Item<'_>> = ir.context_refs.iter().map(|text| Item::new(text)).collect();
        let constraints: Vec<Item<'_>> = ir.constraints.iter().map(|text| Item::new(text)).collect();
        let strict = self.mode == Mode::Strict;
        let looks_at_carried =
            strict || policies.iter().any(|policy| policy.policy_type() == PolicyType::Metadata);
        let carried: Vec<Carried<'_>> = if looks_at_carried { carried::texts(ir) } else { Vec::new() };
        let carried_items: Vec<(&Pointer, Item<'_>)> =
            carried.iter().map(|carried| (&carried.pointer, Item::new(carried.text))).collect();
        for (policy, compiled) in policies.iter().zip(&self.compiled) {
            match policy.policy_type() {
                PolicyType::ContextRef => {
                    for (index, item) in references.iter().enumerate() {
                        compiled.references(policy, item, Field::ContextRefs(index), &mut out);
                    }
                    if strict {
                        for carried in carried::references(&carried) {
                            let field = Field::Carried(carried.pointer.clone());
                            compiled.references(policy, &Item::new(carried.text), field, &mut out);
                        }
                    }
                }
                PolicyType::Intent => compiled.texts(policy, &intent, || Field::Intent, &mut out),
                PolicyType::Constraint => {
                    for (index, item) in constraints.iter().enumerate() {
                        compiled.texts(policy, item, || Field::Constraints(index), &mut out);
                    }
                }
                PolicyType::Content if !strict => {}
                PolicyType::Metadata | PolicyType::Content => {
                    for (pointer, item) in &carried_items {
                        compiled.texts(policy, item, || Field::Carried((*pointer).clone()), &mut out);
                    }
                }
                PolicyType::Number => {
                    out.extend(policy.bounds().and_then(|bounds| broken(policy, bounds, ir)));
                }
            }
        }
        Verdict { violations: out }
    }

    pub(super) fn check_content(&self, policies: &[Policy], contents: &[Content<'_>]) -> Verdict {
        let mut out = Vec::new();
        for (policy, compiled) in policies.iter().zip(&self.compiled) {
            for content in contents {
                let field = || Field::Content(content.reference.to_owned());
                match (policy.policy_type(), content.path) {
                    (PolicyType::ContextRef, Some(path)) if self.mode == Mode::Strict => {
                        compiled.references(policy, &Item::new(path), field(), &mut out);
                    }
                    (PolicyType::Content, _) => {
                        compiled.texts(policy, &Item::new(content.text), field, &mut out);
                    }
                    _ => {}
                }
            }
        }
        Verdict { violations: out }
    }
}

impl Compiled {
    fn new(mode: Mode, policy: &Policy, allow: &[String]) -> Self {
        let matching = policy.explicit_matching();
        let exact = matching.is_none() && mode == Mode::Specified;
        let is_reference = policy.policy_type() == PolicyType::ContextRef;
        let mut paths = Vec::new();
        let mut literals = Vec::new();
        let mut expressions = Vec::new();
        for (index, pattern) in policy.patterns().iter().enumerate() {
            match matching {
                Some(Matching::Regex) => expressions.push(index),
                Some(Matching::Path) => match PathPattern::new(pattern.written()) {
                    Some(path) => paths.push((index, path)),
                    None => paths.extend(PathPattern::anywhere(pattern.written()).map(|path| (index, path))),
                },
                Some(Matching::Word) => literals.push((index, pattern.written(), true)),
                Some(Matching::Substring) => literals.push((index, pattern.written(), false)),
                None if exact => {}
                None if is_reference => match PathPattern::new(pattern.written()) {
                    Some(path) => paths.push((index, path)),
                    None => literals.push((index, pattern.written(), false)),
                },
                None => literals.push((index, pattern.written(), true)),
            }
        }
        let allowed = allow.iter().chain(policy.allowed());
        let texts = |(index, text): (usize, &'_ String)| (index, text.clone());
        let allowed: Vec<(usize, String)> = allowed.enumerate().map(texts).collect();
        let allowed_paths = if is_reference {
            let texts = policy.allowed().iter();
            texts.filter_map(|text| PathPattern::new(text).or_else(|| PathPattern::anywhere(text))).collect()
        } else {
            Vec::new()
        };
        let only = (!policy.only_places().is_empty()).then(|| {
            let named = format!("outside {}", policy.only_places().join(", "));
            (Places::new(policy.only_places()), Arc::from(named))
        });
        Compiled {
            exact,
            sieve: if exact { sieve(policy, is_reference) } else { None },
            literals: Literals::new(literals),
            paths,
            expressions,
            allowed: Literals::new(allowed.iter().map(|(index, text)| (*index, text.as_str(), true))),
            allowed_paths,
            only,
        }
    }

    /// Judges a text that is searched for keywords.
    fn texts(&self, policy: &Policy, item: &Item<'_>, field: impl Fn() -> Field, out: &mut Vec<Violation>) {
        if self.exact {
            // Outside ASCII, letter case depends on more than one letter at a time.
            if item.text.is_ascii() && self.is_clean(item.text) {
                return;
            }
            out.extend(policy.patterns().iter().filter_map(|pattern| {
                let range = item.lowered().find(pattern.lowered())?;
                Some(Violation::new(policy, field(), pattern, item.text, range))
            }));
            return;
        }
        let hits = self.hits(policy, item);
        self.report(policy, item, hits, field, out);
    }

    /// Judges a text that is a reference.
    fn references(&self, policy: &Policy, item: &Item<'_>, field: Field, out: &mut Vec<Violation>) {
        if self.exact && self.is_clean(item.text) {
            // Nothing to report but what lies outside the allowed places.
        } else if self.exact {
            out.extend(policy.patterns().iter().filter_map(|pattern| {
                let start = item.text.find(pattern.written())?;
                let range = start..start + pattern.written().len();
                Some(Violation::new(policy, field.clone(), pattern, item.text, range))
            }));
        } else {
            let mut hits = self.hits(policy, item);
            let whole = 0..item.text.len();
            let under = self.paths.iter().filter(|(_, path)| path.matches(item.paths(), &self.allowed_paths));
            hits.extend(under.map(|(index, _)| (*index, whole.clone())));
            self.report(policy, item, hits, || field.clone(), out);
        }
        if let Some((places, named)) = &self.only
            && matches!(ContextRef::parse(item.text), ContextRef::File(_) | ContextRef::Raw(_))
            && !places.hold(item.paths())
        {
            out.push(Violation::of(policy, field, Arc::clone(named), item.text, 0..item.text.len()));
        }
    }

    /// Whether the sieve shows that no pattern is in the text.
    fn is_clean(&self, text: &str) -> bool {
        self.sieve.as_ref().is_some_and(|sieve| !sieve.is_match(text))
    }

    /// The hits of literals and expressions outside what is allowed.
    fn hits(&self, policy: &Policy, item: &Item<'_>) -> Vec<(usize, Range<usize>)> {
        if self.literals.is_empty() && self.expressions.is_empty() {
            return Vec::new();
        }
        let prepared = item.prepared();
        let mut hits = Vec::new();
        self.literals.find_each(prepared, |pattern, range| hits.push((pattern, range)));
        hits.extend(self.expressions.iter().filter_map(|index| {
            let expression = policy.patterns().get(*index)?.expression()?;
            Some((*index, prepared.find(expression)?))
        }));
        if hits.is_empty() || self.allowed.is_empty() {
            return hits;
        }
        let mut allowed = Vec::new();
        self.allowed.find_each(prepared, |_, range| allowed.push(range));
        let inside = |range: &Range<usize>| {
            allowed.iter().any(|allowed| allowed.start <= range.start && range.end <= allowed.end)
        };
        hits.retain(|(_, range)| !inside(range));
        hits
    }

    /// The first hit of each pattern, in pattern order.
    fn report(
        &self,
        policy: &Policy,
        item: &Item<'_>,
        mut hits: Vec<(usize, Range<usize>)>,
        field: impl Fn() -> Field,
        out: &mut Vec<Violation>,
    ) {
        hits.sort_by_key(|(pattern, range)| (*pattern, range.start));
        hits.dedup_by_key(|(pattern, _)| *pattern);
        for (index, range) in hits {
            if let Some(pattern) = policy.patterns().get(index) {
                out.push(Violation::new(policy, field(), pattern, item.text, range));
            }
        }
    }
}

/// The patterns of an exact policy as one automaton: references as they are, keywords in any letter case.
fn sieve(policy: &Policy, is_reference: bool) -> Option<AhoCorasick> {
    let patterns = policy.patterns().iter();
    let patterns = patterns.map(|pattern| if is_reference { pattern.written() } else { pattern.lowered() });
    AhoCorasick::builder().ascii_case_insensitive(!is_reference).build(patterns).ok()
}

/// The violation of a bound, if it is broken.
fn broken(policy: &Policy, bounds: &Bounds, ir: &PromptIr) -> Option<Violation> {
    let value: Number = match bounds.quantity {
        Quantity::TokenBudget => ir.token_budget.number().clone(),
        Quantity::Priority => Number::Int(i64::from(ir.priority.get())),
        Quantity::TemperatureHint => ir.temperature_hint.number().clone(),
        Quantity::ContextRefs => Number::from(ir.context_refs.len() as u64),
        Quantity::Constraints => Number::from(ir.constraints.len() as u64),
    };
    let breaks = |limit: &Option<Number>, wrong: Ordering, word: &str| {
        let limit = limit.as_ref()?;
        (value.compare(limit) == Some(wrong)).then(|| format!("{word} {}", printed(limit)))
    };
    let reason = breaks(&bounds.minimum, Ordering::Less, "below")
        .or_else(|| breaks(&bounds.maximum, Ordering::Greater, "above"))?;
    let item = printed(&value);
    Some(Violation::of(policy, Field::Quantity(bounds.quantity), reason.into(), &item, 0..item.len()))
}

fn printed(number: &Number) -> String {
    Value::Number(number.clone()).to_string()
}
