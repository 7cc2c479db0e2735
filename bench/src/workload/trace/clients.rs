//! Kinds of traces that differ in what their clients do: marks of their own, several models in one stream,
//! tools in another order, histories that they edit.

use stave_canon::Value;

use super::super::random::Random;
use super::Line;
use super::body::{Draft, Marks, Message, Wire, text, tool};
use super::kinds::{line, step_of_loop, tools};

const MARKS: [Marks; 8] = [
    Marks::Ends,
    Marks::Four,
    Marks::LongScaffold,
    Marks::LongEnds,
    Marks::System,
    Marks::LongSystem,
    Marks::Last,
    Marks::LongLast,
];

/// One stream in which several models answer: conversations that change between them, and small side tasks.
pub(super) fn mixed_models(random: &mut Random, wire: Wire) -> Vec<Line> {
    let models: &[&str] = match wire {
        Wire::Anthropic => &["claude-opus-4-8", "claude-sonnet-4-6", "claude-haiku-4-5"],
        Wire::OpenAi => &["gpt-5", "gpt-4.1-mini", "o3"],
    };
    let mut lines = Vec::new();
    let scaffold =
        Draft { tools: tools(8, 90, random), system: vec![text(2200, random)], ..Draft::default() };
    // Requests go to a model by turns, by chance, or by conversation with side tasks in between.
    let manner = random.below(3);
    let one_session = random.below(2) == 0;
    let mut time = 0.0;
    for task in 0..4_u64 {
        let session = if one_session { "stream".to_owned() } else { format!("task-{task}") };
        let mut draft = scaffold.clone();
        draft.messages.push(Message::User(text(150, random)));
        for step in 0..8 + random.below(14) {
            let model = match manner {
                0 => step,
                1 => random.below(3),
                _ => task,
            };
            draft.model = Some(models[(model % 3) as usize]);
            lines.push(line(time, &session, &draft, wire));
            if manner == 2 && random.below(3) == 0 {
                let title = Draft {
                    system: vec![text(300, random)],
                    messages: vec![Message::User(text(900 + random.below(1500) as usize, random))],
                    model: Some(models[2]),
                    ..Draft::default()
                };
                lines.push(line(time + 0.5, &session, &title, wire));
            }
            step_of_loop(&mut draft, step, 1, 150 + random.below(400), random);
            time += 4.0 + random.below(40) as f64;
        }
        time += 30.0 + random.below(100) as f64;
    }
    lines
}

/// Quick loops of a client with marks of its own, of every lifetime and in every place.
pub(super) fn client_lifetimes(random: &mut Random, wire: Wire) -> Vec<Line> {
    marked(random, wire, &|random| 5.0 + random.below(60) as f64)
}

/// The same with pauses of minutes, and seldom of more than an hour.
pub(super) fn client_pauses(random: &mut Random, wire: Wire) -> Vec<Line> {
    let one_in = 1 + random.below(5);
    marked(random, wire, &|random| match random.below(one_in) {
        0 if random.below(12) == 0 => 3700.0 + random.below(4000) as f64,
        0 => 310.0 + random.below(3000) as f64,
        _ => 5.0 + random.below(200) as f64,
    })
}

fn marked(random: &mut Random, wire: Wire, gap: &dyn Fn(&mut Random) -> f64) -> Vec<Line> {
    let mut lines = Vec::new();
    let marks = MARKS[random.below(MARKS.len() as u64) as usize];
    let words = 1000 + random.below(3000) as usize;
    let scaffold =
        Draft { tools: tools(6, 90, random), system: vec![text(words, random)], marks, ..Draft::default() };
    let mut start = 0.0;
    for chat in 0..5 {
        let mut draft = scaffold.clone();
        let mut time = start;
        for step in 0..3 + random.below(16) {
            draft.messages.push(Message::User(text(30 + random.below(150) as usize, random)));
            lines.push(line(time, &format!("chat-{chat}"), &draft, wire));
            if random.below(2) == 0 {
                step_of_loop(&mut draft, step, 1, 100 + random.below(400), random);
                time += 5.0 + random.below(20) as f64;
                lines.push(line(time, &format!("chat-{chat}"), &draft, wire));
            }
            draft.messages.push(Message::Assistant(text(60 + random.below(200) as usize, random)));
            time += gap(random);
        }
        start += 100.0 + random.below(900) as f64;
    }
    lines
}

