//! The neutral graph that is drawn.

use std::collections::HashMap;

/// A graph to draw, left to right.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Diagram {
    pub title: String,
    pub boxes: Vec<Box>,
    pub arrows: Vec<Arrow>,
}

/// A node of the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Box {
    /// Unique in the diagram; arrows name it.
    pub id: String,
    pub title: String,
    /// A smaller line below the title: what kind of thing it is.
    pub subtitle: String,
    pub tone: Tone,
}

/// What a box stands for, and so how it is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tone {
    /// Where data enters or leaves.
    Border,
    /// Plain work.
    Step,
    /// A model is asked.
    Model,
    /// Something outside is called or changed.
    Outside,
    /// Something is remembered.
    Memory,
    /// A mishap is handled, or a rule is kept.
    Guard,
}

/// A connection between two boxes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrow {
    pub from: String,
    pub to: String,
    /// Shown at its middle; may be empty.
    pub label: String,
    pub style: Style,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Style {
    Plain,
    /// Taken only sometimes.
    Conditional,
    /// Taken when something failed.
    Failure,
    /// A call rather than data, such as a tool.
    Call,
}

impl Diagram {
    /// By arrow, the places of its ends in `boxes`; `None` when it names a box that is not there.
    pub(crate) fn ends(&self) -> Vec<Option<(usize, usize)>> {
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (place, one) in self.boxes.iter().enumerate() {
            places.entry(one.id.as_str()).or_insert(place);
        }
        let find = |id: &str| places.get(id).copied();
        self.arrows.iter().map(|arrow| Some((find(&arrow.from)?, find(&arrow.to)?))).collect()
    }
}
