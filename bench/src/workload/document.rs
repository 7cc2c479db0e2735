//! A JSON document of some megabytes, in the manner of a system document: many records with nested
//! objects, text with and without escapes, integers and doubles.

use stave_canon::{Object, Value};

use super::random::Random;

const RECORDS: usize = 6000;

/// The document: an object of records by id, with keys in no order.
pub(crate) fn document() -> Value {
    let mut random = Random::new(8785);
    let mut records = Object::new();
    for number in 0..RECORDS {
        let id = format!("{}_{}_{number:05}", random.word(), random.word());
        records.insert(id, record(number, &mut random));
    }
    Value::Object(records)
}

fn record(number: usize, random: &mut Random) -> Value {
    let provenance: Vec<Value> = (0..1 + random.below(3)).map(|_| provenance(random)).collect();
    let text: Vec<String> = (0..1 + random.below(4)).map(|_| sentence(random)).collect();
    Value::from_iter([
        ("kind".to_owned(), Value::from(random.word())),
        ("id".to_owned(), Value::from(format!("node:{:016x}", random.bits()))),
        ("index".to_owned(), Value::from(number)),
        ("title".to_owned(), Value::from(sentence(random))),
        ("description".to_owned(), Value::from(text.join("\n"))),
        ("enabled".to_owned(), Value::from(random.below(2) == 0)),
        ("owner".to_owned(), Value::Null),
        ("weights".to_owned(), (0..4 + random.below(5)).map(|_| double(random)).collect::<Vec<_>>().into()),
        ("budget".to_owned(), budget(random)),
        ("provenance".to_owned(), Value::Array(provenance)),
    ])
}

fn provenance(random: &mut Random) -> Value {
    let line = random.below(4000);
    Value::from_iter([
        ("path".to_owned(), Value::from(format!("flows/{}/{}.yaml", random.word(), random.word()))),
        ("start_line".to_owned(), Value::from(line)),
        ("end_line".to_owned(), Value::from(line + random.below(80))),
        (
            "sha256".to_owned(),
            Value::from((0..4).map(|_| format!("{:016x}", random.bits())).collect::<String>()),
        ),
    ])
}

fn budget(random: &mut Random) -> Value {
    Value::from_iter([
        ("tokens".to_owned(), Value::from(random.below(200_000))),
        ("seconds".to_owned(), double(random)),
        ("money".to_owned(), double(random)),
    ])
}

/// Doubles that every writer prints alike: not integral, and within the range of plain notation.
fn double(random: &mut Random) -> Value {
    Value::from((2 * random.below(1 << 40) + 1) as f64 / (1_u64 << (1 + random.below(30))) as f64)
}

/// One sentence in eight holds something to escape, one in eight letters outside ASCII.
fn sentence(random: &mut Random) -> String {
    let sentence = random.sentence();
    match random.below(8) {
        0 => format!("\"{sentence}\"\t\\ {sentence}"),
        1 => format!("{sentence} Größe, déjà vu, 東京, 🎼."),
        _ => sentence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_some_megabytes_and_is_the_same_every_time() {
        let document = document();
        let size = stave_canon::compact_utf8(&document).len();
        assert!((3_000_000..8_000_000).contains(&size), "{size} bytes");
        assert_eq!(document, super::document());
    }

    #[test]
    fn writers_of_doubles_have_nothing_to_differ_about() {
        let mut random = Random::new(1);
        for _ in 0..1000 {
            let value = double(&mut random);
            assert_eq!(stave_canon::rfc8785(&value), stave_canon::compact_utf8(&value));
            assert_eq!(stave_canon::rfc8785(&value), value.to_serde().to_string());
        }
    }
}
