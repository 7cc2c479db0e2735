//! A WDL workflow: the model and its reader.

use stave_diag::SourceId;

use super::tree::{Mapping, Scalar, WdlEntry, WdlLocation, WdlNode};
use super::{Dialect, Faults};
use crate::{MAX_INTEGER, Retry};

#[derive(Debug, Clone, PartialEq)]
pub struct Workflow {
    pub version: String,
    pub name: Scalar,
    /// The longest a run may take; 0 sets no limit.
    pub timeout_ms: u32,
    pub inputs: Vec<Input>,
    pub steps: Vec<WdlStep>,
    pub outputs: Vec<WdlArgument>,
    pub triggers: Option<WdlNode>,
    /// Top-level keys that mean nothing.
    pub unknown: Vec<(String, WdlLocation)>,
    /// Where the document begins.
    pub place: WdlLocation,
    pub source: SourceId,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    pub name: String,
    /// The type as it is written.
    pub type_text: String,
    pub place: WdlLocation,
}

#[derive(Debug, Clone, PartialEq)]
pub enum WdlStep {
    Call(WdlCall),
    When(WdlWhen),
}

/// `- id(target):` with its arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct WdlCall {
    pub id: String,
    pub target: String,
    pub target_place: WdlLocation,
    pub arguments: Vec<WdlArgument>,
    pub timeout_ms: u32,
    pub retry: Retry,
    pub place: WdlLocation,
}

/// `- when condition:` with its steps.
#[derive(Debug, Clone, PartialEq)]
pub struct WdlWhen {
    pub condition: Scalar,
    pub steps: Vec<WdlStep>,
    pub place: WdlLocation,
}

#[derive(Debug, Clone, PartialEq)]
pub struct WdlArgument {
    pub name: String,
    pub value: WdlNode,
    pub place: WdlLocation,
}

const KNOWN: [&str; 6] = ["version", "workflow", "inputs", "steps", "outputs", "triggers"];

/// Every call, in the order of the document, those inside `when` included.
pub(crate) fn calls(steps: &[WdlStep]) -> Vec<&WdlCall> {
    let mut calls = Vec::new();
    let mut waiting: Vec<&WdlStep> = steps.iter().rev().collect();
    while let Some(step) = waiting.pop() {
        match step {
            WdlStep::Call(call) => calls.push(call),
            WdlStep::When(when) => waiting.extend(when.steps.iter().rev()),
        }
    }
    calls
}

/// Gives a tree its meaning. Faults come in the reference's order: version, workflow, inputs, outputs, steps.
pub(crate) fn read(root: &Mapping, dialect: Dialect, faults: &mut Faults) -> Option<Workflow> {
    let before = faults.diagnostics.len();
    let mut reader = Reader { dialect, faults };
    let top = top_level(root, reader.faults);
    let version = reader.required_text(&top, "version", root.place);
    let name = reader.required_text(&top, "workflow", root.place);
    let inputs = reader.inputs(&top);
    let outputs = reader.outputs(&top);
    let steps = reader.steps_of(&top, root.place);
    reader.triggers_of(&top);
    let (name, timeout_ms) = match name {
        Some(name) => {
            let (name, options) = reader.options(&name, &["timeout_ms"]);
            (Some(name), options.first().copied().flatten().unwrap_or(0))
        }
        None => (None, 0),
    };
    let unknown = root.entries.iter().filter_map(|entry| {
        let key = entry.key.as_deref()?;
        (!KNOWN.contains(&key)).then(|| (key.to_owned(), entry.key_place))
    });
    let workflow = Workflow {
        version: version?.text.trim().to_owned(),
        name: name?,
        timeout_ms,
        inputs,
        steps: steps?,
        outputs,
        triggers: top
            .iter()
            .find(|entry| entry.key.as_deref() == Some("triggers"))
            .map(|entry| entry.value.clone()),
        unknown: unknown.collect(),
        place: root.place,
        source: faults.source,
    };
    (faults.diagnostics.len() == before).then_some(workflow)
}

/// The entries of the document, each key once.
pub(super) fn top_level<'r>(root: &'r Mapping, faults: &mut Faults) -> Vec<&'r WdlEntry> {
    let mut top: Vec<&WdlEntry> = Vec::with_capacity(root.entries.len());
    for entry in &root.entries {
        let Some(key) = &entry.key else {
            faults.malformed(entry.key_place, "expected `key: value`");
            continue;
        };
        if top.iter().any(|earlier| earlier.key.as_ref() == Some(key)) {
            faults.malformed(entry.key_place, format!("`{key}` is written twice"));
            continue;
        }
        top.push(entry);
    }
    top
}

pub(super) fn find<'r>(top: &[&'r WdlEntry], key: &str) -> Option<&'r WdlEntry> {
    top.iter().copied().find(|entry| entry.key.as_deref() == Some(key))
}

struct Reader<'f> {
    dialect: Dialect,
    faults: &'f mut Faults,
}

