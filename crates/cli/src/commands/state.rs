//! `stave state`: what the nodes of flows remember, in the project's own file.
//!
//! Invariant: what a run in progress may work on is not deleted. Restricted values, and the keys and sessions of records that
//! hold them, are shown only when that is asked for.

mod arguments;

use stave_block::Sensitivity;
use stave_canon::{Clock, Object, Timestamp, Value, sha256_hex};
use stave_runtime::state::{Forgotten, LABEL_FIELD, Record, RecordKey, SqliteStore, label_of};

pub(crate) use arguments::State;

use self::arguments::{Delete, List, Show, StateCommand, Which};
use crate::exit::{Exit, Stop};
use crate::ports::SystemClock;
use crate::state_archive::StateArchive;
use crate::table;
use crate::terminal::{self, Terminal};

/// How many digits of its hash name a record.
const ID_DIGITS: usize = 12;

const HIDDEN: &str = "[restricted]";

/// A record, and what it is called.
struct Kept {
    id: String,
    key: RecordKey,
    flow: String,
    scope: String,
    /// The session or the run that it belongs to.
    owner: String,
    name: String,
    record: Record,
    expires_at: Option<Timestamp>,
}

pub(crate) fn state(arguments: &State, terminal: Terminal) -> Result<Exit, Stop> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::internal(format!("the runtime cannot be started: {error}")))?;
    runtime.block_on(async {
        match &arguments.command {
            StateCommand::List(arguments) => list(arguments, terminal).await,
            StateCommand::Show(arguments) => show(arguments).await,
            StateCommand::Delete(arguments) => delete(arguments).await,
        }
    })
}

async fn records(store: &SqliteStore, which: &Which) -> Result<Vec<Kept>, Stop> {
    let records = store.records(SystemClock.now()).await;
    let records = records.map_err(|error| Stop::internal(error.to_string()))?;
    let kept = records.into_iter().map(|(key, record, expires_at)| {
        let (flow, scope, owner) = key.owner().unwrap_or_default();
        let parts = stave_canon::parse(key.as_str()).unwrap_or_default();
        let name = parts.pointer("/3").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut id = sha256_hex(key.as_str());
        id.truncate(ID_DIGITS);
        Kept { id, key, flow, scope, owner, name, record, expires_at }
    });
    let fits = |kept: &Kept| {
        which.flow.as_ref().is_none_or(|flow| *flow == kept.flow)
            && which.session.as_ref().is_none_or(|session| kept.scope == "session" && *session == kept.owner)
    };
    Ok(kept.filter(fits).collect())
}

impl Kept {
    /// Whether only those who ask for restricted values see what is in the record and what it is called.
    fn is_restricted(&self) -> bool {
        label_of(&self.record.fields) > Sensitivity::Private
    }

    /// The session or the run, and the key. A key is made of values, and its record carries their label.
    fn names(&self, show_restricted: bool) -> [&str; 2] {
        if self.is_restricted() && !show_restricted {
            // The id of a run says nothing of anybody.
            return [if self.scope == "session" { HIDDEN } else { &self.owner }, HIDDEN];
        }
        [&self.owner, &self.name]
    }

    fn to_value(&self, show_restricted: bool) -> Value {
        let [owner, name] = self.names(show_restricted);
        Value::from_iter([
            ("id", Value::from(self.id.as_str())),
            ("flow", self.flow.as_str().into()),
            ("scope", self.scope.as_str().into()),
            ("owner", owner.into()),
            ("key", name.into()),
            ("fields", self.record.fields.keys().filter(|name| *name != LABEL_FIELD).count().into()),
            ("label", label_of(&self.record.fields).word().into()),
            ("expires_at", self.expires_at.map(|at| at.to_string()).into()),
        ])
    }

    /// The fields that may be shown.
    fn fields(&self, show_restricted: bool) -> Object {
        let hides = self.is_restricted() && !show_restricted;
        let fields = self.record.fields.iter().filter(|(name, _)| *name != LABEL_FIELD);
        fields
            .map(|(name, value)| (name.clone(), if hides { HIDDEN.into() } else { value.clone() }))
            .collect()
    }
}

