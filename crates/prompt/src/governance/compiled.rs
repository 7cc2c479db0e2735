//! One policy, ready to search a text for all that it forbids.

use std::cell::{Cell, OnceCell};
use std::ops::Range;
use std::sync::Arc;

use super::lowered::Lowered;
use super::policy::{Matching, Policy, PolicyType};
use super::prefilter::{Form, Prefilter};
use super::strict::{Literals, PathPattern, Paths, Places, Prepared, letters_and_figures};
use super::{MatchMode, PromptField, Violation};
use crate::ContextRef;

/// One policy, ready to search.
#[derive(Debug)]
pub(super) struct Compiled {
    /// Whether texts are compared byte by byte, as specified.
    exact: bool,
    literals: Literals,
    paths: Vec<(usize, PathPattern)>,
    expressions: Vec<usize>,
    allowed: Literals,
    allowed_paths: Vec<PathPattern>,
    only: Option<(Places, Arc<str>)>,
}

/// A text that policies look at, with the forms that they ask for made once.
pub(super) struct Item<'t> {
    text: &'t str,
    lowered: OnceCell<Lowered<'t>>,
    prepared: OnceCell<Prepared<'t>>,
    paths: OnceCell<Paths>,
    /// Whether there is no more time to judge it; then nothing that was found counts.
    is_late: &'t dyn Fn() -> bool,
    was_late: Cell<bool>,
}

impl<'t> Item<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Item::until(text, &|| false)
    }

    /// A text that is judged as long as there is time.
    pub(super) fn until(text: &'t str, is_late: &'t dyn Fn() -> bool) -> Self {
        Item {
            text,
            lowered: OnceCell::new(),
            prepared: OnceCell::new(),
            paths: OnceCell::new(),
            is_late,
            was_late: Cell::new(false),
        }
    }

    /// Whether judging it ended before its time.
    pub(super) fn was_late(&self) -> bool {
        self.was_late.get()
    }

    /// Looks at the time.
    fn is_late(&self) -> bool {
        self.was_late.set(self.was_late.get() || (self.is_late)());
        self.was_late.get()
    }

    fn lowered(&self) -> &Lowered<'t> {
        self.lowered.get_or_init(|| Lowered::new(self.text))
    }

    /// The text ready to be searched; `None` once there is no more time.
    pub(super) fn prepared(&self) -> Option<&Prepared<'t>> {
        if self.prepared.get().is_none() {
            let prepared = Prepared::until(self.text, &|| self.is_late())?;
            return Some(self.prepared.get_or_init(|| prepared));
        }
        self.prepared.get()
    }

    fn paths(&self) -> &Paths {
        self.paths.get_or_init(|| Paths::of(self.text))
    }
}

/// The spellings of `rm` that removes recursively and asks nothing, as people write it.
const REMOVES: [&str; 12] = [
    "rm -rf",
    "rm -fr",
    "rm -r -f",
    "rm -f -r",
    "rm -rfv",
    "rm -frv",
    "rm -vrf",
    "rm -r --force",
    "rm -f --recursive",
    "rm --recursive -f",
    "rm --recursive --force",
    "rm --force --recursive",
];

/// Other spellings of a command in a list of words: flags have no order.
fn command_forms(written: &str) -> &'static [&'static str] {
    let plain: Vec<&str> = written.split_whitespace().collect();
    let plain = plain.join(" ").to_ascii_lowercase();
    if REMOVES.contains(&plain.as_str()) { &REMOVES } else { &[] }
}

impl Compiled {
    pub(super) fn new(mode: MatchMode, policy: &Policy, allow: &[String]) -> Self {
        let matching = policy.explicit_matching();
        let exact = matching.is_none() && mode == MatchMode::Specified;
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
                None => {
                    literals.push((index, pattern.written(), true));
                    let forms = command_forms(pattern.written()).iter();
                    literals.extend(forms.map(|form| (index, *form, true)));
                }
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
        let only = (is_reference && !policy.only_places().is_empty()).then(|| {
            let named = format!("outside {}", policy.only_places().join(", "));
            (Places::new(policy.only_places()), Arc::from(named))
        });
        Compiled {
            exact,
            literals: Literals::new(literals),
            paths,
            expressions,
            allowed: Literals::new(allowed.iter().map(|(index, text)| (*index, text.as_str(), true))),
            allowed_paths,
            only,
        }
    }

