//! `stave features import`.
//!
//! Invariant: the whole file is read and judged before the first row is written. Writing a row twice is writing it
//! once, so an import that was interrupted is finished by doing it again.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use stave_canon::{Object, Timestamp, Value};
use stave_runtime::features::{FeatureBatch, FeatureGroup};
use stave_stores::{TableFault, csv_rows};

use super::arguments::Import;
use super::{group_of, store};
use crate::exit::{Exit, Stop};
use crate::{files, terminal};

/// How many rows are written in one transaction.
const BATCH: usize = 1000;
/// The longest line of a table in JSON.
const MAX_LINE_BYTES: u64 = 16 * 1024 * 1024;

type Rows = Box<dyn Iterator<Item = Result<Object, TableFault>>>;

pub(super) async fn import(arguments: &Import) -> Result<Exit, Stop> {
    let mut group = group_of(&arguments.group)?;
    if !arguments.key.is_empty() {
        group.key.clone_from(&arguments.key);
    }
    if arguments.event_time.is_some() {
        group.event_time.clone_from(&arguments.event_time);
    }
    let at = arguments.at.as_deref().map(time).transpose()?;
    let count = judge(arguments, &group, at)?;
    let store = store(&arguments.place, Some((&arguments.group, group)))?;
    let mut written = 0;
    let mut rows = rows(&arguments.file)?;
    loop {
        let batch: Vec<Object> = rows.by_ref().take(BATCH).filter_map(Result::ok).collect();
        if batch.is_empty() {
            break;
        }
        let batch = FeatureBatch {
            name: arguments.group.clone(),
            version: arguments.version,
            rows: batch,
            // Every row brings its own time where none was given, or the file would have been refused.
            event_time: at.unwrap_or(Timestamp::UNIX_EPOCH),
        };
        let more = store.write(batch).await;
        written +=
            more.map_err(|error| Stop::invalid(format!("after {written} of {count} rows: {error}")))?;
    }
    if arguments.place.json {
        let answer: Object = [
            ("group".to_owned(), arguments.group.as_str().into()),
            ("rows".to_owned(), Value::from(written)),
        ]
        .into_iter()
        .collect();
        terminal::out(&Value::Object(answer).to_string());
    } else {
        terminal::error(&format!("{written} rows are in `{}`", arguments.group));
    }
    Ok(Exit::Fine)
}

/// Reads every row once and counts them.
fn judge(arguments: &Import, group: &FeatureGroup, at: Option<Timestamp>) -> Result<usize, Stop> {
    let mut count = 0;
    for row in rows(&arguments.file)? {
        count += 1;
        let row = row.map_err(|fault| refused(&arguments.file, &fault))?;
        group.row(row, at).map_err(|reason| {
            let fault = TableFault { row: Some(count), reason };
            refused(&arguments.file, &fault)
                .help("--key and --event-time name the columns of the key and the time, --at gives a time")
        })?;
    }
    Ok(count)
}

fn rows(path: &Path) -> Result<Rows, Stop> {
    let open = || files::open_plain(path).map_err(|error| error.about(path));
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let refuse = |fault: TableFault| refused(path, &fault);
    Ok(match extension.as_str() {
        "csv" => Box::new(csv_rows(BufReader::new(open()?)).map_err(refuse)?),
        #[cfg(feature = "parquet")]
        "parquet" => Box::new(stave_stores::parquet_rows(open()?).map_err(refuse)?),
        #[cfg(not(feature = "parquet"))]
        "parquet" => return Err(Stop::without_feature("parquet", "a table in a Parquet file")),
        "jsonl" | "ndjson" => Box::new(json_rows(BufReader::new(open()?))),
        _ => {
            let message = format!("{} is not a table that can be read", path.display());
            return Err(Stop::invalid(message).help("the file must end in .csv, .parquet or .jsonl"));
        }
    })
}

fn json_rows(input: impl BufRead) -> impl Iterator<Item = Result<Object, TableFault>> {
    let lines = bounded_lines(input).enumerate();
    lines.filter(|(_, line)| line.as_ref().map_or(true, |line| !line.trim().is_empty())).map(
        |(index, line)| {
            let fault = |reason: String| TableFault { row: Some(index + 1), reason };
            let line = line.map_err(|error| fault(error.to_string()))?;
            match stave_canon::parse(&line) {
                Ok(Value::Object(row)) => Ok(row),
                Ok(other) => Err(fault(format!("a row must be an object, not {}", other.kind()))),
                Err(error) => Err(fault(error.to_string())),
            }
        },
    )
}

/// The lines of a table, none of them longer than the bound. The first one that is ends them.
fn bounded_lines(mut input: impl BufRead) -> impl Iterator<Item = io::Result<String>> {
    let mut has_ended = false;
    std::iter::from_fn(move || {
        if has_ended {
            return None;
        }
        let mut bytes = Vec::new();
        let read = input.by_ref().take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut bytes);
        let line = read.and_then(|_| {
            if bytes.len() as u64 > MAX_LINE_BYTES {
                return Err(io::Error::other(format!("the line is longer than {MAX_LINE_BYTES} bytes")));
            }
            String::from_utf8(bytes).map_err(|_| io::Error::other("the line is not UTF-8 text"))
        });
        has_ended = line.as_ref().map_or(true, String::is_empty);
        (!matches!(&line, Ok(line) if line.is_empty())).then_some(line)
    })
}

fn refused(path: &Path, fault: &TableFault) -> Stop {
    let place = fault.row.map(|row| format!(" row {row}")).unwrap_or_default();
    Stop::invalid(format!("{}{place}: {}", path.display(), fault.reason))
}

/// A time that the caller wrote.
pub(super) fn time(text: &str) -> Result<Timestamp, Stop> {
    text.parse().map_err(|_| {
        Stop::invalid(format!("`{text}` is not a time")).help("write it as 2026-03-01T00:00:00Z")
    })
}
