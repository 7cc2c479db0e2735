//! Making sections fit a token budget.
//!
//! The least important droppable section is shortened or left out first. Among equals, the last one of
//! the context goes first and the oldest turn of the history goes first. A short value in a template is never
//! cut: it is in a sentence of the author's, which would say something else without it.

use std::fmt;

use thiserror::Error;

use super::{Section, SectionKind};

/// Marks where a section was shortened.
const SHORTENED: &str = "\n[... shortened to fit the token budget]";

/// A rest of fewer tokens than this says too little to be worth sending.
const LEAST_USEFUL_TOKENS: u64 = 16;

/// Counts tokens as the model that is asked counts them.
#[derive(Clone, Copy)]
pub struct TokenCounter<'c> {
    count: &'c dyn Fn(&str) -> u64,
    /// What a section costs beside its text: separators and message frames.
    per_section: u64,
    /// The most tokens that a text of so many bytes can be.
    ceiling: Option<fn(usize) -> u64>,
}

/// Something that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The section's place before anything was left out.
    pub section: usize,
    pub kind: SectionKind,
    pub name: String,
    /// The reference whose text a source gave.
    pub reference: Option<String>,
    pub reason: CutReason,
    pub tokens_before: u64,
    /// 0 when the whole section was left out.
    pub tokens_after: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutReason {
    /// The token budget.
    Budget,
    /// The specified limit of characters of one file.
    FileLimit,
}

/// Sections that keep a budget.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    pub sections: Vec<Section>,
    pub tokens: u64,
    pub cuts: Vec<Cut>,
}

/// What must not be cut already exceeds the budget.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the prompt needs at least {needed} tokens and its budget is {budget}")]
pub struct OverBudget {
    pub needed: u64,
    pub budget: u64,
    /// The sections that must not be cut, by name, with their tokens.
    pub fixed: Vec<(String, u64)>,
}

impl CutReason {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            CutReason::Budget => "budget",
            CutReason::FileLimit => "file_limit",
        }
    }
}

impl<'c> TokenCounter<'c> {
    #[must_use]
    pub fn new(count: &'c dyn Fn(&str) -> u64) -> Self {
        TokenCounter { count, per_section: 0, ceiling: None }
    }

    /// Counts `tokens` more for each section.
    #[must_use]
    pub fn per_section(self, tokens: u64) -> Self {
        TokenCounter { per_section: tokens, ..self }
    }

    /// Says how many tokens a text of so many bytes is at most, so that a prompt far below its budget
    /// need not be counted to be known to keep it.
    #[must_use]
    pub fn ceiling(self, ceiling: fn(usize) -> u64) -> Self {
        TokenCounter { ceiling: Some(ceiling), ..self }
    }

    /// The most tokens that texts of so many bytes in so many sections can be, if that is known.
    pub(super) fn at_most(&self, bytes: usize, sections: usize) -> Option<u64> {
        let frames = self.per_section.saturating_mul(sections as u64);
        self.ceiling.map(|ceiling| ceiling(bytes).saturating_add(frames))
    }

    #[must_use]
    pub fn count(&self, text: &str) -> u64 {
        (self.count)(text)
    }

    pub(super) fn cost(&self, text: &str) -> u64 {
        self.count(text).saturating_add(self.per_section)
    }
}

impl fmt::Debug for TokenCounter<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("TokenCounter").field("per_section", &self.per_section).finish_non_exhaustive()
    }
}

/// Shortens and leaves out droppable sections until the budget is kept.
pub fn fit(sections: Vec<Section>, budget: u64, counter: &TokenCounter<'_>) -> Result<Fitted, OverBudget> {
    let mut tokens = 0_u64;
    let mut sections: Vec<(Option<Section>, u64)> = sections
        .into_iter()
        .map(|section| {
            let cost = counter.cost(&section.text);
            tokens = tokens.saturating_add(cost);
            (Some(section), cost)
        })
        .collect();
    let mut cuts = Vec::new();
    for index in cutting_order(&sections, counter) {
        let over = tokens.saturating_sub(budget);
        if over == 0 {
            break;
        }
        let Some((slot, cost)) = sections.get_mut(index) else { continue };
        let Some(section) = slot.take() else { continue };
        *slot = shorten(&section, cost.saturating_sub(over), counter);
        let tokens_before = *cost;
        *cost = slot.as_ref().map_or(0, |shortened| counter.cost(&shortened.text));
        tokens = tokens.saturating_sub(tokens_before).saturating_add(*cost);
        cuts.push(Cut {
            section: index,
            kind: section.cut_as,
            name: section.name,
            reference: section.reference,
            reason: CutReason::Budget,
            tokens_before,
            tokens_after: *cost,
        });
    }
    if tokens > budget {
        let fixed = sections.into_iter().filter_map(|(section, cost)| Some((section?.name, cost))).collect();
        return Err(OverBudget { needed: tokens, budget, fixed });
    }
    cuts.sort_by_key(|cut| cut.section);
    Ok(Fitted { sections: sections.into_iter().filter_map(|(section, _)| section).collect(), tokens, cuts })
}

