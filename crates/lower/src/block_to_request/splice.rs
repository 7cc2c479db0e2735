//! A plan becomes splices into the body it was made for. Everything else keeps its bytes.
//!
//! Invariant: taking the splices back gives the original body, byte for byte.

use std::ops::Range;

use stave_block::{CachePlan, Position, Ttl, WirePrompt};

/// One replaced stretch of a body. An insertion replaces an empty stretch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    pub range: Range<usize>,
    pub text: String,
}

/// A body with its splices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spliced {
    pub body: String,
    /// By place in the original body.
    pub splices: Vec<Splice>,
}

/// Applies a plan to the body that `wire` was read from.
#[must_use]
pub fn splice_plan(body: &str, wire: &WirePrompt, plan: &CachePlan) -> Spliced {
    Spliced::new(body, plan_splices(body, wire, plan))
}

/// The splices that apply a plan to the body that `wire` was read from.
#[must_use]
pub fn plan_splices(body: &str, wire: &WirePrompt, plan: &CachePlan) -> Vec<Splice> {
    let mut splices = Vec::new();
    let automatic = automatic_stays(wire, plan);
    if let (Some(mark), None) = (&wire.automatic_mark, automatic) {
        splices.push(Splice { range: mark.member.clone(), text: String::new() });
    }
    splices.extend(
        wire.surplus_marks.iter().map(|mark| Splice { range: mark.member.clone(), text: String::new() }),
    );
    for (index, position) in wire.positions.iter().enumerate() {
        let planned = plan.marks.iter().find(|(at, _)| *at == index).map(|(_, ttl)| *ttl);
        if automatic == Some(index) {
            continue;
        }
        match (planned, &position.mark) {
            (None, None) => {}
            (None, Some(mark)) => {
                splices.push(Splice { range: mark.member.clone(), text: String::new() });
            }
            (Some(ttl), Some(mark)) if mark.ttl == ttl => {}
            (Some(ttl), Some(mark)) => {
                splices.push(Splice { range: mark.value.clone(), text: ttl.cache_control().to_owned() });
            }
            (Some(ttl), None) => insert_mark(body, position, ttl, &mut splices),
        }
    }
    if let Some(key) = plan.cache_key.as_ref().filter(|_| wire.cache_key.is_none()) {
        let comma = if wire.body_is_empty { "" } else { "," };
        let key = stave_canon::Value::from(key.as_str());
        let text = format!("\"prompt_cache_key\":{key}{comma}");
        splices.push(Splice { range: wire.body_start..wire.body_start, text });
    }
    splices
}

/// The position whose planned mark the automatic one already is.
fn automatic_stays(wire: &WirePrompt, plan: &CachePlan) -> Option<usize> {
    let mark = wire.automatic_mark.as_ref()?;
    let last = wire.last_markable()?;
    let free = wire.positions[last].mark.is_none();
    (free && plan.marks.contains(&(last, mark.ttl))).then_some(last)
}

fn insert_mark(body: &str, position: &Position, ttl: Ttl, splices: &mut Vec<Splice>) {
    let Range { start, end } = position.range;
    let mark = format!("\"cache_control\":{}", ttl.cache_control());
    if position.bare {
        splices.push(Splice { range: start..start, text: "[{\"type\":\"text\",\"text\":".to_owned() });
        splices.push(Splice { range: end..end, text: format!(",{mark}}}]") });
        return;
    }
    // Right after the last member, so that the white space before the brace stays before the brace.
    let inside = body[start..end].strip_suffix('}').map_or("", str::trim_end);
    let comma = if inside == "{" { "" } else { "," };
    let at = start + inside.len();
    splices.push(Splice { range: at..at, text: format!("{comma}{mark}") });
}

impl Spliced {
    /// Makes splices that do not overlap, in any order.
    #[must_use]
    pub fn new(body: &str, mut splices: Vec<Splice>) -> Self {
        splices.sort_by_key(|splice| (splice.range.start, splice.range.end));
        let added: usize = splices.iter().map(|splice| splice.text.len()).sum();
        let mut spliced = String::with_capacity(body.len() + added);
        let mut at = 0;
        for splice in &splices {
            debug_assert!(splice.range.start >= at, "splices overlap");
            spliced.push_str(&body[at..splice.range.start]);
            spliced.push_str(&splice.text);
            at = splice.range.end;
        }
        spliced.push_str(&body[at..]);
        Spliced { body: spliced, splices }
    }

    /// The splices that turn the spliced body into the original again.
    #[must_use]
    pub fn inverse(&self, original: &str) -> Vec<Splice> {
        let mut shift = 0_isize;
        self.splices
            .iter()
            .map(|splice| {
                let start = splice.range.start.saturating_add_signed(shift);
                shift += splice.text.len() as isize - splice.range.len() as isize;
                Splice {
                    range: start..start + splice.text.len(),
                    text: original[splice.range.clone()].to_owned(),
                }
            })
            .collect()
    }
}
