//! Three-way merges of values.

use stave_canon::{Object, Value};

use super::{Conflict, lines};
use crate::edit::identity;

pub(super) fn merge(base: &Value, ours: &Value, theirs: &Value, conflicts: &mut Vec<Conflict>) -> Value {
    let mut merger = Merger { path: Vec::new(), conflicts };
    merger.value(Some(base), Some(ours), Some(theirs)).unwrap_or_default()
}

struct Merger<'list> {
    path: Vec<String>,
    conflicts: &'list mut Vec<Conflict>,
}

impl Merger<'_> {
    fn value(&mut self, base: Option<&Value>, ours: Option<&Value>, theirs: Option<&Value>) -> Option<Value> {
        if ours == theirs || theirs == base {
            return ours.cloned();
        }
        if ours == base {
            return theirs.cloned();
        }
        match (ours, theirs) {
            (Some(Value::Object(ours)), Some(Value::Object(theirs))) => {
                let empty = Object::new();
                let base = base.and_then(Value::as_object).unwrap_or(&empty);
                Some(Value::Object(self.objects(base, ours, theirs)))
            }
            (Some(Value::Array(ours)), Some(Value::Array(theirs))) => {
                let base_items = base.and_then(Value::as_array).unwrap_or_default();
                match self.lists(base_items, ours, theirs) {
                    Some(items) => Some(Value::Array(items)),
                    None => {
                        let (ours, theirs) = (Value::Array(ours.clone()), Value::Array(theirs.clone()));
                        self.conflict(base, Some(&ours), Some(&theirs))
                    }
                }
            }
            (Some(Value::String(our_text)), Some(Value::String(their_text))) => {
                let base_text = base.and_then(Value::as_str).unwrap_or_default();
                let has_lines = [our_text, their_text].iter().all(|text| text.contains('\n'));
                match lines::merge(base_text, our_text, their_text).filter(|_| has_lines) {
                    Some(text) => Some(Value::String(text)),
                    None => self.conflict(base, ours, theirs),
                }
            }
            _ => self.conflict(base, ours, theirs),
        }
    }

    /// Names the conflict. What was changed is kept rather than removed, and ours before theirs.
    fn conflict(
        &mut self,
        base: Option<&Value>,
        ours: Option<&Value>,
        theirs: Option<&Value>,
    ) -> Option<Value> {
        let escaped = |step: &String| format!("/{}", step.replace('~', "~0").replace('/', "~1"));
        self.conflicts.push(Conflict {
            path: self.path.iter().map(escaped).collect(),
            base: base.cloned(),
            ours: ours.cloned(),
            theirs: theirs.cloned(),
        });
        // Nobody quarrels about where a node is drawn.
        if self.path.iter().any(|step| step == "position") && self.path.len() <= 4 {
            self.conflicts.pop();
        }
        ours.or(theirs).cloned()
    }

    fn objects(&mut self, base: &Object, ours: &Object, theirs: &Object) -> Object {
        let mut merged = Object::new();
        for (key, value) in ours {
            self.path.push(key.clone());
            let value = self.value(base.get(key), Some(value), theirs.get(key));
            self.path.pop();
            merged.extend(value.map(|value| (key.clone(), value)));
        }
        for (index, (key, value)) in
            theirs.iter().enumerate().filter(|(_, (key, _))| !ours.contains_key(*key))
        {
            self.path.push(key.clone());
            let value = self.value(base.get(key), None, Some(value));
            self.path.pop();
            let Some(value) = value else { continue };
            // It follows what it followed on their side.
            let before = theirs.keys().take(index).rev().find_map(|key| merged.get_index_of(key));
            let at = before.map_or(0, |before| before + 1);
            merged.shift_insert(at.min(merged.len()), key.clone(), value);
        }
        merged
    }

    /// Lists whose items are known by name are merged like objects; lists of words like sets. `None` for
    /// any other list.
    fn lists(&mut self, base: &[Value], ours: &[Value], theirs: &[Value]) -> Option<Vec<Value>> {
        let keys = |items: &[Value]| -> Option<Object> {
            let mut out = Object::new();
            for item in items {
                let key = match item {
                    Value::String(text) => text.clone(),
                    item => identity(item)?,
                };
                if out.insert(key, item.clone()).is_some() {
                    return None;
                }
            }
            Some(out)
        };
        let (base, ours, theirs) = (keys(base)?, keys(ours)?, keys(theirs)?);
        Some(self.objects(&base, &ours, &theirs).into_values().collect())
    }
}
