//! The positions that are worth considering for a mark, and how likely each is to be asked for again.

use crate::{MarkedRules, Measured, PositionKind, PromptRole, WirePrompt};

use super::belief::{Chance, LayerKey, Place, first_guess};
use super::choose::Candidate;
use super::{PlanRequest, Planner, profile, shape_at};

/// The most candidates that are compared.
const MOST: usize = 12;
/// How many places where requests parted are considered.
const BRANCHES: usize = 3;
/// What a clock or an id in the system text leaves of the chance that it is sent again as it is.
const VOLATILE: f64 = 0.15;
/// How likely, at the least, a conversation that ends is followed by one that shares its instructions.
const SHARED: f64 = 0.02;
/// How likely, at the least, a conversation is taken up again before its end.
const FORKED: f64 = 0.005;
/// The least chance that is assumed, before anything is known, for what the client marked itself.
const CLIENT: f64 = 0.3;

/// How far a provider's count of tokens may be off from ours, as a part of it.
const MARGIN: f64 = 0.06;

/// The fewest tokens of ours at which a provider is sure to take a mark or, for what the client marked,
/// at which it may.
pub(super) fn least_tokens(minimum: u64, is_client: bool) -> u64 {
    let factor = if is_client { 1.0 - MARGIN } else { 1.0 + MARGIN };
    (minimum as f64 * factor) as u64
}

/// The positions that guesses are learned from, in wire order: the ends of the tools, of the system text, of
/// the message before the last, and of the request.
pub(super) fn places(wire: &WirePrompt) -> Vec<(Place, usize)> {
    let last_of = |wanted: &dyn Fn(usize) -> bool| {
        (0..wire.positions.len()).rev().find(|index| wire.positions[*index].markable && wanted(*index))
    };
    let last_message = wire.positions.last().and_then(|position| position.message);
    let tools = last_of(&|index| wire.positions[index].kind == PositionKind::Tool);
    let system = last_of(&|index| {
        let position = &wire.positions[index];
        position.message.is_none() && position.kind != PositionKind::Tool
    });
    let history = last_message.and_then(|last| {
        last_of(&|index| wire.positions[index].message.is_some_and(|message| message < last))
    });
    let tail = last_of(&|_| true);
    let mut places: Vec<(Place, usize)> = [
        tools.map(|index| (Place::Tools, index)),
        system.map(|index| (Place::System, index)),
        history.map(|index| (Place::History, index)),
    ]
    .into_iter()
    .flatten()
    .collect();
    // An end that is the end of the request too counts as that.
    places.retain(|(_, index)| Some(*index) != tail);
    places.extend(tail.map(|index| (Place::Tail, index)));
    places
}

/// The last of the tools that come before those of connected servers, whose names begin with the server's, or
/// of the first half when all have names of one kind.
fn first_tools(wire: &WirePrompt, body: &str) -> Option<usize> {
    let count = wire.positions.iter().take_while(|position| position.kind == PositionKind::Tool).count();
    let server = |index: usize| {
        let (_, name) = body[wire.positions[index].range.clone()].split_once("\"name\"")?;
        let name = name.split('"').nth(1)?;
        name.rsplit_once("__").map(|(server, _)| server)
    };
    if count < 2 {
        return None;
    }
    let first = server(0);
    let end = (1..count).find(|index| server(*index) != first).unwrap_or(count.div_ceil(2));
    Some(end - 1)
}

impl Planner {
    /// The candidates of a request of which the first `known` positions were seen before, in wire order.
    pub(super) fn candidates(
        &self,
        request: &PlanRequest<'_>,
        measured: &Measured,
        rules: &MarkedRules,
        profile: u64,
        known: usize,
    ) -> Vec<Candidate> {
        let PlanRequest { wire, now, .. } = *request;
        let places = places(wire);
        let positions = self.positions(request, measured, &places, known);
        let volatile = if known < wire.positions.len() {
            profile::first_volatile(wire, request.body, known)
        } else {
            None
        };
        let is_readable = |prefix| {
            self.nodes.get(prefix).and_then(|node| node.entry).is_some_and(|entry| entry.is_readable(now))
        };
        let mut candidates: Vec<Candidate> = positions
            .into_iter()
            .map(|position| Candidate {
                position,
                tokens: measured.tokens[position],
                chance: self.chance(request, measured, profile, known, &places, position, volatile),
                reads: measured.found_from(position, rules, is_readable).map_or(0, |at| measured.tokens[at]),
                live: position < known && is_readable(measured.prefixes[position]),
                shared: wire.positions[position].message.is_none()
                    || self.nodes.get(measured.prefixes[position]).is_some_and(|node| node.branched),
                client: wire.client_marks().iter().find(|(at, _)| *at == position).map(|(_, ttl)| *ttl),
            })
            .filter(|candidate| {
                candidate.tokens >= least_tokens(measured.minimum, candidate.client.is_some())
            })
            .collect();
        // Reads that were expected and not counted make all others less likely.
        let trust = self.trust.get(profile).map_or(1.0, |trust| trust.factor());
        for candidate in &mut candidates {
            candidate.chance = candidate.chance.scaled(trust);
        }
        // A request for a longer prefix asks for the shorter one too, and other requests may.
        let mut deeper = Chance { short: 0.0, long: 0.0 };
        for candidate in candidates.iter_mut().rev() {
            candidate.chance = candidate.chance.max(deeper);
            let is_scaffold = wire.positions[candidate.position].message.is_none();
            deeper = candidate.chance.raised(if is_scaffold { SHARED } else { FORKED });
        }
        candidates
    }

