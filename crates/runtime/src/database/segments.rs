//! Long lists and texts that grow at their end, kept once: a record holds references to them.
//!
//! The history of a session is remembered and passes through the steps of every turn. Written out each time, n turns
//! would take room for n² of them. So a long list or text is kept as a chain of segments, each with the hash of
//! everything up to its end. A value that continues one that is kept adds one segment with what is new.
//!
//! Invariants: a segment has as many uses as records and segments that refer to it, and goes with the last of them. A
//! segment never changes. What is read back is what was written.

use rusqlite::{Connection, OptionalExtension, params};
use stave_canon::{Object, Sha256, Value};

/// A shorter list or text is written out.
const LIST_BYTES: usize = 2048;
const LIST_ITEMS: usize = 4;
const TEXT_BYTES: usize = 4096;

/// A text is cut into pieces of this length, so that its beginning is found again when it has grown.
const PIECE_BYTES: usize = 1024;

/// How many ends are looked for from the last item back, so that a list that is not kept costs little.
const LOOK_BACK: usize = 64;

/// How many segments go in one statement.
const SWEPT_AT_ONCE: u32 = 256;

/// The tables of this module.
pub(super) const TABLES: &str = "
CREATE TABLE segment (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,
    previous INTEGER,
    items TEXT NOT NULL,
    uses INTEGER NOT NULL
) STRICT;
CREATE INDEX segment_unused ON segment (id) WHERE uses <= 0;
ALTER TABLE step ADD COLUMN segments TEXT;
ALTER TABLE state_record ADD COLUMN segments TEXT;
ALTER TABLE run ADD COLUMN result_segments TEXT;
CREATE TRIGGER run_removed AFTER DELETE ON run WHEN OLD.result_segments IS NOT NULL BEGIN
    UPDATE segment SET uses = uses - 1
    WHERE id IN (SELECT json_extract(value, '$[0]') FROM json_each(OLD.result_segments));
END;
CREATE TRIGGER step_removed AFTER DELETE ON step WHEN OLD.segments IS NOT NULL BEGIN
    UPDATE segment SET uses = uses - 1
    WHERE id IN (SELECT json_extract(value, '$[0]') FROM json_each(OLD.segments));
END;
CREATE TRIGGER step_replaced AFTER UPDATE OF segments ON step WHEN OLD.segments IS NOT NULL BEGIN
    UPDATE segment SET uses = uses - 1
    WHERE id IN (SELECT json_extract(value, '$[0]') FROM json_each(OLD.segments));
END;
CREATE TRIGGER state_record_removed AFTER DELETE ON state_record WHEN OLD.segments IS NOT NULL BEGIN
    UPDATE segment SET uses = uses - 1
    WHERE id IN (SELECT json_extract(value, '$[0]') FROM json_each(OLD.segments));
END;
CREATE TRIGGER state_record_replaced AFTER UPDATE OF segments ON state_record WHEN OLD.segments IS NOT NULL BEGIN
    UPDATE segment SET uses = uses - 1
    WHERE id IN (SELECT json_extract(value, '$[0]') FROM json_each(OLD.segments));
END;
";

/// A record whose long parts are kept apart.
#[derive(Debug)]
pub(crate) struct Folded {
    /// The record with `null` where a part was.
    text: String,
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    /// Keys and indexes from the record to the part.
    path: Vec<Value>,
    kind: Kind,
    /// The items of a list, or the pieces of a text, as JSON.
    items: Vec<String>,
    /// By item, the hash of everything up to its end.
    ends: Vec<[u8; 32]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    List,
    Text,
}

/// Which parts of a record may be kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// The fields of a state record, or the output of a run.
    Fields,
    /// The result of a step. The lists of its own structure stay where they are.
    Step,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::List => "list",
            Kind::Text => "text",
        }
    }
}

/// Takes the long parts out of a record.
pub(crate) fn fold(mut record: Value, shape: Shape) -> Folded {
    let mut parts = Vec::new();
    take(&mut record, shape, &mut Vec::new(), &mut parts);
    Folded { text: record.to_string(), parts }
}

