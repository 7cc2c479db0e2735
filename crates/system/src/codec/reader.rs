//! Typed access to the members of JSON objects, noting a fault wherever one is not what it must be.
//!
//! A faulty member is answered with an empty stand-in, so that reading goes on and finds the other
//! faults. Stand-ins never leave the codec: with a single fault noted, [`Reader::finish`] refuses.

use stave_canon::{Number, Object, Pointer, Value};

use stave_diag::Code;

use crate::{Fault, LoadError, codes, strip};

#[derive(Debug, Default)]
pub(crate) struct Reader {
    faults: Vec<Fault>,
}

/// An object under its pointer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Members<'v> {
    pub(crate) object: &'v Object,
    pub(crate) pointer: &'v Pointer,
}

/// What an explicit `null` stands for where a member is optional.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Null {
    IsAbsent,
    IsFault,
}

impl Reader {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn fault(&mut self, code: Code, pointer: &Pointer, message: impl Into<String>) {
        self.faults.push(Fault { code, pointer: pointer.clone(), message: message.into() });
    }

    /// Takes back every fault: what they were about turned out not to count.
    pub(crate) fn forget(&mut self) {
        self.faults.clear();
    }

    pub(crate) fn note(&mut self, faults: Vec<Fault>) {
        self.faults.extend(faults);
    }

    /// `result`, unless a fault was noted on the way to it.
    pub(crate) fn finish<T>(self, result: Option<T>) -> Result<T, LoadError> {
        match result {
            Some(result) if self.faults.is_empty() => Ok(result),
            _ => Err(LoadError::Faults(self.faults)),
        }
    }

    /// The members of `value`, which must be an object.
    pub(crate) fn object<'v>(&mut self, value: &'v Value, pointer: &'v Pointer) -> Option<Members<'v>> {
        let Some(object) = value.as_object() else {
            self.wrong_type(pointer, "an object", value);
            return None;
        };
        Some(Members { object, pointer })
    }

    /// Notes every key of an object that is not in `known`.
    pub(crate) fn only(&mut self, members: Members<'_>, known: &[&str]) {
        for key in members.object.keys().filter(|key| !known.contains(&key.as_str())) {
            self.fault(codes::SYSTEM_UNKNOWN_KEY, &members.pointer.key(key), format!("unknown key {key:?}"));
        }
    }

