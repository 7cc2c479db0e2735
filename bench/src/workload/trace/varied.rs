//! Traces of which everything is drawn: models, sizes, gaps, marks, forks, edits, clocks, pictures.
//!
//! Where the other kinds show one difficulty each, these mix them, so that a long row of seeds looks for the
//! case in which the planner does worst.

use stave_canon::Value;

use super::super::random::Random;
use super::Line;
use super::body::{Draft, Marks, Message, Wire, text, tool};
use super::kinds::{step_of_loop, tools};

/// Models of every family, in the spellings that clients and other clouds use.
const ANTHROPIC_MODELS: [&str; 14] = [
    "claude-opus-5",
    "claude-opus-4-8",
    "claude-opus-4-7-20260416",
    "claude-opus-4-6",
    "claude-opus-4-5-20251101",
    "claude-opus-4-1-20250805",
    "claude-sonnet-5",
    "claude-sonnet-4-6",
    "claude-sonnet-4-5@20250929",
    "claude-haiku-4-5-20251001",
    "anthropic.claude-sonnet-4-20250514-v1:0",
    "us.anthropic.claude-haiku-4-5-20251001-v1:0",
    "anthropic/claude-opus-4.6",
    "claude-3-5-haiku-latest",
];
const OPENAI_MODELS: [&str; 6] =
    ["gpt-5", "gpt-4o-2024-08-06", "gpt-4.1-mini", "o3", "gpt-5.6", "openai/gpt-5-nano"];

/// What is the same for all conversations of a trace.
struct World {
    scaffold: Draft,
    /// Tools that come and go, after those that stay.
    extra: Vec<Value>,
    head: String,
    clock: Clock,
    pace: Pace,
    loops: bool,
    pictures: bool,
    thoughts: bool,
    retrieves: bool,
    named: bool,
    /// One request in so many loses its oldest results; zero for none.
    edits: u64,
    /// One conversation in so many continues from the middle of an earlier one; zero for none.
    forks: u64,
}

#[derive(Clone, Copy)]
enum Clock {
    None,
    Second,
    Minute,
    Day,
}

/// How long it takes until the next request of a conversation.
#[derive(Clone, Copy)]
enum Pace {
    Quick,
    Slow,
    Border,
    Pauses,
    Hours,
    Mixed,
}

pub(super) fn varied(random: &mut Random, wire: Wire) -> Vec<Line> {
    let world = world(random, wire);
    let mut lines = Vec::new();
    let mut past: Vec<Draft> = Vec::new();
    let mut start = 0.0;
    let conversations = [1, 3, 8, 25][random.below(4) as usize];
    let apart = [0.3, 5.0, 60.0, 400.0][random.below(4) as usize];
    let longest = [1, 4, 12, 30][random.below(4) as usize];
    for conversation in 0..conversations {
        let mut draft = world.scaffold.clone();
        if world.forks > 0 && !past.is_empty() && random.below(world.forks) == 0 {
            let from = &past[random.below(past.len() as u64) as usize];
            let kept = random.below(from.messages.len() as u64 + 1) as usize;
            draft.messages = from.messages[..kept / 2 * 2].to_vec();
        }
        let mut time = start;
        let mut present = random.below(world.extra.len() as u64 + 1) as usize;
        for step in 0..1 + random.below(longest) {
            if !world.loops || draft.messages.is_empty() {
                ask(&world, &mut draft, random);
            }
            if random.below(5) == 0 {
                present = random.below(world.extra.len() as u64 + 1) as usize;
            }
            draft.tools = world.scaffold.tools.iter().chain(&world.extra[..present]).cloned().collect();
            tell_time(&world, &mut draft, time);
            if world.edits > 0 && random.below(world.edits) == 0 && draft.messages.len() > 6 {
                shorten(&mut draft);
            }
            let session = world.named.then(|| format!("conversation-{conversation}"));
            lines.push(Line { time, session, body: draft.body(wire) });
            reply(&world, &mut draft, step, random);
            time += gap(world.pace, random);
        }
        past.push(draft);
        start += apart * (0.2 + random.below(200) as f64 / 100.0);
    }
    lines
}