impl Reader<'_> {
    fn required_text(&mut self, top: &[&WdlEntry], key: &str, at: WdlLocation) -> Option<Scalar> {
        required_text(top, key, at, self.faults)
    }

    fn inputs(&mut self, top: &[&WdlEntry]) -> Vec<Input> {
        let Some(entry) = find(top, "inputs") else { return Vec::new() };
        let mut inputs = Vec::new();
        for entry in mapping(&entry.value, "`inputs`", self.faults).unwrap_or_default() {
            let Some(name) = key_of(entry, "an input", self.faults) else { continue };
            match &entry.value {
                WdlNode::Scalar(scalar) => inputs.push(Input {
                    name,
                    type_text: scalar.text.trim().to_owned(),
                    place: entry.key_place,
                }),
                other => {
                    let message = format!("the type of input `{name}` is {}, not a text", other.word());
                    self.faults.malformed(other.place(), message);
                }
            }
        }
        inputs
    }

    fn outputs(&mut self, top: &[&WdlEntry]) -> Vec<WdlArgument> {
        let Some(entry) = find(top, "outputs") else { return Vec::new() };
        let entries = mapping(&entry.value, "`outputs`", self.faults).unwrap_or_default();
        self.arguments(entries, "an output")
    }

    fn arguments(&mut self, entries: &[WdlEntry], what: &str) -> Vec<WdlArgument> {
        let mut arguments = Vec::new();
        for entry in entries {
            if let Some(name) = key_of(entry, what, self.faults) {
                arguments.push(WdlArgument { name, value: entry.value.clone(), place: entry.key_place });
            }
        }
        arguments
    }

    fn steps_of(&mut self, top: &[&WdlEntry], at: WdlLocation) -> Option<Vec<WdlStep>> {
        let Some(entry) = find(top, "steps") else {
            self.faults.malformed(at, "`steps` is missing");
            return None;
        };
        let WdlNode::List(list) = &entry.value else {
            let message = format!("`steps` is {}, not a list", entry.value.word());
            self.faults.malformed(entry.value.place(), message);
            return None;
        };
        Some(self.steps(&list.items))
    }

    /// The reference cannot read triggers that are no mappings; here they are reported as bad triggers.
    fn triggers_of(&mut self, top: &[&WdlEntry]) {
        let Some(entry) = find(top, "triggers").filter(|_| self.dialect == Dialect::Reference) else {
            return;
        };
        let mappings: Vec<&WdlNode> = match &entry.value {
            WdlNode::List(list) => list.items.iter().collect(),
            other => vec![other],
        };
        for node in mappings {
            let WdlNode::Mapping(mapping) = node else {
                self.faults
                    .malformed(node.place(), format!("a trigger is a mapping, and this is {}", node.word()));
                continue;
            };
            let kind = mapping.entries.iter().find(|entry| entry.key.as_deref() == Some("type"));
            if let Some(kind) = kind.filter(|kind| !matches!(kind.value, WdlNode::Scalar(_))) {
                self.faults.malformed(kind.value.place(), "the `type` of a trigger is a text");
            }
        }
    }

    fn steps(&mut self, items: &[WdlNode]) -> Vec<WdlStep> {
        let mut steps = Vec::new();
        for item in items {
            let entry = match item {
                WdlNode::Mapping(mapping) => mapping.entries.iter().find(|entry| entry.key.is_some()),
                _ => None,
            };
            match entry {
                Some(entry) => steps.extend(self.step(entry)),
                None => self
                    .faults
                    .malformed(item.place(), "a step is written `- id(target):` or `- when condition:`"),
            }
        }
        steps
    }

    fn step(&mut self, entry: &WdlEntry) -> Option<WdlStep> {
        let key = entry.key.as_deref().unwrap_or_default();
        match key.strip_prefix("when ") {
            Some(condition) => self.when(entry, condition),
            None => self.call(entry, key),
        }
    }

    fn when(&mut self, entry: &WdlEntry, condition: &str) -> Option<WdlStep> {
        let text = condition.trim();
        let skipped = "when ".len() + (condition.len() - condition.trim_start().len());
        if text.is_empty() {
            self.faults.malformed(entry.key_place, "`when` has no condition");
            return None;
        }
        let place = WdlLocation {
            start: entry.key_place.start + skipped,
            end: entry.key_place.start + skipped + text.len(),
            line: entry.key_place.line,
            column: entry.key_place.column + u32::try_from(skipped).unwrap_or(0),
        };
        let steps = match &entry.value {
            WdlNode::List(list) => self.steps(&list.items),
            WdlNode::Mapping(mapping) => {
                let mut steps = Vec::new();
                for entry in &mapping.entries {
                    match entry.key {
                        Some(_) => steps.extend(self.step(entry)),
                        None => self.faults.malformed(entry.key_place, "a step is written `id(target):`"),
                    }
                }
                steps
            }
            WdlNode::Scalar(scalar) => {
                self.faults.malformed(scalar.place, "write the steps of `when` below it, indented");
                return None;
            }
        };
        let condition = Scalar { text: text.to_owned(), place };
        Some(WdlStep::When(WdlWhen { condition, steps, place: entry.key_place }))
    }

    fn call(&mut self, entry: &WdlEntry, header: &str) -> Option<WdlStep> {
        let written = Scalar { text: header.to_owned(), place: entry.key_place };
        let (header, options) = self.options(&written, &["timeout_ms", "retry", "backoff_ms"]);
        let call = header.text.strip_suffix(')').and_then(|call| call.split_once('('));
        let Some((id, target)) = call.map(|(id, target)| (id.trim(), target.trim())) else {
            self.faults.malformed(entry.key_place, "a step is written `id(target)`");
            return None;
        };
        if id.is_empty() || target.is_empty() {
            let what = if id.is_empty() { "id" } else { "target" };
            self.faults.malformed(entry.key_place, format!("the step's {what} is empty"));
            return None;
        }
        let entries = mapping(&entry.value, &format!("the arguments of `{id}`"), self.faults)?;
        let option = |index: usize| options.get(index).copied().flatten().unwrap_or(0);
        Some(WdlStep::Call(WdlCall {
            id: id.to_owned(),
            target: target.to_owned(),
            target_place: target_place(&written, target),
            arguments: self.arguments(entries, "an argument"),
            timeout_ms: option(0),
            retry: Retry { max: option(1), backoff_ms: option(2) },
            place: entry.key_place,
        }))
    }

    /// Takes `name=number` words off the end of a text. The reference has nothing like them: there a
    /// header ends with `)` and a workflow's name has no spaces.
    fn options(&mut self, written: &Scalar, known: &[&str]) -> (Scalar, Vec<Option<u32>>) {
        let mut options = vec![None; known.len()];
        let mut text = written.text.trim().to_owned();
        if self.dialect == Dialect::Reference {
            return (Scalar { text, place: written.place }, options);
        }
        while let Some((before, word)) = text.rsplit_once(char::is_whitespace) {
            let Some((name, number)) = word.split_once('=') else { break };
            let Some(slot) =
                known.iter().position(|known| *known == name).and_then(|index| options.get_mut(index))
            else {
                break;
            };
            let value = number.parse::<i64>().ok().filter(|value| (0..=MAX_INTEGER).contains(value));
            match value.and_then(|value| u32::try_from(value).ok()) {
                Some(value) if slot.is_none() => *slot = Some(value),
                Some(_) => self.faults.malformed(written.place, format!("`{name}` is written twice")),
                None => {
                    let message = format!("`{name}` is {number:?}, not a whole number up to {MAX_INTEGER}");
                    self.faults.malformed(written.place, message);
                }
            }
            text = before.trim_end().to_owned();
        }
        (Scalar { text, place: written.place }, options)
    }
}

