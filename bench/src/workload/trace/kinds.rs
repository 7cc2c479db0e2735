//! The kinds of traces, one function each.

use stave_canon::Value;

use super::super::random::Random;
use super::Line;
use super::body::{Draft, Marks, Message, Wire, text, tool};

/// A tool loop on one task that grows for some dozens of steps, and a second task after it.
pub(super) fn coding_agent(random: &mut Random, wire: Wire) -> Vec<Line> {
    let mut lines = Vec::new();
    let scaffold =
        Draft { tools: tools(12, 90, random), system: vec![text(1500, random)], ..Draft::default() };
    let mut time = 0.0;
    for task in 0..3 {
        let mut draft = scaffold.clone();
        draft.messages.push(Message::User(text(150, random)));
        for step in 0..12 + random.below(25) {
            lines.push(line(time, &format!("task-{task}"), &draft, wire));
            step_of_loop(&mut draft, step, 1 + random.below(2), 200 + random.below(600), random);
            time += 5.0 + random.below(25) as f64;
        }
        time += 60.0 + random.below(200) as f64;
    }
    lines
}

/// Many short conversations with one scaffold, several at a time.
pub(super) fn support_chats(random: &mut Random, wire: Wire) -> Vec<Line> {
    let mut lines = Vec::new();
    let scaffold = Draft { system: vec![text(2200, random)], ..Draft::default() };
    let mut start = 0.0;
    for chat in 0..30 {
        let mut draft = scaffold.clone();
        let mut time = start;
        for _ in 0..1 + random.below(7) {
            draft.messages.push(Message::User(text(30 + random.below(60) as usize, random)));
            lines.push(line(time, &format!("chat-{chat}"), &draft, wire));
            draft.messages.push(Message::Assistant(text(60 + random.below(120) as usize, random)));
            time += 20.0 + random.below(90) as f64;
        }
        start += 10.0 + random.below(80) as f64;
    }
    lines
}

/// Questions whose retrieved text is in the system text or in the last message, and is gone next time.
pub(super) fn changing_retrieval(random: &mut Random, wire: Wire) -> Vec<Line> {
    let mut lines = Vec::new();
    let instructions = text(1400, random);
    let in_system = random.below(2) == 0;
    let mut start = 0.0;
    for chat in 0..14 {
        let mut history: Vec<Message> = Vec::new();
        let mut time = start;
        for _ in 0..2 + random.below(5) {
            let question = text(25, random);
            let retrieved = text(900 + random.below(900) as usize, random);
            let mut draft = Draft { system: vec![instructions.clone()], ..Draft::default() };
            draft.messages.clone_from(&history);
            if in_system {
                draft.system.push(retrieved);
                draft.messages.push(Message::User(question.clone()));
            } else {
                draft.messages.push(Message::User(format!("{retrieved}\n\n{question}")));
            }
            lines.push(line(time, &format!("chat-{chat}"), &draft, wire));
            history.push(Message::User(question));
            history.push(Message::Assistant(text(90, random)));
            time += 15.0 + random.below(60) as f64;
        }
        start += 20.0 + random.below(60) as f64;
    }
    lines
}

/// A lead that starts several agents at once with one scaffold; each then works in its own loop.
pub(super) fn parallel_agents(random: &mut Random, wire: Wire) -> Vec<Line> {
    let mut lines = Vec::new();
    let scaffold =
        Draft { tools: tools(10, 80, random), system: vec![text(1800, random)], ..Draft::default() };
    let mut start = 0.0;
    for wave in 0..4 {
        for agent in 0..5 {
            let mut draft = scaffold.clone();
            draft.messages.push(Message::User(text(200, random)));
            let mut time = start + random.below(100) as f64 / 100.0;
            for step in 0..3 + random.below(8) {
                lines.push(line(time, &format!("wave-{wave}-agent-{agent}"), &draft, wire));
                step_of_loop(&mut draft, step, 1, 150 + random.below(500), random);
                time += 6.0 + random.below(20) as f64;
            }
        }
        start += 150.0 + random.below(500) as f64;
    }
    lines
}

/// A loop whose servers add and drop tools at the end of the list.
pub(super) fn tool_churn(random: &mut Random, wire: Wire) -> Vec<Line> {
    let mut lines = Vec::new();
    let built_in = tools(14, 120, random);
    let extra: Vec<Value> = (0..6).map(|index| tool(&format!("mcp__{index}"), 100, random)).collect();
    let system = text(900, random);
    let mut time = 0.0;
    for task in 0..4 {
        let mut draft = Draft { system: vec![system.clone()], ..Draft::default() };
        draft.messages.push(Message::User(text(120, random)));
        let mut present = 2 + random.below(4) as usize;
        for step in 0..8 + random.below(10) {
            if random.below(4) == 0 {
                present = 1 + random.below(extra.len() as u64) as usize;
            }
            draft.tools = built_in.iter().chain(&extra[..present]).cloned().collect();
            lines.push(line(time, &format!("task-{task}"), &draft, wire));
            step_of_loop(&mut draft, step, 1, 200 + random.below(300), random);
            time += 8.0 + random.below(25) as f64;
        }
        time += 90.0;
    }
    lines
}

