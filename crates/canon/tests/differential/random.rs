//! Random JSON values that go where implementations differ, from a fixed seed, and a neutral text for
//! them: no number or string of it depends on any JSON writer's opinion.

use stave_canon::{Number, Object, Value};

/// SplitMix64: small, well distributed, and the same on every machine.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.bits() % bound
    }

    pub(crate) fn value(&mut self) -> Value {
        self.value_within(4)
    }

    fn value_within(&mut self, depth: u64) -> Value {
        match self.below(if depth == 0 { 8 } else { 12 }) {
            0 => Value::Null,
            1 => Value::Bool(self.below(2) == 1),
            2 | 3 => Value::Number(Number::Float(self.float())),
            4 | 5 => Value::Number(self.integer()),
            6 | 7 => Value::String(self.string()),
            8 | 9 => (0..self.below(5)).map(|_| self.value_within(depth - 1)).collect::<Vec<_>>().into(),
            _ => {
                let members = (0..self.below(6)).map(|_| (self.string(), self.value_within(depth - 1)));
                Value::Object(members.collect::<Object>())
            }
        }
    }

    /// Finite doubles of every magnitude, with weight on the places where digits are hard to choose:
    /// subnormals, powers of two and ten and their neighbours, exact ties, and the ends of notations.
    pub(crate) fn float(&mut self) -> f64 {
        let value = match self.below(9) {
            0 => f64::from_bits(self.bits()),
            1 => f64::from_bits(self.below(1 << 52)),
            2 => f64::from_bits((self.below(2047) << 52) + self.below(3)),
            3 => 10_f64.powi(self.below(632) as i32 - 323),
            4 => (self.below(1 << 54) as f64) / 10_f64.powi(self.below(20) as i32),
            5 => (self.bits() >> self.below(12)) as f64,
            6 => (self.below(4000) as f64) / 8.0,
            7 => ((self.below(1 << 53) as f64) + 0.5) * 2_f64.powi(self.below(120) as i32 - 60),
            _ => 10_f64.powi(self.below(26) as i32 - 6),
        };
        let neighbour = f64::from_bits(value.to_bits().wrapping_add(self.below(3)).wrapping_sub(1));
        let value = if neighbour.is_finite() { neighbour } else { 0.0 };
        if self.below(2) == 0 { value } else { -value }
    }

    pub(crate) fn integer(&mut self) -> Number {
        let digits = match self.below(6) {
            0 => return Number::Int(self.below(2000) as i64 - 1000),
            1 => return Number::Int(self.bits() as i64),
            2 => return Number::from(i128::from(i64::MAX) + i128::from(self.below(5)) - 2),
            3 => return Number::from(i128::from(i64::MIN) + i128::from(self.below(5)) - 2),
            4 => self.below(40),
            _ if self.below(200) == 0 => 4000 + self.below(2000),
            _ => self.below(400),
        };
        let mut text = if self.below(2) == 0 { "-".to_owned() } else { String::new() };
        text.push(char::from(b'1' + self.below(9) as u8));
        text.extend((0..digits).map(|_| char::from(b'0' + self.below(10) as u8)));
        Number::integer(&text).unwrap()
    }

    pub(crate) fn string(&mut self) -> String {
        (0..self.below(9)).map(|_| self.character()).collect()
    }

    fn character(&mut self) -> char {
        let code = match self.below(8) {
            0 => self.below(0x20),
            1 => return ['"', '\\', '/', '\u{7f}', '\u{80}', '\u{2028}', '\u{2029}'][self.below(7) as usize],
            2 => 0x80 + self.below(0x780),
            3 => 0x800 + self.below(0xf800),
            // Private use, specials and the last characters of the plane sort apart in UTF-16.
            4 => 0xe000 + self.below(0x2000),
            5 => 0x1_0000 + self.below(0x10_0000),
            _ => 0x20 + self.below(0x5f),
        };
        char::from_u32(code as u32).unwrap_or('\u{fffd}')
    }
}

/// The value as tagged JSON of ASCII letters, digits and brackets: doubles by their bits, integers by
/// their digits in a string, strings by their code points, objects as pairs in order.
pub(crate) fn neutral(value: &Value) -> String {
    let list = |parts: Vec<String>| format!("[{}]", parts.join(","));
    let string = |text: &str| list(text.chars().map(|character| (character as u32).to_string()).collect());
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(Number::Float(value)) => format!("{{\"f\":\"{:016x}\"}}", value.to_bits()),
        Value::Number(Number::Int(value)) => format!("{{\"i\":\"{value}\"}}"),
        Value::Number(Number::Big(digits)) => format!("{{\"i\":\"{digits}\"}}"),
        Value::String(text) => format!("{{\"s\":{}}}", string(text)),
        Value::Array(items) => format!("{{\"a\":{}}}", list(items.iter().map(neutral).collect())),
        Value::Object(object) => {
            let pairs = object.iter().map(|(key, value)| format!("[{},{}]", string(key), neutral(value)));
            format!("{{\"o\":{}}}", list(pairs.collect()))
        }
    }
}

/// The value that [`neutral`] gave as parsed `tagged`.
pub(crate) fn from_neutral(tagged: &Value) -> Value {
    let string = |codes: &Value| -> String {
        let codes = codes.as_array().unwrap().iter().map(|code| code.as_i64().unwrap());
        codes.map(|code| char::from_u32(u32::try_from(code).unwrap()).unwrap()).collect()
    };
    let Some(tagged) = tagged.as_object() else { return tagged.clone() };
    let (tag, content) = tagged.first().unwrap();
    match tag.as_str() {
        "f" => Value::from(f64::from_bits(u64::from_str_radix(content.as_str().unwrap(), 16).unwrap())),
        "i" => Value::Number(Number::integer(content.as_str().unwrap()).unwrap()),
        "s" => Value::String(string(content)),
        "a" => content.as_array().unwrap().iter().map(from_neutral).collect::<Vec<_>>().into(),
        "o" => {
            let pairs = content.as_array().unwrap().iter().map(|pair| pair.as_array().unwrap());
            Value::from_iter(pairs.map(|pair| (string(&pair[0]), from_neutral(&pair[1]))))
        }
        other => panic!("unknown tag {other}"),
    }
}