    fn positions(
        &self,
        request: &PlanRequest<'_>,
        measured: &Measured,
        places: &[(Place, usize)],
        known: usize,
    ) -> Vec<usize> {
        let PlanRequest { wire, body, now, .. } = *request;
        let markable = |index: usize| wire.positions[index].markable;
        let node = |index: usize| self.nodes.get(measured.prefixes[index]);
        let mut chosen: Vec<usize> = places.iter().map(|(_, index)| *index).collect();
        let client = wire.client_marks();
        // A mark that the provider refuses helps nobody, the client's own included.
        let allowed = |kind: PositionKind, index: usize| markable(index) || kind == PositionKind::Other;
        chosen.extend(
            client
                .iter()
                .map(|(index, _)| *index)
                .filter(|index| allowed(wire.positions[*index].kind, *index)),
        );
        // The deepest entry, and the end of what was seen before.
        let live = (0..known).rev().find(|index| {
            let entry = node(*index).and_then(|node| node.entry);
            markable(*index) && entry.is_some_and(|entry| now < entry.expires)
        });
        chosen.extend(live);
        chosen.extend((0..known).rev().find(|index| markable(*index)));
        // Where requests parted before.
        let branched = |index: &usize| node(*index).is_some_and(|node| node.branched);
        let branches = (0..known).rev().filter(branched);
        chosen.extend(branches.filter_map(|index| (0..=index).rev().find(|at| markable(*at))).take(BRANCHES));
        // The first of several system texts is the one that is most often the same.
        let system = |index: &usize| {
            let position = &wire.positions[*index];
            position.message.is_none() && position.kind == PositionKind::Text && position.markable
        };
        chosen.extend((0..wire.positions.len()).find(system));
        // The tools that come first, which stay when others come and go.
        chosen.extend(first_tools(wire, body).filter(|index| markable(*index)));
        // The first message, which conversations that fork have in common.
        let first = |index: &usize| {
            wire.positions[*index].message == Some(0)
                && wire.positions[*index].role == PromptRole::User
                && markable(*index)
        };
        chosen.extend((0..wire.positions.len()).rev().find(first));
        let mut kept = Vec::with_capacity(MOST);
        for index in chosen {
            if !kept.contains(&index) && kept.len() < MOST {
                kept.push(index);
            }
        }
        kept.sort_unstable();
        kept
    }

    #[expect(clippy::too_many_arguments, reason = "all of it describes the one position")]
    fn chance(
        &self,
        request: &PlanRequest<'_>,
        measured: &Measured,
        profile: u64,
        known: usize,
        places: &[(Place, usize)],
        position: usize,
        volatile: Option<usize>,
    ) -> Chance {
        let PlanRequest { wire, now, .. } = *request;
        // The nearest place at or after the position: what comes back to that comes back to this.
        let place =
            places.iter().find(|(_, index)| *index >= position).map_or(Place::Tail, |(place, _)| *place);
        let shape = shape_at(place, wire);
        let mut start = first_guess(place, shape);
        if wire.positions[position].mark.is_some() {
            start = start.max(Chance::new(CLIENT));
        }
        if volatile.is_some_and(|volatile| position >= volatile) {
            start = start.scaled(VOLATILE);
        }
        for profile in [0, profile] {
            if let Some(layer) = self.layers.get(LayerKey { profile, place, shape }) {
                start = layer.chance(start, now);
            }
        }
        if position < known {
            let gaps = self.nodes.get(measured.prefixes[position]).map_or([0.0; 3], |node| node.gaps);
            let [short, medium, never] = gaps.map(f64::from);
            return start.after(short, medium, never);
        }
        if place == Place::Tail {
            let [short, medium] = self.lineage(wire, measured, known).map(f64::from);
            return start.after(short, medium, 0.0);
        }
        start
    }
}
