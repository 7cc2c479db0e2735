//! Traces of requests in the manner of real clients, made up from seeds: times, sessions and bodies.
//!
//! Each kind has what makes caching hard for it: loops that grow, scaffolds that are shared, retrieved text
//! that changes, agents side by side, tools that come and go, clocks, pauses, single requests, wide turns,
//! several models in one stream, edited histories and clients that mark for themselves. The last kind draws
//! everything from its seed.

mod body;
mod clients;
mod kinds;
mod paces;
mod varied;

use super::random::Random;
pub(crate) use body::Wire;

/// One request of a trace.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) time: f64,
    pub(crate) session: Option<String>,
    pub(crate) body: String,
}

/// A kind of trace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    make: fn(&mut Random, Wire) -> Vec<Line>,
}

pub(crate) static KINDS: &[Kind] = &[
    Kind { name: "coding-agent", make: kinds::coding_agent },
    Kind { name: "support-chats", make: kinds::support_chats },
    Kind { name: "changing-retrieval", make: kinds::changing_retrieval },
    Kind { name: "parallel-agents", make: kinds::parallel_agents },
    Kind { name: "tool-churn", make: kinds::tool_churn },
    Kind { name: "clocks", make: kinds::clocks },
    Kind { name: "long-pauses", make: kinds::long_pauses },
    Kind { name: "single-requests", make: kinds::single_requests },
    Kind { name: "wide-turns", make: kinds::wide_turns },
    Kind { name: "client-marks", make: kinds::client_marks },
    Kind { name: "growing-chats", make: paces::growing_chats },
    Kind { name: "minute-pauses", make: paces::minute_pauses },
    Kind { name: "hour-pauses", make: paces::hour_pauses },
    Kind { name: "shared-scaffold", make: paces::shared_scaffold },
    Kind { name: "short-questions", make: paces::short_questions },
    Kind { name: "small-bodies", make: paces::small_bodies },
    Kind { name: "mixed-models", make: clients::mixed_models },
    Kind { name: "client-lifetimes", make: clients::client_lifetimes },
    Kind { name: "client-pauses", make: clients::client_pauses },
    Kind { name: "tools-reordered", make: clients::tools_reordered },
    Kind { name: "huge-tools", make: clients::huge_tools },
    Kind { name: "edited-histories", make: clients::edited_histories },
    Kind { name: "varied", make: varied::varied },
];

impl Kind {
    /// The lines of the trace, by time.
    pub(crate) fn lines(&self, seed: u64, wire: Wire) -> Vec<Line> {
        let mut random = Random::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(self.name.len() as u64));
        let mut lines = (self.make)(&mut random, wire);
        lines.sort_by(|left, right| left.time.total_cmp(&right.time));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_trace_again_and_another_seed_another() {
        for kind in KINDS {
            let lines = kind.lines(1, Wire::Anthropic);
            assert_eq!(lines, kind.lines(1, Wire::Anthropic), "{}", kind.name);
            assert_ne!(lines, kind.lines(2, Wire::Anthropic), "{}", kind.name);
            assert!(lines.len() >= 10, "{} has {} requests", kind.name, lines.len());
            for line in lines.iter().chain(&kind.lines(1, Wire::OpenAi)) {
                assert!(stave_canon::parse(&line.body).is_ok(), "{}", kind.name);
            }
        }
    }
}