async fn list(arguments: &List, terminal: Terminal) -> Result<Exit, Stop> {
    let mut found = match StateArchive::open(&arguments.place.runs(), true)? {
        Some(archive) => records(&archive.store, &arguments.which).await?,
        None => Vec::new(),
    };
    let all = found.len();
    if !arguments.all {
        found.truncate(arguments.limit);
    }
    if arguments.place.json {
        let rows: Vec<Value> = found.iter().map(|kept| kept.to_value(arguments.show_restricted)).collect();
        let value = Value::from_iter([("records", Value::Array(rows)), ("total", all.into())]);
        terminal::out(&value.to_string());
    } else if found.is_empty() {
        terminal::error("no records");
    } else {
        let mut rows = table::empty(terminal.stdout);
        rows.set_header(["id", "flow", "scope", "session or run", "key", "fields", "ends"]);
        for kept in &found {
            let fields = kept.record.fields.keys().filter(|name| *name != LABEL_FIELD).count();
            let ends = kept.expires_at.map_or_else(String::new, |at| format!("{at:.0}"));
            let [owner, name] = kept.names(arguments.show_restricted);
            let fields = fields.to_string();
            let texts = [kept.id.as_str(), &kept.flow, &kept.scope, owner, name, &fields, &ends];
            rows.add_row(texts.map(table::cell));
        }
        terminal::out_styled(&rows.to_string());
        if found.len() < all {
            terminal::error(&format!("{} of {all} records; --all lists all of them", found.len()));
        }
    }
    Ok(Exit::Fine)
}

async fn show(arguments: &Show) -> Result<Exit, Stop> {
    let archive = StateArchive::open(&arguments.place.runs(), true)?.ok_or_else(nothing_kept)?;
    let store = &archive.store;
    let mut all = records(store, &Which::default()).await?;
    let kept = all.remove(place_of(&all, &arguments.id)?);
    let fields = Value::Object(kept.fields(arguments.show_restricted));
    if arguments.place.json {
        let mut value = kept.to_value(arguments.show_restricted);
        if let Some(members) = value.as_object_mut() {
            members.insert("fields".into(), fields);
        }
        terminal::out(&value.to_string());
    } else {
        let [owner, _] = kept.names(arguments.show_restricted);
        terminal::error(&format!("record {} of `{}`, {} {owner}", kept.id, kept.flow, kept.scope));
        terminal::out(&stave_canon::pretty_insertion_utf8(&fields));
    }
    Ok(Exit::Fine)
}

async fn delete(arguments: &Delete) -> Result<Exit, Stop> {
    if arguments.ids.is_empty() && arguments.which.session.is_none() {
        return Err(
            Stop::invalid("nothing is named").help("name records by their ids, or a session: --session ID")
        );
    }
    let archive = StateArchive::open(&arguments.place.runs(), false)?.ok_or_else(nothing_kept)?;
    let store = &archive.store;
    let mut chosen = records(store, &arguments.which).await?;
    if !arguments.ids.is_empty() {
        let places: Result<Vec<usize>, Stop> = arguments.ids.iter().map(|id| place_of(&chosen, id)).collect();
        let places = places?;
        chosen = chosen
            .into_iter()
            .enumerate()
            .filter(|(at, _)| places.contains(at))
            .map(|(_, kept)| kept)
            .collect();
    }
    let (mut deleted, mut held) = (Vec::new(), Vec::new());
    for kept in &chosen {
        let forgotten = store.forget(&kept.key, arguments.dry_run).await;
        match forgotten.map_err(|error| Stop::internal(error.to_string()))? {
            Forgotten::Deleted => deleted.push(kept),
            Forgotten::Unknown => {}
            Forgotten::Held(run) => held.push((kept, run)),
        }
    }
    if arguments.place.json {
        let rows = |all: &[&Kept]| Value::Array(all.iter().map(|kept| kept.to_value(false)).collect());
        let held: Vec<Value> = held
            .iter()
            .map(|(kept, run)| Value::from_iter([("id", kept.id.as_str()), ("run_id", run.as_str())]))
            .collect();
        let value = Value::from_iter([
            ("deleted", rows(&deleted)),
            ("held", held.into()),
            ("dry_run", arguments.dry_run.into()),
        ]);
        terminal::out(&value.to_string());
    } else {
        let would = if arguments.dry_run { "would be" } else { "were" };
        terminal::error(&format!("{} records {would} deleted", deleted.len()));
        for (kept, run) in &held {
            terminal::error(&format!(
                "record {} stays: run {run} is in progress and may work on it",
                kept.id
            ));
        }
    }
    Ok(if held.is_empty() { Exit::Fine } else { Exit::Failed })
}

fn nothing_kept() -> Stop {
    Stop::invalid("no state is kept here").help("--state-dir names the folder that keeps it")
}

/// The record whose id begins with these digits.
fn place_of(all: &[Kept], id: &str) -> Result<usize, Stop> {
    let mut found = all.iter().enumerate().filter(|(_, kept)| !id.is_empty() && kept.id.starts_with(id));
    match (found.next(), found.next()) {
        (Some((place, _)), None) => Ok(place),
        (Some(_), Some(_)) => Err(Stop::invalid(format!("several records begin with `{id}`"))),
        _ => {
            Err(Stop::invalid(format!("there is no record `{id}`"))
                .help("`stave state list` shows the records"))
        }
    }
}
