//! A run in progress: a tree of nodes with state, time, tokens and money, drawn over itself; or the
//! events as lines of JSON.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use stave_diag::render::visible;
use stave_exec::Document;
use stave_runtime::{NodeReport, RunEvent, RunObserver, Status};

use crate::terminal;

/// How often the tree is drawn.
const REDRAWN_EVERY: Duration = Duration::from_millis(120);

/// How many nodes are drawn; of a larger flow those that are at work.
const MOST_LINES: usize = 40;

const WHEEL: [&str; 4] = ["|", "/", "-", "\\"];

/// Prints every event as one line of JSON on stdout.
#[derive(Debug)]
pub(crate) struct EventLines;

impl RunObserver for EventLines {
    fn on(&self, event: &RunEvent<'_>) {
        terminal::out(&event.to_value().to_string());
    }
}

/// Draws the tree on stderr until it is dropped.
#[derive(Debug)]
pub(crate) struct Progress {
    shared: Arc<Mutex<Tree>>,
    drawing: tokio::task::JoinHandle<()>,
}

/// What is drawn.
#[derive(Debug)]
pub(crate) struct Tree {
    nodes: Vec<Line>,
    by_id: HashMap<String, usize>,
    started: Instant,
    /// How many lines are on the screen.
    drawn: usize,
    is_done: bool,
}

#[derive(Debug)]
struct Line {
    id: String,
    depth: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    Waiting,
    Working(Instant),
    Ended(Box<NodeReport>),
}

/// Reports events to a tree.
#[derive(Debug)]
pub(crate) struct Watcher(Arc<Mutex<Tree>>);

impl Progress {
    /// Begins to draw the runs of a document, and returns the observer to report them to.
    pub(crate) fn start(document: &Document) -> (Progress, Arc<Watcher>) {
        let shared = Arc::new(Mutex::new(Tree::new(document)));
        let drawn = Arc::clone(&shared);
        let drawing = tokio::spawn(async move {
            loop {
                tokio::time::sleep(REDRAWN_EVERY).await;
                lock(&drawn).draw();
            }
        });
        (Progress { shared: Arc::clone(&shared), drawing }, Arc::new(Watcher(shared)))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.drawing.abort();
        lock(&self.shared).erase();
    }
}

impl RunObserver for Watcher {
    fn on(&self, event: &RunEvent<'_>) {
        let mut tree = lock(&self.0);
        match event {
            RunEvent::RunStarted { nodes, .. } => tree.begin(nodes),
            RunEvent::NodeStarted { node, .. } => tree.set(node, State::Working(Instant::now())),
            RunEvent::NodeEnded { node, .. } => tree.set(&node.id, State::Ended(Box::new((*node).clone()))),
            // The table of the run takes the tree's place.
            RunEvent::RunEnded { .. } => {
                tree.is_done = true;
                tree.erase();
            }
        }
    }
}

impl Tree {
    fn new(document: &Document) -> Tree {
        let nodes: Vec<&str> = document.graph.nodes.iter().map(|node| node.id.as_str()).collect();
        let mut depth: HashMap<&str, usize> = nodes.iter().map(|id| (*id, 0)).collect();
        // The longest way to a node, found in as many rounds as there are nodes at most.
        for _ in 0..nodes.len() {
            let mut grew = false;
            for edge in document.graph.edges.iter().filter(|edge| !edge.from.starts_with('_')) {
                let next = depth.get(edge.from.as_str()).map_or(0, |depth| depth + 1);
                if let Some(known) = depth.get_mut(edge.to.as_str()).filter(|known| **known < next) {
                    *known = next;
                    grew = true;
                }
            }
            if !grew {
                break;
            }
        }
        let lines: Vec<Line> = nodes
            .iter()
            .filter(|id| !id.starts_with('_'))
            .map(|id| Line {
                id: (*id).to_owned(),
                depth: depth.get(id).copied().unwrap_or(0),
                state: State::Waiting,
            })
            .collect();
        let by_id = lines.iter().enumerate().map(|(index, line)| (line.id.clone(), index)).collect();
        Tree { nodes: lines, by_id, started: Instant::now(), drawn: 0, is_done: true }
    }

    fn begin(&mut self, nodes: &[NodeReport]) {
        self.started = Instant::now();
        self.is_done = false;
        for line in &mut self.nodes {
            line.state = State::Waiting;
        }
        for node in nodes.iter().filter(|node| node.status != Status::Waiting) {
            self.set(&node.id, State::Ended(Box::new(node.clone())));
        }
    }

    fn set(&mut self, id: &str, state: State) {
        if let Some(line) = self.by_id.get(id).and_then(|index| self.nodes.get_mut(*index)) {
            line.state = state;
        }
    }

    fn draw(&mut self) {
        if self.is_done {
            return;
        }
        let lines = self.lines(Instant::now());
        terminal::redraw(self.drawn, &lines);
        self.drawn = lines.len();
    }