    /// A required member.
    pub(crate) fn required<'v>(&mut self, members: Members<'v>, key: &str) -> Option<&'v Value> {
        let value = members.object.get(key);
        if value.is_none() {
            self.fault(codes::SYSTEM_MISSING_FIELD, members.pointer, format!("`{key}` is missing"));
        }
        value
    }

    /// A required string that is not blank, as it was written.
    pub(crate) fn written_text(&mut self, members: Members<'_>, key: &str) -> String {
        // Where everything is as it should be, no pointer is made: that would take longer than reading.
        if let Some(Value::String(text)) = members.object.get(key)
            && !strip(text).is_empty()
        {
            return text.clone();
        }
        let text = self.required(members, key).map(|value| self.text(value, &members.pointer.key(key)));
        text.flatten().unwrap_or_default().to_owned()
    }

    /// A required string that is not blank, without the white space around it.
    pub(crate) fn stripped_text(&mut self, members: Members<'_>, key: &str) -> String {
        strip(&self.written_text(members, key)).to_owned()
    }

    /// `value` as a string that is not blank.
    pub(crate) fn text<'v>(&mut self, value: &'v Value, pointer: &Pointer) -> Option<&'v str> {
        let text = self.string(value, pointer)?;
        if strip(text).is_empty() {
            self.fault(codes::SYSTEM_BAD_VALUE, pointer, "must not be blank");
            return None;
        }
        Some(text)
    }

    pub(crate) fn string<'v>(&mut self, value: &'v Value, pointer: &Pointer) -> Option<&'v str> {
        if value.as_str().is_none() {
            self.wrong_type(pointer, "a string", value);
        }
        value.as_str()
    }

    /// An optional member; `null` means what `null` says.
    pub(crate) fn optional<'v>(
        &mut self,
        members: Members<'v>,
        key: &str,
        null: Null,
        wanted: &str,
    ) -> Option<&'v Value> {
        match members.object.get(key) {
            Some(Value::Null) if null == Null::IsAbsent => None,
            Some(value @ Value::Null) => {
                self.wrong_type(&members.pointer.key(key), wanted, value);
                None
            }
            value => value,
        }
    }

    /// An optional free-form object.
    pub(crate) fn optional_object(&mut self, members: Members<'_>, key: &str, null: Null) -> Option<Object> {
        let value = self.optional(members, key, null, "an object")?;
        if let Value::Object(object) = value {
            return Some(object.clone());
        }
        self.wrong_type(&members.pointer.key(key), "an object", value);
        None
    }

    /// An optional list of strings, each as it was written.
    pub(crate) fn optional_strings(&mut self, members: Members<'_>, key: &str, null: Null) -> Vec<String> {
        let Some(value) = self.optional(members, key, null, "an array of strings") else { return Vec::new() };
        let strings = value.as_array().map(|items| items.iter().map(Value::as_str));
        if let Some(strings) = strings.and_then(Iterator::collect::<Option<Vec<_>>>) {
            return strings.into_iter().map(str::to_owned).collect();
        }
        self.strings(value, &members.pointer.key(key))
    }

    fn strings(&mut self, value: &Value, pointer: &Pointer) -> Vec<String> {
        let items = self.items(value, pointer).iter().enumerate();
        items
            .filter_map(|(index, item)| self.string(item, &pointer.index(index)))
            .map(str::to_owned)
            .collect()
    }

    /// A required list of strings that are not blank, at least one, without the white space around them.
    pub(crate) fn keys(&mut self, members: Members<'_>, key: &str) -> Vec<String> {
        let pointer = members.pointer.key(key);
        let items = self.filled_items(members, key).iter().enumerate();
        items
            .filter_map(|(index, item)| self.text(item, &pointer.index(index)))
            .map(|text| strip(text).to_owned())
            .collect()
    }

    /// The items of a required list with at least one.
    pub(crate) fn filled_items<'v>(&mut self, members: Members<'v>, key: &str) -> &'v [Value] {
        let Some(value) = self.required(members, key) else { return &[] };
        let pointer = members.pointer.key(key);
        if value.as_array().is_some_and(<[Value]>::is_empty) {
            self.fault(codes::SYSTEM_BAD_VALUE, &pointer, "must not be empty");
        }
        self.items(value, &pointer)
    }

    pub(crate) fn items<'v>(&mut self, value: &'v Value, pointer: &Pointer) -> &'v [Value] {
        if value.as_array().is_none() {
            self.wrong_type(pointer, "an array", value);
        }
        value.as_array().unwrap_or_default()
    }

    /// An optional integer that is not negative; `null` is the same as absent.
    pub(crate) fn optional_count(&mut self, members: Members<'_>, key: &str) -> Option<Number> {
        let value = self.optional(members, key, Null::IsAbsent, "an integer")?;
        let pointer = members.pointer.key(key);
        let Some(number) = value.as_number().filter(|number| number.is_integer()) else {
            self.wrong_type(&pointer, "an integer", value);
            return None;
        };
        if number.compare(&Number::Int(0)).is_some_and(std::cmp::Ordering::is_lt) {
            self.fault(codes::SYSTEM_BAD_VALUE, &pointer, "must not be negative");
            return None;
        }
        Some(number.clone())
    }

    /// One of a closed set of words.
    pub(crate) fn word<T: Copy>(
        &mut self,
        pointer: &Pointer,
        word: &str,
        all: &[T],
        spell: impl Fn(T) -> &'static str,
    ) -> Option<T> {
        let found = all.iter().copied().find(|candidate| spell(*candidate) == word);
        if found.is_none() {
            let allowed: Vec<&str> = all.iter().map(|candidate| spell(*candidate)).collect();
            self.fault(
                codes::SYSTEM_BAD_VALUE,
                pointer,
                format!("{word:?} is none of {}", allowed.join(", ")),
            );
        }
        found
    }

    pub(crate) fn wrong_type(&mut self, pointer: &Pointer, wanted: &str, found: &Value) {
        self.fault(
            codes::SYSTEM_WRONG_TYPE,
            pointer,
            format!("must be {wanted}, not {}", with_article(found.kind())),
        );
    }
}

fn with_article(kind: &str) -> String {
    match kind {
        "null" => kind.to_owned(),
        "array" | "object" | "integer" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}
