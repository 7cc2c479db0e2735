//! Taking an object apart by known fields, and putting it together again with what was left.
//!
//! A field is taken only when its value has the wanted type; everything else stays behind and ends up in
//! `extra`. What is left of a nested object goes back under its key, and [`merge`] puts it into the nested
//! object of the same name when the request is written again.

use stave_canon::{Object, Value};

use crate::{CacheMark, CacheTtl, ErrorKind};

/// The most tokens that one exchange is believed to have.
const MOST_TOKENS: u64 = 1 << 30;

/// An object that is being taken apart.
#[derive(Debug)]
pub(super) struct Fields(Object);

impl Fields {
    /// `None`, and the value back, when it is not an object.
    pub(super) fn of(value: Value) -> Result<Self, Value> {
        match value {
            Value::Object(object) => Ok(Fields(object)),
            other => Err(other),
        }
    }

    pub(super) fn required(value: Value, what: &str) -> Result<Self, ErrorKind> {
        Fields::of(value)
            .map_err(|value| ErrorKind::Decode(format!("{what} must be an object, not {}", value.kind())))
    }

    fn take_if(&mut self, key: &str, wanted: impl Fn(&Value) -> bool) -> Option<Value> {
        if self.0.get(key).is_some_and(wanted) { self.0.shift_remove(key) } else { None }
    }

    pub(super) fn value(&mut self, key: &str) -> Option<Value> {
        self.0.shift_remove(key)
    }

    pub(super) fn peek(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    pub(super) fn peek_str(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str)
    }

    pub(super) fn string(&mut self, key: &str) -> Option<String> {
        match self.take_if(key, |value| matches!(value, Value::String(_))) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn array(&mut self, key: &str) -> Option<Vec<Value>> {
        match self.take_if(key, |value| matches!(value, Value::Array(_))) {
            Some(Value::Array(items)) => Some(items),
            _ => None,
        }
    }

    pub(super) fn object(&mut self, key: &str) -> Option<Object> {
        match self.take_if(key, |value| matches!(value, Value::Object(_))) {
            Some(Value::Object(object)) => Some(object),
            _ => None,
        }
    }

    /// A nested object to be taken apart as well; give its rest to [`Fields::give_back`].
    pub(super) fn nested(&mut self, key: &str) -> Option<Fields> {
        self.object(key).map(Fields)
    }

    pub(super) fn bool(&mut self, key: &str) -> Option<bool> {
        self.take_if(key, |value| matches!(value, Value::Bool(_)))?.as_bool()
    }

    pub(super) fn f64(&mut self, key: &str) -> Option<f64> {
        self.take_if(key, |value| value.as_f64().is_some_and(f64::is_finite))?.as_f64()
    }

    pub(super) fn i64(&mut self, key: &str) -> Option<i64> {
        self.take_if(key, |value| value.as_i64().is_some())?.as_i64()
    }

    pub(super) fn u64(&mut self, key: &str) -> Option<u64> {
        let wanted = |value: &Value| value.as_i64().is_some_and(|number| number >= 0);
        self.take_if(key, wanted)?.as_i64().and_then(|number| u64::try_from(number).ok())
    }

    /// A count of tokens. Servers write counts as whole numbers, and some as decimals or texts of one. A count that
    /// no exchange can have is not taken: unknown is not zero, and not everything either.
    pub(super) fn tokens(&mut self, key: &str) -> Option<u64> {
        let read = |value: &Value| {
            let whole = value.as_i64().and_then(|count| u64::try_from(count).ok());
            let decimal = || value.as_f64().filter(|count| (0.0..=MOST_TOKENS as f64).contains(count));
            let text = || value.as_str().and_then(|text| text.trim().parse::<u64>().ok());
            whole
                .or_else(|| decimal().map(|count| count.ceil() as u64))
                .or_else(text)
                .filter(|count| *count <= MOST_TOKENS)
        };
        let count = self.0.get(key).and_then(read)?;
        self.0.shift_remove(key);
        Some(count)
    }

    /// A list whose items are all strings.
    pub(super) fn strings(&mut self, key: &str) -> Option<Vec<String>> {
        let all = |value: &Value| {
            value.as_array().is_some_and(|items| items.iter().all(|item| item.as_str().is_some()))
        };
        match self.take_if(key, all) {
            Some(Value::Array(items)) => {
                Some(items.iter().filter_map(Value::as_str).map(str::to_owned).collect())
            }
            _ => None,
        }
    }

    pub(super) fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }

    /// Removes `key` when it holds exactly `value`.
    pub(super) fn drop_if(&mut self, key: &str, value: &str) {
        self.take_if(key, |existing| existing.as_str() == Some(value));
    }

    pub(super) fn give_back(&mut self, key: &str, rest: Fields) {
        if !rest.0.is_empty() {
            self.put(key, rest.0);
        }
    }

    /// What nobody took.
    pub(super) fn rest(self) -> Object {
        self.0
    }
}

/// Adds what `extra` holds and `object` does not, nested objects included. What is already there wins.
pub(super) fn merge(object: &mut Object, extra: &Object) {
    for (key, value) in extra {
        match (object.get_mut(key), value) {
            (Some(Value::Object(inner)), Value::Object(more)) => merge(inner, more),
            (Some(_), _) => {}
            (None, value) => {
                object.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Inserts a value when there is one.
pub(super) fn put(object: &mut Object, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        object.insert(key.to_owned(), value.into());
    }
}

/// An object of the given members.
pub(super) fn object<const N: usize>(members: [(&str, Value); N]) -> Object {
    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

impl CacheTtl {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            CacheTtl::FiveMinutes => "5m",
            CacheTtl::OneHour => "1h",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "5m" => Some(CacheTtl::FiveMinutes),
            "1h" => Some(CacheTtl::OneHour),
            _ => None,
        }
    }
}

/// `cache_control` in Anthropic's words.
pub(super) fn cache_control(mark: CacheMark) -> Value {
    let mut control = object([("type", "ephemeral".into())]);
    put(&mut control, "ttl", mark.ttl.map(CacheTtl::as_str));
    Value::Object(control)
}

/// Takes `cache_control` when it is one that [`cache_control`] writes.
pub(super) fn take_cache_control(fields: &mut Fields) -> Option<CacheMark> {
    let control = fields.peek("cache_control")?.as_object()?;
    if control.get("type").and_then(Value::as_str) != Some("ephemeral") {
        return None;
    }
    let mark = match (control.get("ttl"), control.len()) {
        (None, 1) => CacheMark { ttl: None },
        (Some(ttl), 2) => CacheMark { ttl: Some(CacheTtl::parse(ttl.as_str()?)?) },
        _ => return None,
    };
    fields.value("cache_control");
    Some(mark)
}

/// JSON text on one line, as wires carry arguments.
pub(crate) fn compact(value: &Value) -> String {
    value.to_string()
}