/// Puts back what was cut and fits after all, the most important first, until something does not fit whole. What is
/// left out in several rounds may be more than the budget asks for.
pub(super) fn put_back(
    original: &[Section],
    fitted: Fitted,
    budget: u64,
    counter: &TokenCounter<'_>,
    whole: &dyn Fn(&[Section]) -> u64,
) -> Fitted {
    let Fitted { sections, tokens, mut cuts } = fitted;
    let mut order: Vec<(Option<Section>, u64)> =
        original.iter().map(|section| (Some(section.clone()), counter.cost(&section.text))).collect();
    let is_left_out =
        |cuts: &[Cut], index: usize| cuts.iter().any(|cut| cut.section == index && cut.tokens_after == 0);
    let mut kept = sections.into_iter();
    let mut slots: Vec<Option<Section>> =
        (0..original.len()).map(|index| if is_left_out(&cuts, index) { None } else { kept.next() }).collect();
    let mut tokens = tokens;
    let mut last_first = cutting_order(&order, counter);
    last_first.reverse();
    for index in last_first {
        let Some(at) = cuts.iter().position(|cut| cut.section == index) else { continue };
        let Some((Some(section), cost)) = order.get_mut(index).map(|(section, cost)| (section.take(), *cost))
        else {
            break;
        };
        let before = slots.get_mut(index).and_then(Option::take);
        let rest: Vec<Section> = slots.iter().flatten().cloned().collect();
        let used = rest.iter().fold(0_u64, |sum, section| sum.saturating_add(counter.cost(&section.text)));
        let measured = |with: &Section| {
            let mut all = slots.clone();
            if let Some(slot) = all.get_mut(index) {
                *slot = Some(with.clone());
            }
            let all: Vec<Section> = all.into_iter().flatten().collect();
            used.saturating_add(counter.cost(&with.text)).max(whole(&all))
        };
        if used.saturating_add(cost) <= budget && measured(&section) <= budget {
            tokens = measured(&section);
            if let Some(slot) = slots.get_mut(index) {
                *slot = Some(section);
            }
            cuts.remove(at);
            continue;
        }
        // It stays cut; what is left of it is as much as fits.
        let shortened = match before {
            Some(before) => Some(before),
            None => shorten(&section, budget.saturating_sub(used), counter)
                .filter(|shortened| measured(shortened) <= budget)
                .inspect(|shortened| tokens = measured(shortened)),
        };
        if let (Some(cut), Some(shortened)) = (cuts.get_mut(at), &shortened) {
            cut.tokens_after = counter.cost(&shortened.text);
        }
        if let Some(slot) = slots.get_mut(index) {
            *slot = shortened;
        }
        break;
    }
    Fitted { sections: slots.into_iter().flatten().collect(), tokens, cuts }
}

/// Whether a section may be shortened or left out. A short value in a template may not.
pub(super) fn may_be_cut(section: &Section, cost: u64, counter: &TokenCounter<'_>) -> bool {
    let is_value = section.kind == SectionKind::Input;
    section.droppable && !(is_value && cost.saturating_sub(counter.per_section) < LEAST_USEFUL_TOKENS)
}

/// The sections that may be cut, first to go first.
fn cutting_order(sections: &[(Option<Section>, u64)], counter: &TokenCounter<'_>) -> Vec<usize> {
    let droppable = sections.iter().enumerate().filter_map(|(index, (section, cost))| {
        let section = section.as_ref().filter(|section| may_be_cut(section, *cost, counter))?;
        let age = if section.cut_as == SectionKind::History { index } else { usize::MAX - index };
        Some((section.priority, age, index))
    });
    let mut order: Vec<_> = droppable.collect();
    order.sort_unstable();
    order.into_iter().map(|(_, _, index)| index).collect()
}

/// The section with as much of its content as costs at most `allowance`, or `None` when that is too
/// little to be useful. A turn of the history is never shortened, since half a turn misleads; a value in a template that
/// holds a whole history is.
fn shorten(section: &Section, allowance: u64, counter: &TokenCounter<'_>) -> Option<Section> {
    if section.kind == SectionKind::History || allowance < LEAST_USEFUL_TOKENS {
        return None;
    }
    let opening = section.text.get(..section.body.start)?;
    let body = section.text.get(section.body.clone())?;
    let closing = section.text.get(section.body.end..)?;
    let with = |kept: &str| format!("{opening}{kept}{SHORTENED}{closing}");
    let fits = |kept: &str| counter.cost(&with(kept)) <= allowance;
    // The longest prefix that fits, by halving; counters are monotone enough for that, and the result is
    // checked again below.
    let (mut low, mut high) = (0, body.len());
    while low < high {
        let middle = body.ceil_char_boundary(low + (high - low).div_ceil(2));
        if body.get(..middle).is_some_and(fits) {
            low = middle;
        } else {
            high = body.floor_char_boundary(middle.saturating_sub(1));
        }
    }
    let prefix = body.get(..low)?;
    // Whole lines read better, unless that would cost half of what fits.
    let kept = match prefix.rfind('\n') {
        Some(newline) if newline >= prefix.len() / 2 => prefix.get(..newline)?,
        _ => prefix,
    };
    if !fits(kept) || counter.count(kept) < LEAST_USEFUL_TOKENS {
        return None;
    }
    let text = with(kept);
    Some(Section { body: opening.len()..opening.len() + kept.len(), text, ..section.clone() })
}
