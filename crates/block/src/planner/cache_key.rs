//! The key that sends requests with the same beginning to the same machine of an automatic cache.
//!
//! One key for a scaffold, so that conversations share it; several when it is busier than one machine takes,
//! and then all requests of a conversation keep to one of them. The first key stays in use, so that those who
//! keep it stay warm.

use crate::{AutomaticRules, PositionKind, Surface};

use super::profile::{hash_text, profile};
use super::{PlanRequest, Planner};

/// How busy a scaffold is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Rate {
    minute: i64,
    count: u64,
    /// How many keys the scaffold is spread over; only ever grows, as each change starts cold.
    spread: u64,
}

const MOST_KEYS: u64 = 64;
/// How many times what one machine takes a scaffold is asked for before it is spread: a further key starts cold,
/// and a little that spills over costs less than that.
const SPILL: u64 = 2;

impl Planner {
    pub(super) fn cache_key(&mut self, request: &PlanRequest<'_>, rules: &AutomaticRules) -> Option<String> {
        let has_keys = matches!(request.wire.surface, Surface::OpenAiChat | Surface::OpenAiResponses);
        if !has_keys || request.wire.cache_key.is_some() {
            return None;
        }
        let profile = profile(request.wire, request.body);
        let minute = (request.now / 60.0).floor() as i64;
        let rate = self.rates.entry(profile, request.now, Rate::default);
        if rate.minute != minute {
            *rate = Rate { minute, count: 0, spread: rate.spread };
        }
        rate.count += 1;
        let wanted = rate.count.div_ceil(SPILL * rules.requests_per_minute.max(1));
        rate.spread = rate.spread.max(wanted.next_power_of_two().min(MOST_KEYS));
        let spread = rate.spread;
        let conversation = match request.session {
            Some(session) => hash_text(session),
            None => {
                let first = request.wire.positions.iter().find(|position| {
                    position.message.is_some()
                        && position.role == crate::PromptRole::User
                        && position.kind != PositionKind::ToolResult
                });
                first.map_or(0, |position| position.prefix as u64)
            }
        };
        Some(match conversation % spread {
            0 => format!("stave-{profile:016x}"),
            share => format!("stave-{profile:016x}-{share}"),
        })
    }
}
