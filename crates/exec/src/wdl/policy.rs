//! A PDL policy: the model and its reader.

use super::Faults;
use super::tree::{Mapping, Scalar, WdlEntry, WdlLocation, WdlNode};
use super::workflow::{find, key_of, mapping, required_text, top_level};

#[derive(Debug, Clone, PartialEq)]
pub struct WdlPolicy {
    pub version: String,
    pub arms: Vec<Arm>,
    pub epsilon: Option<Scalar>,
    pub evaluate: Vec<Statement>,
    pub emit: Vec<WdlField>,
}

/// A named set of values, one of which is active.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    pub name: String,
    pub fields: Vec<WdlField>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct WdlField {
    pub name: String,
    pub value: WdlNode,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    Assignment(Assignment),
    If(If),
    Choose(Choose),
}

/// `target = expression` or `target := expression`, which mean the same, with or without a label before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    pub target: String,
    pub operator: &'static str,
    pub expression: Scalar,
    pub label: Option<String>,
    pub place: WdlLocation,
}

#[derive(Debug, Clone, PartialEq)]
pub struct If {
    pub condition: Scalar,
    pub then: Vec<Statement>,
    pub otherwise: Vec<Statement>,
    pub place: WdlLocation,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Choose {
    pub options: Vec<ChooseOption>,
    pub place: WdlLocation,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ChooseOption {
    pub name: String,
    pub expression: Scalar,
    pub probability: Option<Scalar>,
    pub place: WdlLocation,
}

/// What separates an option from its probability.
const WITH_PROBABILITY: &str = " with p=";

/// Gives a tree its meaning. Faults come in the reference's order: version, arms, epsilon, evaluate, emit.
pub(crate) fn read(root: &Mapping, faults: &mut Faults) -> Option<WdlPolicy> {
    let before = faults.diagnostics.len();
    let top = top_level(root, faults);
    let version = required_text(&top, "version", root.place, faults);
    let arms = section(&top, "arms", root.place, faults).map(|entries| arms(entries, faults));
    let epsilon = epsilon(&top, faults);
    let evaluate = section(&top, "evaluate", root.place, faults).map(|entries| statements(entries, faults));
    let emit = section(&top, "emit", root.place, faults).map(|entries| fields(entries, "a result", faults));
    let policy = WdlPolicy { version: version?.text, arms: arms?, epsilon, evaluate: evaluate?, emit: emit? };
    (faults.diagnostics.len() == before).then_some(policy)
}

fn section<'r>(
    top: &[&'r WdlEntry],
    key: &str,
    at: WdlLocation,
    faults: &mut Faults,
) -> Option<&'r [WdlEntry]> {
    let Some(entry) = find(top, key) else {
        faults.malformed(at, format!("`{key}` is missing"));
        return None;
    };
    mapping(&entry.value, &format!("`{key}`"), faults)
}

fn arms(entries: &[WdlEntry], faults: &mut Faults) -> Vec<Arm> {
    let mut arms = Vec::new();
    for entry in entries {
        let Some(name) = key_of(entry, "an arm", faults) else { continue };
        if let Some(entries) = mapping(&entry.value, &format!("arm `{name}`"), faults) {
            let fields = fields(entries, "a value of an arm", faults);
            arms.push(Arm { name, fields });
        }
    }
    arms
}

fn fields(entries: &[WdlEntry], what: &str, faults: &mut Faults) -> Vec<WdlField> {
    let mut fields = Vec::new();
    for entry in entries {
        if let Some(name) = key_of(entry, what, faults) {
            fields.push(WdlField { name, value: entry.value.clone() });
        }
    }
    fields
}

fn epsilon(top: &[&WdlEntry], faults: &mut Faults) -> Option<Scalar> {
    match &find(top, "epsilon")?.value {
        WdlNode::Scalar(scalar) => Some(part(scalar, 0, &scalar.text)),
        other => {
            faults.malformed(other.place(), format!("`epsilon` is {}, not a text", other.word()));
            None
        }
    }
}

fn statements(entries: &[WdlEntry], faults: &mut Faults) -> Vec<Statement> {
    let mut statements = Vec::new();
    let mut entries = entries.iter().peekable();
    while let Some(entry) = entries.next() {
        let statement = match entry.key.as_deref() {
            None => assignment_of(&entry.value, None, faults).map(Statement::Assignment),
            Some("else") => {
                faults.malformed(entry.key_place, "`else` without an `if` before it");
                None
            }
            Some("choose") => choose(entry, faults).map(Statement::Choose),
            Some(key) => match key.strip_prefix("if ") {
                Some(condition) => {
                    let otherwise = entries.next_if(|next| next.key.as_deref() == Some("else"));
                    conditional(entry, condition, otherwise, faults).map(Statement::If)
                }
                None => assignment_of(&entry.value, Some(key), faults).map(Statement::Assignment),
            },
        };
        statements.extend(statement);
    }
    statements
}

fn block(node: &WdlNode, faults: &mut Faults) -> Vec<Statement> {
    match node {
        WdlNode::Mapping(mapping) => statements(&mapping.entries, faults),
        WdlNode::List(list) => {
            let mut block = Vec::new();
            for item in &list.items {
                match item {
                    WdlNode::Mapping(mapping) => block.extend(statements(&mapping.entries, faults)),
                    WdlNode::Scalar(scalar) => {
                        block.extend(assignment(scalar, None, faults).map(Statement::Assignment));
                    }
                    WdlNode::List(list) => {
                        faults.malformed(list.place, "a list of lists is not a block of statements");
                    }
                }
            }
            block
        }
        WdlNode::Scalar(scalar) => {
            faults.malformed(scalar.place, "write the statements below, indented");
            Vec::new()
        }
    }
}

fn conditional(
    entry: &WdlEntry,
    condition: &str,
    otherwise: Option<&WdlEntry>,
    faults: &mut Faults,
) -> Option<If> {
    let text = condition.trim();
    if text.is_empty() {
        faults.malformed(entry.key_place, "`if` has no condition");
        return None;
    }
    let key = Scalar { text: entry.key.clone().unwrap_or_default(), place: entry.key_place };
    let offset = key.text.len() - condition.trim_start().len();
    Some(If {
        condition: part(&key, offset, condition.trim_start()),
        then: block(&entry.value, faults),
        otherwise: otherwise.map(|entry| block(&entry.value, faults)).unwrap_or_default(),
        place: entry.key_place,
    })
}

fn choose(entry: &WdlEntry, faults: &mut Faults) -> Option<Choose> {
    let mut options = Vec::new();
    for option in mapping(&entry.value, "`choose`", faults)? {
        let Some(name) = key_of(option, "an option", faults) else { continue };
        let WdlNode::Scalar(scalar) = &option.value else {
            let message = format!("option `{name}` is {}, not a text", option.value.word());
            faults.malformed(option.value.place(), message);
            continue;
        };
        let (expression, probability) = match scalar.text.find(WITH_PROBABILITY) {
            None => (part(scalar, 0, &scalar.text), None),
            Some(at) => {
                let after = at + WITH_PROBABILITY.len();
                let probability = part(scalar, after, scalar.text.get(after..).unwrap_or_default());
                let expression = part(scalar, 0, scalar.text.get(..at).unwrap_or_default());
                (expression, Some(probability).filter(|probability| !probability.text.is_empty()))
            }
        };
        options.push(ChooseOption { name, expression, probability, place: option.key_place });
    }
    Some(Choose { options, place: entry.key_place })
}

fn assignment_of(node: &WdlNode, label: Option<&str>, faults: &mut Faults) -> Option<Assignment> {
    match node {
        WdlNode::Scalar(scalar) => assignment(scalar, label, faults),
        other => {
            let message = format!("expected a statement such as `name = value`, found {}", other.word());
            faults.malformed(other.place(), message);
            None
        }
    }
}

fn assignment(scalar: &Scalar, label: Option<&str>, faults: &mut Faults) -> Option<Assignment> {
    let operator = if scalar.text.contains(":=") { ":=" } else { "=" };
    let Some((target, expression)) = scalar.text.split_once(operator) else {
        faults.malformed(scalar.place, "expected `name = value` or `name := value`");
        return None;
    };
    let offset = target.len() + operator.len();
    let expression = part(scalar, offset, expression);
    let target = target.trim();
    if target.is_empty() || expression.text.is_empty() {
        let what = if target.is_empty() { "nothing is assigned to" } else { "nothing is assigned" };
        faults.malformed(scalar.place, what);
        return None;
    }
    Some(Assignment {
        target: target.to_owned(),
        operator,
        expression,
        label: label.map(str::to_owned),
        place: scalar.place,
    })
}

/// A part of a text, without the spaces around it, at its own place.
fn part(scalar: &Scalar, offset: usize, text: &str) -> Scalar {
    let offset = offset + (text.len() - text.trim_start().len());
    let characters = scalar.text.get(..offset).unwrap_or_default().chars().count();
    let text = text.trim();
    let start = scalar.place.start + offset;
    let place = WdlLocation {
        start,
        end: start + text.len(),
        line: scalar.place.line,
        column: scalar.place.column + u32::try_from(characters).unwrap_or(0),
    };
    Scalar { text: text.to_owned(), place }
}