fn take(value: &mut Value, shape: Shape, path: &mut Vec<Value>, parts: &mut Vec<Part>) {
    match value {
        Value::String(text) if text.len() >= TEXT_BYTES => {
            let items = pieces(text).map(|piece| Value::from(piece).to_string()).collect();
            parts.push(Part::new(path.clone(), Kind::Text, items));
            *value = Value::Null;
        }
        Value::Array(list) => {
            if list.len() >= LIST_ITEMS && is_content(shape, path) {
                let items: Vec<String> = list.iter().map(ToString::to_string).collect();
                if items.iter().map(String::len).sum::<usize>() >= LIST_BYTES {
                    parts.push(Part::new(path.clone(), Kind::List, items));
                    *value = Value::Null;
                    return;
                }
            }
            for (index, item) in list.iter_mut().enumerate() {
                path.push(index.into());
                take(item, shape, path, parts);
                path.pop();
            }
        }
        Value::Object(members) => {
            for (key, member) in members {
                path.push(key.as_str().into());
                take(member, shape, path, parts);
                path.pop();
            }
        }
        _ => {}
    }
}

/// Whether a list is what a flow made, and not the structure of a record.
fn is_content(shape: Shape, path: &[Value]) -> bool {
    match (shape, path.first().and_then(Value::as_str)) {
        (Shape::Fields, _) => true,
        (Shape::Step, Some("outputs")) => path.len() > 1,
        (Shape::Step, Some("signals")) => path.len() > 2,
        (Shape::Step, _) => false,
    }
}

fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
        rest = after;
        Some(piece)
    })
}

impl Part {
    fn new(path: Vec<Value>, kind: Kind, items: Vec<String>) -> Part {
        let mut end = stave_canon::sha256(kind.word());
        let ends = items.iter().map(|item| {
            let mut hash = Sha256::new();
            hash.update(&end);
            hash.update(item.as_bytes());
            end = hash.finish();
            end
        });
        let ends = ends.collect();
        Part { path, kind, items, ends }
    }

    /// Keeps the part, and gives the segment that it ends with.
    fn store(&self, connection: &Connection) -> rusqlite::Result<Option<i64>> {
        let count = self.items.len();
        let (mut last, mut kept) = (None, 0);
        for end in (count.saturating_sub(LOOK_BACK).max(1)..=count).rev() {
            let hash = self.ends.get(end - 1).map(<[u8; 32]>::as_slice);
            let found: Option<i64> = connection
                .prepare_cached("SELECT id FROM segment WHERE hash = ?1")?
                .query_row(params![hash], |row| row.get(0))
                .optional()?;
            if found.is_some() {
                (last, kept) = (found, end);
                break;
            }
        }
        // The last piece of a text is not whole, so what comes before it is what a longer text continues.
        let whole = if self.kind == Kind::Text { count - 1 } else { count };
        for end in [whole, count] {
            if end <= kept {
                continue;
            }
            let items = self.items.get(kept..end).unwrap_or_default().join(",");
            let hash = self.ends.get(end - 1).map(<[u8; 32]>::as_slice);
            let id: i64 = connection
                .prepare_cached(
                    "INSERT INTO segment (hash, previous, items, uses) VALUES (?1, ?2, ?3, 0) RETURNING id",
                )?
                .query_row(params![hash, last, items], |row| row.get(0))?;
            if let Some(previous) = last {
                use_once(connection, previous)?;
            }
            (last, kept) = (Some(id), end);
        }
        Ok(last)
    }
}