/// Loops with the time of day in the system text: to the second at its end, or to the minute.
pub(super) fn clocks(random: &mut Random, wire: Wire) -> Vec<Line> {
    let mut lines = Vec::new();
    let tools = tools(12, 100, random);
    let (head, rest) = (text(1500, random), text(300, random));
    let by_second = random.below(2) == 0;
    let mut time = 0.0;
    for task in 0..4 {
        let mut draft = Draft { tools: tools.clone(), ..Draft::default() };
        draft.messages.push(Message::User(text(120, random)));
        for step in 0..8 + random.below(8) {
            let seconds = time as u64;
            let clock = format!("2026-11-15 {:02}:{:02}", 9 + seconds / 3600, seconds / 60 % 60);
            let clock = if by_second { format!("{clock}:{:02}", seconds % 60) } else { clock };
            draft.system = vec![format!("{head}\nThe time is {clock}.\n{rest}")];
            lines.push(line(time, &format!("task-{task}"), &draft, wire));
            step_of_loop(&mut draft, step, 1, 150 + random.below(300), random);
            time += 7.0 + random.below(30) as f64;
        }
        time += 100.0;
    }
    lines
}

/// Conversations with a person who takes ten or twenty minutes over each answer.
pub(super) fn long_pauses(random: &mut Random, wire: Wire) -> Vec<Line> {
    let mut lines = Vec::new();
    let scaffold = Draft { system: vec![text(3000, random)], ..Draft::default() };
    for chat in 0..3 {
        let mut draft = scaffold.clone();
        let mut time = f64::from(chat) * 400.0;
        for _ in 0..14 + random.below(8) {
            draft.messages.push(Message::User(text(80, random)));
            lines.push(line(time, &format!("chat-{chat}"), &draft, wire));
            draft.messages.push(Message::Assistant(text(250, random)));
            time += 400.0 + random.below(1500) as f64;
        }
    }
    lines
}

/// Requests that have nothing in common and never come back.
pub(super) fn single_requests(random: &mut Random, wire: Wire) -> Vec<Line> {
    let mut time = 0.0;
    let mut lines = Vec::new();
    for number in 0..60 {
        let mut draft = Draft { system: vec![text(40, random)], ..Draft::default() };
        draft.messages.push(Message::User(text(1500 + random.below(2500) as usize, random)));
        lines.push(line(time, &format!("document-{number}"), &draft, wire));
        time += 3.0 + random.below(40) as f64;
    }
    lines
}

/// A loop whose every turn makes dozens of calls, far beyond what a mark looks back over.
pub(super) fn wide_turns(random: &mut Random, wire: Wire) -> Vec<Line> {
    let mut lines = Vec::new();
    let scaffold =
        Draft { tools: tools(10, 80, random), system: vec![text(1500, random)], ..Draft::default() };
    let mut time = 0.0;
    for task in 0..3 {
        let mut draft = scaffold.clone();
        draft.messages.push(Message::User(text(100, random)));
        for step in 0..6 + random.below(6) {
            lines.push(line(time, &format!("task-{task}"), &draft, wire));
            for part in 0..12 + random.below(6) {
                step_of_loop(&mut draft, step * 100 + part, 2, 60, random);
                draft.messages.push(Message::Assistant(text(15, random)));
                draft.messages.push(Message::User(text(10, random)));
            }
            time += 30.0 + random.below(60) as f64;
        }
        time += 120.0;
    }
    lines
}

/// A loop of a client that marks its system text and its last message.
pub(super) fn client_marks(random: &mut Random, wire: Wire) -> Vec<Line> {
    let mut lines = Vec::new();
    let scaffold = Draft {
        tools: tools(15, 100, random),
        system: vec![text(60, random), text(1800, random)],
        marks: Marks::Ends,
        ..Draft::default()
    };
    let mut time = 0.0;
    for task in 0..4 {
        let mut draft = scaffold.clone();
        draft.messages.push(Message::User(text(120, random)));
        for step in 0..8 + random.below(16) {
            lines.push(line(time, &format!("task-{task}"), &draft, wire));
            step_of_loop(&mut draft, step, 1 + random.below(3), 150 + random.below(500), random);
            time += 6.0 + random.below(25) as f64;
        }
        time += 60.0 + random.below(400) as f64;
    }
    lines
}

pub(super) fn line(time: f64, session: &str, draft: &Draft, wire: Wire) -> Line {
    Line { time, session: Some(session.to_owned()), body: draft.body(wire) }
}

pub(super) fn tools(count: usize, words: usize, random: &mut Random) -> Vec<Value> {
    (0..count).map(|index| tool(&format!("tool_{index}"), words, random)).collect()
}

/// Adds one round of calls and results to a conversation.
pub(super) fn step_of_loop(draft: &mut Draft, step: u64, calls: u64, words: u64, random: &mut Random) {
    let ids: Vec<String> =
        (0..calls).map(|call| format!("toolu_{step:04}{call:02}{:08x}", random.bits() >> 32)).collect();
    let asked = ids.iter().map(|id| (id.clone(), "tool_1", text(12, random))).collect();
    draft.messages.push(Message::Calls(asked));
    let results = ids.into_iter().map(|id| (id, text(words as usize, random))).collect();
    draft.messages.push(Message::Results(results));
}
