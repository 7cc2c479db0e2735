//! The key that sends requests with the same beginning to the same machine of an automatic cache.
//!
//! One key for a scaffold, so that conversations share it; several when it is busier than one machine takes,
//! and then all requests of a conversation keep to one of them.

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

/// The part of a machine's capacity that is used before a scaffold is spread further.
const HEADROOM: f64 = 0.8;
const MOST_KEYS: u64 = 64;

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
        let wanted = rate.count as f64 / (rules.requests_per_minute as f64 * HEADROOM);
        rate.spread = rate.spread.max((wanted.ceil() as u64).next_power_of_two().min(MOST_KEYS));
        let spread = rate.spread;
        if spread <= 1 {
            return Some(format!("stave-{profile:016x}"));
        }
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
        Some(format!("stave-{profile:016x}-{}", conversation % spread))
    }
}