    fn erase(&mut self) {
        if self.drawn > 0 {
            terminal::redraw(self.drawn, &[]);
            self.drawn = 0;
        }
    }

    fn lines(&self, now: Instant) -> Vec<String> {
        let elapsed = now.saturating_duration_since(self.started);
        let wheel = WHEEL
            .get(usize::try_from(elapsed.as_millis() / REDRAWN_EVERY.as_millis()).unwrap_or(0) % WHEEL.len())
            .copied()
            .unwrap_or_default();
        let is_large = self.nodes.len() > MOST_LINES;
        let shown = |line: &&Line| !is_large || matches!(line.state, State::Working(_));
        let mut lines: Vec<String> = self
            .nodes
            .iter()
            .filter(shown)
            .take(MOST_LINES)
            .map(|line| format!("{}{}", "  ".repeat(line.depth.min(12)), line.text(wheel, now)))
            .collect();
        let ended = self.nodes.iter().filter(|line| matches!(line.state, State::Ended(_))).count();
        lines.push(format!("{ended} of {} nodes, {:.1} s", self.nodes.len(), elapsed.as_secs_f64()));
        lines
    }
}

impl Line {
    fn text(&self, wheel: &str, now: Instant) -> String {
        match &self.state {
            State::Waiting => format!("· {}", visible(&self.id)),
            State::Working(since) => {
                let seconds = now.saturating_duration_since(*since).as_secs_f64();
                format!("{wheel} {}  {seconds:.1} s", visible(&self.id))
            }
            State::Ended(node) => {
                let mark = match node.status {
                    Status::Ok => "\u{1b}[32m✓\u{1b}[0m",
                    Status::Error => "\u{1b}[31m✗\u{1b}[0m",
                    Status::Skipped | Status::Cancelled => "\u{1b}[33m-\u{1b}[0m",
                    Status::Waiting => "?",
                };
                let mut text =
                    format!("{mark} {}  {:.1} ms", visible(&self.id), node.duration.as_secs_f64() * 1000.0);
                if let Some(usage) = &node.usage {
                    text.push_str(&format!("  {} tokens", usage.input + usage.output));
                }
                if let Some(cost) = node.cost.filter(|cost| cost.micros() > 0) {
                    text.push_str(&format!("  {:.6} $", cost.micros() as f64 / 1e6));
                }
                if node.cached {
                    text.push_str("  cached");
                }
                if node.reused {
                    text.push_str("  reused");
                }
                text
            }
        }
    }
}

fn lock(tree: &Mutex<Tree>) -> std::sync::MutexGuard<'_, Tree> {
    tree.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use stave_canon::Object;
    use stave_exec::{
        Constants, Document, DocumentEdge, DocumentGraph, DocumentMetadata, DocumentNode, FlowHeader, On,
        Retry,
    };

    use super::*;

    fn document() -> Document {
        let node = |id: &str| DocumentNode {
            id: id.to_owned(),
            kind: "python".to_owned(),
            with: Object::new(),
            timeout_ms: 0,
            retry: Retry::default(),
            extra: Object::new(),
        };
        let edge = |from: &str, to: &str| DocumentEdge {
            from: from.to_owned(),
            to: to.to_owned(),
            on: On::Success,
            extra: Object::new(),
        };
        Document {
            version: "1.0.0".to_owned(),
            flow: FlowHeader { name: "demo".to_owned(), timeout_ms: 0 },
            constants: Constants { policy_ref: "default".to_owned(), policy: Object::new() },
            inputs_schema: Object::new(),
            graph: DocumentGraph {
                nodes: ["_input", "a", "b", "_output"].map(node).to_vec(),
                edges: vec![edge("_input", "a"), edge("a", "b"), edge("b", "_output")],
            },
            metadata: DocumentMetadata {
                generated_at: String::new(),
                source_file: String::new(),
                extra: Object::new(),
            },
            extra: Object::new(),
        }
    }

    #[test]
    fn a_tree_shows_who_waits_works_and_has_ended() {
        let mut tree = Tree::new(&document());
        tree.begin(&[]);
        let now = tree.started + Duration::from_secs(2);
        tree.set("a", State::Working(tree.started));
        assert_eq!(tree.lines(now)[1..], ["  · b".to_owned(), "0 of 2 nodes, 2.0 s".to_owned()]);
        assert!(tree.lines(now)[0].ends_with(" a  2.0 s"));
        let mut report = NodeReport::waiting("a", "python", None);
        report.status = Status::Ok;
        report.duration = Duration::from_millis(5);
        tree.set("a", State::Ended(Box::new(report)));
        assert!(tree.lines(now)[0].contains("a  5.0 ms"), "{:?}", tree.lines(now));
        assert_eq!(tree.lines(now)[2], "1 of 2 nodes, 2.0 s");
    }
}