/// The place of a call's target in its header, `id(target)`.
fn target_place(header: &Scalar, target: &str) -> WdlLocation {
    let opened = header.text.find('(').map_or(0, |at| at + 1);
    let inside = header.text.get(opened..).unwrap_or_default();
    let offset = opened + (inside.len() - inside.trim_start().len());
    let characters = header.text.get(..offset).unwrap_or_default().chars().count();
    let start = header.place.start + offset;
    WdlLocation {
        start,
        end: start + target.len(),
        line: header.place.line,
        column: header.place.column + u32::try_from(characters).unwrap_or(0),
    }
}

/// A key whose value must be a text that says something.
pub(super) fn required_text(
    top: &[&WdlEntry],
    key: &str,
    at: WdlLocation,
    faults: &mut Faults,
) -> Option<Scalar> {
    let Some(entry) = find(top, key) else {
        faults.malformed(at, format!("`{key}` is missing"));
        return None;
    };
    match &entry.value {
        WdlNode::Scalar(scalar) if !scalar.text.trim().is_empty() => {
            Some(Scalar { text: scalar.text.trim().to_owned(), place: scalar.place })
        }
        WdlNode::Scalar(scalar) => {
            faults.malformed(scalar.place, format!("`{key}` is empty"));
            None
        }
        other => {
            faults.malformed(other.place(), format!("`{key}` is {}, not a text", other.word()));
            None
        }
    }
}

/// The entries of a node that must be a mapping.
pub(super) fn mapping<'n>(node: &'n WdlNode, what: &str, faults: &mut Faults) -> Option<&'n [WdlEntry]> {
    match node {
        WdlNode::Mapping(mapping) => Some(&mapping.entries),
        other => {
            faults.malformed(other.place(), format!("{what} must be a mapping, and it is {}", other.word()));
            None
        }
    }
}

pub(super) fn key_of(entry: &WdlEntry, what: &str, faults: &mut Faults) -> Option<String> {
    if entry.key.is_none() {
        faults.malformed(entry.key_place, format!("{what} is written `name: value`"));
    }
    entry.key.clone()
}