impl Folded {
    /// The bytes of the whole record.
    pub(crate) fn bytes(&self) -> usize {
        let parts = self.parts.iter().flat_map(|part| &part.items).map(|item| item.len() + 1);
        self.text.len().saturating_add(parts.sum())
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Keeps the parts inside the caller's transaction, and gives the references to them.
    pub(crate) fn store(&self, connection: &Connection) -> rusqlite::Result<Option<String>> {
        let (mut references, mut used) = (Vec::new(), Vec::new());
        for part in &self.parts {
            let Some(id) = part.store(connection)? else { continue };
            // A record uses a segment once, however often it refers to it.
            if !used.contains(&id) {
                use_once(connection, id)?;
                used.push(id);
            }
            let path = Value::Array(part.path.clone());
            references.push(Value::Array(vec![id.into(), part.kind.word().into(), path]));
        }
        Ok((!references.is_empty()).then(|| Value::Array(references).to_string()))
    }
}

fn use_once(connection: &Connection, id: i64) -> rusqlite::Result<()> {
    connection.prepare_cached("UPDATE segment SET uses = uses + 1 WHERE id = ?1")?.execute(params![id])?;
    Ok(())
}

/// A record that cannot be put together.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unfoldable {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error("{0}")]
    Damaged(String),
}

/// Puts a record together from its text and its references.
pub(crate) fn unfold(
    connection: &Connection,
    text: &str,
    references: Option<&str>,
) -> Result<Value, Unfoldable> {
    let parse = |text: &str| stave_canon::parse(text).map_err(|error| Unfoldable::Damaged(error.to_string()));
    let damaged = || Unfoldable::Damaged("a reference to a part leads nowhere".to_owned());
    let mut record = parse(text)?;
    let Some(references) = references else { return Ok(record) };
    let references = parse(references)?;
    for reference in references.as_array().unwrap_or_default() {
        let [id, kind, path] = reference.as_array().unwrap_or_default() else { return Err(damaged()) };
        let (Some(id), Some(path)) = (id.as_i64(), path.as_array()) else { return Err(damaged()) };
        let mut items = parse(&read(connection, id)?)?;
        if kind.as_str() == Some(Kind::Text.word()) {
            let pieces = items.as_array().unwrap_or_default().iter().filter_map(Value::as_str);
            items = Value::String(pieces.collect());
        }
        *at(&mut record, path).ok_or_else(damaged)? = items;
    }
    Ok(record)
}

/// The items up to the end of a segment, as a JSON list.
fn read(connection: &Connection, id: i64) -> Result<String, Unfoldable> {
    let mut statement = connection.prepare_cached(
        "WITH RECURSIVE chain (depth, previous, items) AS (
             SELECT 0, previous, items FROM segment WHERE id = ?1
             UNION ALL
             SELECT chain.depth + 1, segment.previous, segment.items
             FROM chain JOIN segment ON segment.id = chain.previous
         )
         SELECT items FROM chain ORDER BY depth DESC",
    )?;
    let mut rows = statement.query(params![id])?;
    let mut list = "[".to_owned();
    while let Some(row) = rows.next()? {
        if list.len() > 1 {
            list.push(',');
        }
        list.push_str(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?);
    }
    if list.len() == 1 {
        return Err(Unfoldable::Damaged("a part of a record is missing".to_owned()));
    }
    list.push(']');
    Ok(list)
}

fn at<'v>(record: &'v mut Value, path: &[Value]) -> Option<&'v mut Value> {
    path.iter().try_fold(record, |value, step| match (value, step) {
        (Value::Object(members), Value::String(key)) => Object::get_mut(members, key.as_str()),
        (Value::Array(items), index) => items.get_mut(usize::try_from(index.as_i64()?).ok()?),
        _ => None,
    })
}