fn world(random: &mut Random, wire: Wire) -> World {
    let yes = |random: &mut Random, one_in: u64| random.below(one_in) == 0;
    let model = match wire {
        Wire::Anthropic => ANTHROPIC_MODELS[random.below(ANTHROPIC_MODELS.len() as u64) as usize],
        Wire::OpenAi => OPENAI_MODELS[random.below(OPENAI_MODELS.len() as u64) as usize],
    };
    let words = [0, 60, 400, 900, 2000, 5000][random.below(6) as usize];
    let head = if words == 0 { String::new() } else { text(words, random) };
    let mut system = if words == 0 { Vec::new() } else { vec![head.clone()] };
    if words > 0 && yes(random, 3) {
        system.push(text(1 + words / 3, random));
    }
    let tool_count = [0, 0, 4, 12, 25][random.below(5) as usize];
    let marks = match random.below(10) {
        0 => Marks::Ends,
        1 => Marks::Four,
        2 => Marks::LongScaffold,
        3 => Marks::Automatic,
        _ => Marks::None,
    };
    let extra_count = if tool_count > 0 && yes(random, 4) { 5 } else { 0 };
    World {
        scaffold: Draft {
            tools: tools(tool_count, 90, random),
            system,
            marks,
            model: Some(model),
            ..Draft::default()
        },
        extra: (0..extra_count).map(|index| tool(&format!("mcp__files__{index}"), 80, random)).collect(),
        head,
        clock: [Clock::None, Clock::None, Clock::None, Clock::Second, Clock::Minute, Clock::Day]
            [random.below(6) as usize],
        pace: [Pace::Quick, Pace::Quick, Pace::Slow, Pace::Border, Pace::Pauses, Pace::Hours, Pace::Mixed]
            [random.below(7) as usize],
        loops: tool_count > 0 && !yes(random, 4),
        pictures: yes(random, 6),
        thoughts: yes(random, 5),
        retrieves: yes(random, 6),
        named: !yes(random, 3),
        edits: if yes(random, 5) { 6 } else { 0 },
        forks: if yes(random, 4) { 2 } else { 0 },
    }
}

fn ask(world: &World, draft: &mut Draft, random: &mut Random) {
    let words = [10, 80, 400, 2000][random.below(4) as usize];
    let mut question = text(words, random);
    if world.retrieves {
        question = format!("{}\n\n{question}", text(600 + random.below(900) as usize, random));
    }
    let message = if world.pictures && random.below(2) == 0 {
        let picture: String = (0..200).map(|_| format!("{:016x}", random.bits())).collect();
        Message::Picture(picture, question)
    } else {
        Message::User(question)
    };
    draft.messages.push(message);
}

fn reply(world: &World, draft: &mut Draft, step: u64, random: &mut Random) {
    if world.loops && random.below(6) > 0 {
        let calls = 1 + random.below(3);
        return step_of_loop(draft, step, calls, 50 + random.below(900), random);
    }
    let answer = text(20 + random.below(400) as usize, random);
    draft.messages.push(if world.thoughts {
        Message::Thought(text(120, random), answer)
    } else {
        Message::Assistant(answer)
    });
    if world.loops {
        ask(world, draft, random);
    }
}

fn tell_time(world: &World, draft: &mut Draft, time: f64) {
    let seconds = time as u64 + 9 * 3600;
    let (day, hour, minute, second) =
        (15 + seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let clock = match world.clock {
        Clock::None => return,
        Clock::Second => format!("2026-11-{day:02}T{hour:02}:{minute:02}:{second:02}Z"),
        Clock::Minute => format!("2026-11-{day:02} {hour:02}:{minute:02}"),
        Clock::Day => format!("2026-11-{day:02}"),
    };
    if let Some(first) = draft.system.first_mut() {
        *first = format!("{}\nIt is {clock}.", world.head);
    }
}

/// Takes the text out of old results, as clients do whose window is full.
fn shorten(draft: &mut Draft) {
    let old = draft.messages.len() / 2;
    for message in &mut draft.messages[..old] {
        if let Message::Results(results) = message {
            results.iter_mut().for_each(|(_, text)| "(removed)".clone_into(text));
        }
    }
}

fn gap(pace: Pace, random: &mut Random) -> f64 {
    let between = |from: u64, to: u64, random: &mut Random| (from + random.below(to - from)) as f64;
    match pace {
        Pace::Quick => between(1, 40, random),
        Pace::Slow => between(40, 280, random),
        Pace::Border => between(200, 400, random),
        Pace::Pauses => between(400, 2400, random),
        Pace::Hours => between(3000, 7200, random),
        Pace::Mixed => match random.below(8) {
            0 => between(400, 3000, random),
            1 => between(3600, 7200, random),
            _ => between(2, 90, random),
        },
    }
}