/// Loops whose tools come in another order, or with others added and taken away, from time to time.
pub(super) fn tools_reordered(random: &mut Random, wire: Wire) -> Vec<Line> {
    let mut lines = Vec::new();
    let built_in = tools(8, 100, random);
    let servers: Vec<Vec<Value>> = (0..4)
        .map(|server| (0..3).map(|index| tool(&format!("mcp__{server}__{index}"), 90, random)).collect())
        .collect();
    let system = text(1200, random);
    let (one_in, shuffles) = (3 + random.below(10), random.below(2) == 0);
    let mut time = 0.0;
    for task in 0..4 {
        let mut draft = Draft { system: vec![system.clone()], ..Draft::default() };
        draft.messages.push(Message::User(text(120, random)));
        let mut order: Vec<usize> = vec![0, 1, 2, 3];
        for step in 0..10 + random.below(12) {
            if random.below(one_in) == 0 {
                let (one, other) = (random.below(4) as usize, random.below(4) as usize);
                if shuffles {
                    order = vec![0, 1, 2, 3];
                    order.swap(one, other);
                } else {
                    order = (0..4).filter(|server| *server != one && *server != other).collect();
                }
            }
            let extra = order.iter().flat_map(|server| servers[*server].iter());
            draft.tools = built_in.iter().chain(extra).cloned().collect();
            lines.push(line(time, &format!("task-{task}"), &draft, wire));
            step_of_loop(&mut draft, step, 1, 150 + random.below(400), random);
            time += 6.0 + random.below(30) as f64;
        }
        time += 90.0;
    }
    lines
}

/// Agents with tools of some hundred kilobytes and short conversations.
pub(super) fn huge_tools(random: &mut Random, wire: Wire) -> Vec<Line> {
    let mut lines = Vec::new();
    let scaffold =
        Draft { tools: tools(60, 300, random), system: vec![text(300, random)], ..Draft::default() };
    let mut time = 0.0;
    for task in 0..5 {
        let mut draft = scaffold.clone();
        draft.messages.push(Message::User(text(60, random)));
        for step in 0..2 + random.below(5) {
            lines.push(line(time, &format!("task-{task}"), &draft, wire));
            step_of_loop(&mut draft, step, 1, 60 + random.below(200), random);
            time += 5.0 + random.below(30) as f64;
        }
        time += 20.0 + random.below(200) as f64;
    }
    lines
}

/// Conversations of which the client changes an earlier message, drops the oldest ones or goes back a few turns.
pub(super) fn edited_histories(random: &mut Random, wire: Wire) -> Vec<Line> {
    let mut lines = Vec::new();
    let scaffold = Draft { system: vec![text(1800, random)], ..Draft::default() };
    let one_in = 3 + random.below(8);
    let mut time = 0.0;
    for chat in 0..4 {
        let mut draft = scaffold.clone();
        for _ in 0..8 + random.below(14) {
            draft.messages.push(Message::User(text(40 + random.below(150) as usize, random)));
            lines.push(line(time, &format!("chat-{chat}"), &draft, wire));
            draft.messages.push(Message::Assistant(text(100 + random.below(300) as usize, random)));
            let turns = (draft.messages.len() / 2) as u64;
            if turns > 2 && random.below(one_in) == 0 {
                match random.below(3) {
                    0 => draft.messages.truncate(2 * (1 + random.below(turns - 1) as usize)),
                    1 => drop(draft.messages.drain(..2)),
                    _ => {
                        let at = 2 * random.below(turns) as usize;
                        draft.messages[at] = Message::User(text(60, random));
                    }
                }
            }
            time += 6.0 + random.below(90) as f64;
        }
        time += 60.0 + random.below(200) as f64;
    }
    lines
}
