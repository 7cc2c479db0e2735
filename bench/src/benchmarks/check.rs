//! Checking a flow of two hundred nodes, beside PyYAML, which only reads the same text.

use std::hint::black_box;
use std::rc::Rc;

use stave_canon::Value;
use stave_diag::SourceId;
use stave_flow::edit::{EditRequest, FlowEdit, apply};
use stave_flow::service::Analysis;
use stave_flow::{CheckOptions, Parsed};

use super::Benchmark;
use crate::contest::{Comparison, Entrant, InProcess, Work};
use crate::machine::Machine;
use crate::peer::Peer;
use crate::workload::flow;

pub(super) const BENCHMARK: Benchmark = Benchmark {
    name: "check",
    about: "a flow of 200 nodes, beside PyYAML, which loads the same text and checks nothing",
    prepare,
};

fn prepare(machine: &Machine) -> Vec<Comparison> {
    let text: Rc<str> = Rc::from(flow::text(flow::STAGES));
    let peer = Peer::start(machine, include_str!("../peers/check.py"), Value::from(&*text));
    let mut comparisons = vec![
        comparison("parse and all checks", &text, &peer, "stave_flow::load", |text| {
            stave_flow::load(SourceId(0), text, &CheckOptions::default())
        }),
        comparison("parse alone", &text, &peer, "stave_flow::parse", |text| {
            stave_flow::parse(SourceId(0), text)
        }),
    ];
    // The bytes per second stay the same when the time grows with the size of the flow and not faster.
    let sizes = [("1,000 nodes: parse and all checks", 50), ("5,000 nodes: parse and all checks", 250)];
    comparisons.extend(sizes.map(|(title, stages)| {
        let text: Rc<str> = Rc::from(flow::text(stages));
        let work = Work::Bytes(text.len());
        let ours = InProcess::boxed(String::new(), move || {
            black_box(stave_flow::load(SourceId(0), black_box(&text), &CheckOptions::default()));
        });
        Comparison { title, work, entrants: vec![Entrant { name: "stave_flow::load", contestant: Ok(ours) }] }
    }));
    comparisons.extend([keystroke(&text), edit(&text)]);
    comparisons
}

/// What a language server does after each keystroke: the text is another one, so it is read, checked and
/// searched for names anew.
fn keystroke(text: &str) -> Comparison {
    let place = text.find("description: ").map_or(0, |at| at + "description: ".len());
    let mut text = text.to_owned();
    let work = Work::Bytes(text.len());
    let mut typed = false;
    let ours = InProcess::boxed(String::new(), move || {
        if typed {
            text.remove(place);
        } else {
            text.insert(place, 'x');
        }
        typed = !typed;
        black_box(Analysis::new(black_box(&text).clone(), &CheckOptions::default()));
    });
    let entrants = vec![Entrant { name: "stave_flow::service", contestant: Ok(ours) }];
    Comparison { title: "a keystroke in an editor", work, entrants }
}

/// One edit command: checked before and after, with the difference and the way back.
fn edit(text: &str) -> Comparison {
    let work = Work::Bytes(text.len());
    let rename = FlowEdit::RenameNode { from: "stage_05_profile".to_owned(), to: "renamed".to_owned() };
    let request = EditRequest::new(vec![rename]);
    let answer = match apply(text, &request, &CheckOptions::default()) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    let text = text.to_owned();
    let ours = InProcess::boxed(answer, move || {
        let _ = black_box(apply(black_box(&text), &request, &CheckOptions::default()));
    });
    let entrants = vec![Entrant { name: "stave_flow::edit", contestant: Ok(ours) }];
    Comparison { title: "one node renamed by an edit command", work, entrants }
}

fn comparison(
    title: &'static str,
    text: &Rc<str>,
    peer: &Peer,
    name: &'static str,
    read: fn(&str) -> Parsed,
) -> Comparison {
    let flow = read(text).flow;
    let answer = flow.map(|flow| format!("{} nodes, {} edges", flow.nodes.len(), flow.edges.len()));
    let work = {
        let text = Rc::clone(text);
        move || {
            black_box(read(black_box(&text)));
        }
    };
    let ours = Entrant { name, contestant: Ok(InProcess::boxed(answer.unwrap_or_default(), work)) };
    Comparison {
        title,
        work: Work::Bytes(text.len()),
        entrants: vec![
            ours,
            peer.entrant("PyYAML CSafeLoader", "c"),
            peer.entrant("PyYAML SafeLoader", "pure"),
        ],
    }
}
