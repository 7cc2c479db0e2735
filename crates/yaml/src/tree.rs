//! The tree that a YAML text is read into.

use stave_canon::{Number, Value};
use stave_diag::Span;

use crate::{Spanned, Text};

/// A value and where it was written. An alias has the span of the alias; what is inside it has the
/// span of the anchored text.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    pub span: Span,
    pub value: TreeValue,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TreeValue {
    Null,
    Bool(bool),
    Number(Number),
    String(Text),
    Sequence(Vec<Tree>),
    /// In file order, without duplicate keys.
    Mapping(Vec<YamlEntry>),
}

/// A key of a mapping with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct YamlEntry {
    pub key: Spanned<String>,
    pub value: Tree,
}

impl Tree {
    /// The value without places.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match &self.value {
            TreeValue::Null => Value::Null,
            TreeValue::Bool(value) => Value::Bool(*value),
            TreeValue::Number(number) => Value::Number(number.clone()),
            TreeValue::String(text) => Value::from(text.as_str()),
            TreeValue::Sequence(items) => Value::Array(items.iter().map(Tree::to_value).collect()),
            TreeValue::Mapping(entries) => {
                entries.iter().map(|entry| (entry.key.value.clone(), entry.value.to_value())).collect()
            }
        }
    }

    /// The word a person would use for this kind of value.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match &self.value {
            TreeValue::Null => "null",
            TreeValue::Bool(_) => "a boolean",
            TreeValue::Number(_) => "a number",
            TreeValue::String(_) => "a string",
            TreeValue::Sequence(_) => "a list",
            TreeValue::Mapping(_) => "a mapping",
        }
    }

    #[must_use]
    pub fn entries(&self) -> Option<&[YamlEntry]> {
        if let TreeValue::Mapping(entries) = &self.value { Some(entries) } else { None }
    }

    #[must_use]
    pub fn items(&self) -> Option<&[Tree]> {
        if let TreeValue::Sequence(items) = &self.value { Some(items) } else { None }
    }

    #[must_use]
    pub fn text(&self) -> Option<&Text> {
        if let TreeValue::String(text) = &self.value { Some(text) } else { None }
    }

    /// The entry of a mapping with this key.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&YamlEntry> {
        self.entries()?.iter().find(|entry| entry.key.value == key)
    }

    /// The value of a mapping's key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Tree> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The place that a JSON Pointer names: the key where the last step is a key, else the value. A
    /// pointer that leads nowhere gives the deepest place on its way.
    #[must_use]
    pub fn locate(&self, pointer: &str) -> Span {
        let mut here = self;
        let mut place = self.span;
        for token in pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~")) {
            let next = match &here.value {
                TreeValue::Mapping(_) => here.entry(&token).map(|entry| (entry.key.span, &entry.value)),
                TreeValue::Sequence(items) => token
                    .parse::<usize>()
                    .ok()
                    .and_then(|index| items.get(index))
                    .map(|item| (item.span, item)),
                _ => None,
            };
            let Some((span, tree)) = next else { break };
            place = span;
            here = tree;
        }
        place
    }

    /// The JSON Pointer of the innermost value or entry that holds a span. Keys count as their entry.
    #[must_use]
    pub fn pointer(&self, span: Span) -> String {
        let holds = |outer: Span| outer.start <= span.start && span.end <= outer.end;
        let mut pointer = String::new();
        let mut here = self;
        loop {
            let next = match &here.value {
                TreeValue::Mapping(entries) => entries.iter().find_map(|entry| {
                    let step = || entry.key.value.replace('~', "~0").replace('/', "~1");
                    let is_inside = holds(entry.key.span) || holds(entry.value.span);
                    is_inside.then(|| (step(), holds(entry.value.span).then_some(&entry.value)))
                }),
                TreeValue::Sequence(items) => items
                    .iter()
                    .enumerate()
                    .find(|(_, item)| holds(item.span))
                    .map(|(index, item)| (index.to_string(), Some(item))),
                _ => None,
            };
            let Some((step, tree)) = next else { return pointer };
            pointer.push('/');
            pointer.push_str(&step);
            match tree {
                Some(tree) => here = tree,
                None => return pointer,
            }
        }
    }

    /// Calls `visit` for every string in the tree, mapping keys not included.
    pub fn each_text<'tree>(&'tree self, visit: &mut impl FnMut(&'tree Text)) {
        match &self.value {
            TreeValue::String(text) => visit(text),
            TreeValue::Sequence(items) => items.iter().for_each(|item| item.each_text(visit)),
            TreeValue::Mapping(entries) => entries.iter().for_each(|entry| entry.value.each_text(visit)),
            TreeValue::Null | TreeValue::Bool(_) | TreeValue::Number(_) => {}
        }
    }
}