    /// Judges a text that is searched for keywords.
    pub(super) fn texts(
        &self,
        policy: &Policy,
        item: &Item<'_>,
        field: impl Fn() -> PromptField,
        out: &mut Vec<Violation>,
    ) {
        if self.exact {
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
    pub(super) fn references(
        &self,
        policy: &Policy,
        item: &Item<'_>,
        field: impl Fn() -> PromptField,
        out: &mut Vec<Violation>,
    ) {
        self.forbidden(policy, item, &field, out);
        if let Some((places, named)) = &self.only
            && matches!(ContextRef::parse(item.text), ContextRef::File(_) | ContextRef::Raw(_))
            && !places.hold(item.paths())
        {
            out.push(Violation::outside(policy, field(), Arc::clone(named), item.text));
        }
    }

    /// Judges where the content of a reference really lies. The only places that references may name are written from
    /// the project's root, so they are compared with the path from there.
    pub(super) fn real_path(
        &self,
        policy: &Policy,
        item: &Item<'_>,
        in_project: Option<&str>,
        field: impl Fn() -> PromptField,
        out: &mut Vec<Violation>,
    ) {
        let first = out.len();
        self.forbidden(policy, item, &field, out);
        out.iter_mut().skip(first).for_each(Violation::say_path);
        if let Some((places, named)) = &self.only
            && !places.hold(item.paths())
            && !in_project.is_some_and(|path| places.hold(&Paths::of(path)))
        {
            let found = in_project.unwrap_or(item.text);
            out.push(Violation::outside(policy, field(), Arc::clone(named), found));
        }
    }

    /// The forbidden texts and places in a reference or a path.
    fn forbidden(
        &self,
        policy: &Policy,
        item: &Item<'_>,
        field: &impl Fn() -> PromptField,
        out: &mut Vec<Violation>,
    ) {
        if self.exact {
            out.extend(policy.patterns().iter().filter_map(|pattern| {
                let start = find(item.text, pattern.written())?;
                let range = start..start + pattern.written().len();
                Some(Violation::new(policy, field(), pattern, item.text, range))
            }));
            return;
        }
        let mut hits = self.hits(policy, item);
        let whole = 0..item.text.len();
        let under = self.paths.iter().filter(|(_, path)| path.matches(item.paths(), &self.allowed_paths));
        hits.extend(under.map(|(index, _)| (*index, whole.clone())));
        self.report(policy, item, hits, field, out);
    }

    /// The hits of literals and expressions outside what is allowed.
    fn hits(&self, policy: &Policy, item: &Item<'_>) -> Vec<(usize, Range<usize>)> {
        if self.literals.is_empty() && self.expressions.is_empty() {
            return Vec::new();
        }
        let Some(prepared) = item.prepared() else { return Vec::new() };
        let mut hits = Vec::new();
        self.literals.find_each(prepared, |pattern, range| hits.push((pattern, range)));
        for index in &self.expressions {
            if item.is_late() {
                return Vec::new();
            }
            let expression = policy.patterns().get(*index).and_then(|pattern| pattern.expression());
            let found = expression.and_then(|expression| prepared.find(expression));
            hits.extend(found.map(|range| (*index, range)));
        }
        if hits.is_empty() || self.allowed.is_empty() {
            return hits;
        }
        let mut allowed = Vec::new();
        self.allowed.find_each(prepared, |_, range| allowed.push(range));
        // Of those that begin before a hit, the one that ends last can hold it.
        allowed.sort_unstable_by_key(|range: &Range<usize>| range.start);
        let mut last = 0;
        let ends: Vec<usize> = allowed
            .iter()
            .map(|range| {
                last = last.max(range.end);
                last
            })
            .collect();
        let inside = |range: &Range<usize>| {
            let before = allowed.partition_point(|allowed| allowed.start <= range.start);
            before.checked_sub(1).and_then(|at| ends.get(at)).is_some_and(|end| range.end <= *end)
        };
        let outside = |(index, range): (usize, Range<usize>)| {
            if !inside(&range) {
                return Some((index, range));
            }
            // An expression gave its first match only, so one that is allowed is no answer for the rest of the text.
            let expression = policy.patterns().get(index)?.expression()?;
            prepared.find_outside(expression, &inside).map(|range| (index, range))
        };
        hits.into_iter().filter_map(outside).collect()
    }

    /// The first hit of each pattern, in pattern order.
    fn report(
        &self,
        policy: &Policy,
        item: &Item<'_>,
        mut hits: Vec<(usize, Range<usize>)>,
        field: impl Fn() -> PromptField,
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

/// The prefilter of all policies of a kind, if one form of the texts serves them all.
pub(super) fn prefilter<'p>(
    policies: &mut dyn Iterator<Item = (&'p Policy, &'p Compiled)>,
    of_references: bool,
    mode: MatchMode,
) -> Option<Prefilter> {
    let form = match (mode, of_references) {
        (MatchMode::Strict, _) => Form::Letters,
        (MatchMode::Specified, true) => Form::Exact,
        (MatchMode::Specified, false) => Form::Lowered,
    };
    let mut needles = Vec::new();
    for (policy, compiled) in policies {
        if compiled.exact != (mode == MatchMode::Specified) || compiled.only.is_some() {
            return None;
        }
        match form {
            Form::Exact => needles.extend(policy.forbidden().map(str::to_owned)),
            Form::Lowered => {
                needles.extend(policy.patterns().iter().map(|pattern| pattern.lowered().to_owned()));
            }
            Form::Letters => {
                needles.extend_from_slice(compiled.literals.needles());
                needles.extend(compiled.paths.iter().filter_map(|(_, path)| path.needle()));
                if !compiled.expressions.is_empty() {
                    needles.extend(policy.known_needles()?.iter().map(|text| letters_and_figures(text)));
                }
            }
        }
    }
    Prefilter::new(form, &needles)
}

/// Where a text begins in another one. References are short, so that preparing a search would take longer.
fn find(text: &str, wanted: &str) -> Option<usize> {
    let (text, wanted) = (text.as_bytes(), wanted.as_bytes());
    match wanted.first() {
        None => Some(0),
        Some(first) => {
            let starts = 0..(text.len() + 1).checked_sub(wanted.len())?;
            starts.into_iter().find(|at| {
                text.get(*at) == Some(first) && text.get(*at..).is_some_and(|rest| rest.starts_with(wanted))
            })
        }
    }
}