/// Removes the segments that nothing uses any more.
pub(crate) fn sweep(connection: &Connection) -> rusqlite::Result<()> {
    loop {
        let mut statement = connection.prepare_cached(
            "DELETE FROM segment WHERE id IN (SELECT id FROM segment WHERE uses <= 0 LIMIT ?1)
             RETURNING previous",
        )?;
        let removed: Vec<Option<i64>> =
            statement.query_map(params![SWEPT_AT_ONCE], |row| row.get(0))?.collect::<Result<_, _>>()?;
        if removed.is_empty() {
            return Ok(());
        }
        for previous in removed.into_iter().flatten() {
            connection
                .prepare_cached("UPDATE segment SET uses = uses - 1 WHERE id = ?1")?
                .execute(params![previous])?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        let tables = "CREATE TABLE step (id INTEGER PRIMARY KEY, record TEXT);
            CREATE TABLE run (id INTEGER PRIMARY KEY);
            CREATE TABLE state_record (id INTEGER PRIMARY KEY, fields TEXT);";
        connection.execute_batch(tables).unwrap();
        connection.execute_batch(TABLES).unwrap();
        connection
    }

    fn number(connection: &Connection, query: &str) -> i64 {
        connection.query_row(query, [], |row| row.get(0)).unwrap()
    }

    fn keep(connection: &Connection, id: i64, record: &Value, shape: Shape) {
        let folded = fold(record.clone(), shape);
        let references = folded.store(connection).unwrap();
        connection
            .execute(
                "INSERT INTO step (id, record, segments) VALUES (?1, ?2, ?3)
                 ON CONFLICT (id) DO UPDATE SET record = excluded.record, segments = excluded.segments",
                params![id, folded.text(), references],
            )
            .unwrap();
        let read = unfold(connection, folded.text(), references.as_deref()).unwrap();
        assert_eq!(read, *record);
    }

    fn turn(number: usize) -> Value {
        Value::from_iter([
            ("role", Value::from("user")),
            ("text", format!("{number} {}", "ü".repeat(40)).into()),
        ])
    }

    #[test]
    fn a_history_of_n_turns_takes_room_for_n_and_none_when_its_records_are_gone() {
        let connection = database();
        let (mut history, mut transcript) = (Vec::new(), String::new());
        for number in 0..400_usize {
            history.push(turn(number));
            transcript.push_str(&turn(number).to_string());
            let outputs = Value::from_iter([
                ("history", Value::Array(history.clone())),
                ("transcript", transcript.as_str().into()),
            ]);
            let record = Value::from_iter([("outputs", outputs)]);
            keep(&connection, i64::try_from(number).unwrap(), &record, Shape::Step);
        }
        let written = number(&connection, "SELECT sum(length(items)) FROM segment");
        let once = i64::try_from(Value::Array(history).to_string().len() + transcript.len()).unwrap();
        // A text keeps the piece that is not whole once more in each turn.
        assert!(written < once + 400 * 1400, "{written} for {once}");
        connection.execute("DELETE FROM step WHERE id < 399", []).unwrap();
        sweep(&connection).unwrap();
        let left: (String, Option<String>) = connection
            .query_row("SELECT record, segments FROM step", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        let read = unfold(&connection, &left.0, left.1.as_deref()).unwrap();
        assert_eq!(read.pointer("/outputs/history").and_then(Value::as_array).map(<[Value]>::len), Some(400));
        connection.execute("DELETE FROM step", []).unwrap();
        sweep(&connection).unwrap();
        assert_eq!(number(&connection, "SELECT count(*) FROM segment"), 0);
    }

    #[test]
    fn records_that_are_replaced_shortened_or_the_same_twice_are_read_back() {
        let connection = database();
        let long: Vec<Value> = (0..60).map(turn).collect();
        let fields = |list: &[Value]| {
            Value::from_iter([("a", Value::Array(list.to_vec())), ("b", list.to_vec().into())])
        };
        for list in [&long[..], &long[..30], &long[10..], &long[..], &[][..]] {
            keep(&connection, 1, &fields(list), Shape::Fields);
            sweep(&connection).unwrap();
        }
        assert_eq!(number(&connection, "SELECT count(*) FROM segment"), 0);
    }

    #[test]
    fn the_lists_of_a_record_stay_and_its_texts_go() {
        let reports: Vec<Value> =
            (0..8).map(|_| Value::from_iter([("text", Value::from("x".repeat(5000)))])).collect();
        let folded = fold(Value::from_iter([("reports", reports)]), Shape::Step);
        assert_eq!(folded.parts.len(), 8);
        assert!(folded.text().starts_with(r#"{"reports":[{"text":null}"#), "{}", folded.text());
        assert!(folded.bytes() > 40_000);
    }
}
