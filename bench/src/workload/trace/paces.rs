//! Kinds of traces that differ in their pace: how long it takes until something is asked for again, if it is.

use super::super::random::Random;
use super::Line;
use super::body::{Draft, Message, Wire, text, tool};
use super::kinds::{line, step_of_loop, tools};

/// Conversations that grow quickly, one after another, of two to two dozen turns.
pub(super) fn growing_chats(random: &mut Random, wire: Wire) -> Vec<Line> {
    chats(random, wire, 8, &|random| 4.0 + random.below(110) as f64)
}

/// Conversations whose person answers at once or goes away for up to an hour.
pub(super) fn minute_pauses(random: &mut Random, wire: Wire) -> Vec<Line> {
    let one_in = 2 + random.below(5);
    chats(random, wire, 6, &|random| match random.below(one_in) {
        0 => 310.0 + random.below(3100) as f64,
        _ => 5.0 + random.below(200) as f64,
    })
}

/// Conversations whose person now and then comes back only after hours.
pub(super) fn hour_pauses(random: &mut Random, wire: Wire) -> Vec<Line> {
    let one_in = 2 + random.below(5);
    chats(random, wire, 6, &|random| match random.below(one_in) {
        0 => 3700.0 + random.below(20_000) as f64,
        _ => 5.0 + random.below(200) as f64,
    })
}

/// Many sessions of one or two questions over one long system text.
pub(super) fn shared_scaffold(random: &mut Random, wire: Wire) -> Vec<Line> {
    let mut lines = Vec::new();
    let words = 1500 + random.below(6000) as usize;
    let scaffold =
        Draft { tools: tools(6, 80, random), system: vec![text(words, random)], ..Draft::default() };
    let apart = 5 + random.below(150);
    let mut start = 0.0;
    for session in 0..50 {
        let mut draft = scaffold.clone();
        let mut time = start;
        for _ in 0..1 + random.below(2) {
            draft.messages.push(Message::User(text(20 + random.below(80) as usize, random)));
            lines.push(line(time, &format!("session-{session}"), &draft, wire));
            draft.messages.push(Message::Assistant(text(80, random)));
            time += 10.0 + random.below(60) as f64;
        }
        start += 1.0 + random.below(2 * apart) as f64;
    }
    lines
}

/// Single requests with a short system text in common, each about another document, with and without tools.
pub(super) fn short_questions(random: &mut Random, wire: Wire) -> Vec<Line> {
    let with_tools = random.below(2) == 0;
    let scaffold = Draft {
        tools: if with_tools { vec![tool("answer", 60, random)] } else { Vec::new() },
        system: vec![text(30 + random.below(200) as usize, random)],
        ..Draft::default()
    };
    let mut time = 0.0;
    let mut lines = Vec::new();
    for number in 0..50 {
        let mut draft = scaffold.clone();
        draft.messages.push(Message::User(text(300 + random.below(1600) as usize, random)));
        lines.push(line(time, &format!("question-{number}"), &draft, wire));
        time += 2.0 + random.below(60) as f64;
    }
    lines
}

/// Conversations that stay below what a provider caches, or come just above it.
pub(super) fn small_bodies(random: &mut Random, wire: Wire) -> Vec<Line> {
    let mut lines = Vec::new();
    let scaffold = Draft { system: vec![text(80 + random.below(200) as usize, random)], ..Draft::default() };
    let mut start = 0.0;
    for chat in 0..12 {
        let mut draft = scaffold.clone();
        let mut time = start;
        for _ in 0..1 + random.below(6) {
            draft.messages.push(Message::User(text(10 + random.below(40) as usize, random)));
            lines.push(line(time, &format!("chat-{chat}"), &draft, wire));
            draft.messages.push(Message::Assistant(text(20 + random.below(60) as usize, random)));
            time += 10.0 + random.below(60) as f64;
        }
        start += 30.0 + random.below(100) as f64;
    }
    lines
}

/// Conversations with one scaffold whose requests are `gap` apart, some of them with tool calls.
fn chats(random: &mut Random, wire: Wire, count: u64, gap: &dyn Fn(&mut Random) -> f64) -> Vec<Line> {
    let mut lines = Vec::new();
    let with_tools = random.below(2) == 0;
    let words = 800 + random.below(3000) as usize;
    let scaffold = Draft {
        tools: if with_tools { tools(8, 80, random) } else { Vec::new() },
        system: vec![text(words, random)],
        ..Draft::default()
    };
    let mut start = 0.0;
    for chat in 0..count {
        let mut draft = scaffold.clone();
        let mut time = start;
        for turn in 0..2 + random.below(22) {
            draft.messages.push(Message::User(text(20 + random.below(120) as usize, random)));
            lines.push(line(time, &format!("chat-{chat}"), &draft, wire));
            if with_tools && random.below(3) == 0 {
                step_of_loop(&mut draft, turn, 1, 100 + random.below(500), random);
                time += 4.0 + random.below(20) as f64;
                lines.push(line(time, &format!("chat-{chat}"), &draft, wire));
            }
            draft.messages.push(Message::Assistant(text(60 + random.below(250) as usize, random)));
            time += gap(random);
        }
        start += 100.0 + random.below(1200) as f64;
    }
    lines
}
