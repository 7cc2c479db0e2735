//! `stave keys`: virtual keys of the gateway, and signing keys.

mod arguments;
mod signing;

use std::path::Path;

use comfy_table::{Cell, CellAlignment, Color};
use stave_canon::{Clock, Timestamp, Value};
use stave_gateway::database::EvidenceError;
use stave_gateway::keys::{IssuedKey, KeyLimits, KeyStore, KeyStoreError, ListedKey, ModelPattern, NewKey};
use stave_llm::prices::Cost;

pub(crate) use self::arguments::Keys;
use self::arguments::{Issue, KeysAction, List, Revoke, Rotate};
use crate::archive::gateway_records;
use crate::args::GatewayPlace;
use crate::exit::{Exit, Stop};
use crate::files;
use crate::ports::{RandomIds, SystemClock};
use crate::table::{self, cell};
use crate::terminal::{self, Terminal};

pub(crate) fn keys(arguments: &Keys, terminal: Terminal) -> Result<Exit, Stop> {
    match &arguments.action {
        KeysAction::Issue(arguments) => issue(arguments),
        KeysAction::List(arguments) => list(arguments, terminal),
        KeysAction::Revoke(arguments) => revoke(arguments),
        KeysAction::Rotate(arguments) => rotate(arguments),
        KeysAction::Signing(arguments) => signing::signing(arguments),
    }
}

fn issue(arguments: &Issue) -> Result<Exit, Stop> {
    let (path, project) = gateway_records(arguments.place.state_dir.as_deref())?;
    let models = arguments.models.iter().map(|model| ModelPattern::new(model.trim()));
    let models: Result<Vec<ModelPattern>, _> = models.collect();
    let now = SystemClock.now();
    let new = NewKey {
        name: arguments.name.clone(),
        tenant: arguments.tenant.clone().unwrap_or_else(|| project.tenant().to_owned()),
        models: models.map_err(|error| Stop::invalid(error.to_string()))?,
        limits: KeyLimits {
            requests_per_minute: arguments.requests_per_minute,
            tokens_per_minute: arguments.tokens_per_minute,
            day_budget: arguments.budget_day,
            month_budget: arguments.budget_month,
        },
        is_admin: arguments.admin,
        expires_at: arguments.expires.map(|period| period.after(now)).transpose()?,
    };
    if new.expires_at.is_some_and(|end| end <= now) {
        return Err(Stop::invalid("a key that expires at once is good for nothing")
            .help("give --expires a period such as 12h or 90d, or leave it out"));
    }
    if let Some(folder) = path.parent() {
        files::create_private_folder(folder)
            .map_err(|error| Stop::internal(format!("{} cannot be made: {error}", folder.display())))?;
    }
    files::prepare_database(&path)?;
    let issued = store(&path)?.issue(&new, &RandomIds, now).map_err(|error| stop(&error))?;
    say(&issued, "issued", arguments.place.json);
    Ok(Exit::Fine)
}

fn list(arguments: &List, terminal: Terminal) -> Result<Exit, Stop> {
    let (path, _) = gateway_records(arguments.place.state_dir.as_deref())?;
    let now = SystemClock.now();
    let mut keys = if path.is_file() {
        let store = KeyStore::open_to_read(&path).map_err(|error| unopened(&path, &error))?;
        store.list(now).map_err(|error| Stop::internal(error.to_string()))?
    } else {
        Vec::new()
    };
    keys.retain(|key| arguments.all || key.revoked_at.is_none());
    if arguments.place.json {
        let keys = keys.iter().map(|key| value(key, now)).collect();
        terminal::out(&Value::from_iter([("keys", Value::Array(keys))]).to_string());
        return Ok(Exit::Fine);
    }
    if keys.is_empty() {
        terminal::error("no keys; `stave keys issue NAME` makes one");
        return Ok(Exit::Fine);
    }
    let mut table = table::empty(terminal.stdout);
    table.set_header(["id", "name", "tenant", "models", "per minute", "today", "this month", "state"]);
    for key in &keys {
        table.add_row(row(key, now));
    }
    terminal::out_styled(&table.to_string());
    Ok(Exit::Fine)
}

fn revoke(arguments: &Revoke) -> Result<Exit, Stop> {
    let mut store = existing(&arguments.place, &arguments.key)?;
    let id = store.revoke(&arguments.key, SystemClock.now()).map_err(|error| stop(&error))?;
    if arguments.place.json {
        terminal::out(&Value::from_iter([("id", Value::from(id)), ("revoked", true.into())]).to_string());
    } else {
        terminal::error(&format!("revoked {id}"));
    }
    Ok(Exit::Fine)
}

fn rotate(arguments: &Rotate) -> Result<Exit, Stop> {
    let mut store = existing(&arguments.place, &arguments.key)?;
    let now = SystemClock.now();
    let old_ends_at = arguments.grace.map_or(Ok(now), |period| period.after(now))?;
    let issued = store.rotate(&arguments.key, old_ends_at, &RandomIds, now).map_err(|error| stop(&error))?;
    say(&issued, "rotated", arguments.place.json);
    Ok(Exit::Fine)
}

/// Shows the text of a key, this once.
fn say(issued: &IssuedKey, what: &str, json: bool) {
    if json {
        let members = [
            ("id", Value::from(issued.id.as_str())),
            ("name", issued.name.as_str().into()),
            ("key", issued.text.expose().into()),
        ];
        terminal::out(&Value::from_iter(members).to_string());
    } else {
        terminal::error(&format!("{what} {} ({}); the key is shown this once:", issued.id, issued.name));
        terminal::out(issued.text.expose());
    }
}

fn store(path: &Path) -> Result<KeyStore, Stop> {
    KeyStore::open(path).map_err(|error| unopened(path, &error))
}

fn unopened(path: &Path, error: &EvidenceError) -> Stop {
    Stop::internal(format!("{} cannot be opened: {error}", path.display()))
}

fn existing(place: &GatewayPlace, key: &str) -> Result<KeyStore, Stop> {
    let (path, _) = gateway_records(place.state_dir.as_deref())?;
    if path.is_file() { store(&path) } else { Err(stop(&KeyStoreError::Unknown(key.to_owned()))) }
}

fn stop(error: &KeyStoreError) -> Stop {
    let message = error.to_string();
    match error {
        KeyStoreError::Unknown(_) | KeyStoreError::Revoked(_) => {
            Stop::invalid(message).help("`stave keys list --all` shows the keys")
        }
        KeyStoreError::NameTaken(name) => Stop::invalid(message).help(format!(
            "`stave keys rotate {name}` gives it a new text, `stave keys revoke {name}` ends it"
        )),
        KeyStoreError::BadName(_) => Stop::invalid(message),
        KeyStoreError::Evidence(_) => Stop::internal(message),
    }
}

fn state(key: &ListedKey, now: Timestamp) -> &'static str {
    if key.revoked_at.is_some() {
        "revoked"
    } else if key.expires_at.is_some_and(|end| end <= now) {
        "expired"
    } else if key.secrets > 1 {
        "rotating"
    } else {
        "good"
    }
}

fn row(key: &ListedKey, now: Timestamp) -> Vec<Cell> {
    let models: Vec<&str> = key.models.iter().map(ModelPattern::as_str).collect();
    let rate = |limit: Option<u64>, unit: &str| limit.map(|limit| format!("{limit} {unit}"));
    let rates: Vec<String> =
        [rate(key.limits.requests_per_minute, "requests"), rate(key.limits.tokens_per_minute, "tokens")]
            .into_iter()
            .flatten()
            .collect();
    let of = |spent: Cost, limit: Option<Cost>| {
        let text = match limit {
            Some(limit) => format!("{} of {}", dollars(spent), dollars(limit)),
            None => dollars(spent),
        };
        Cell::new(text).set_alignment(CellAlignment::Right)
    };
    let state = state(key, now);
    let colour = match state {
        "good" => Color::Green,
        "revoked" | "expired" => Color::Red,
        _ => Color::Yellow,
    };
    let name = if key.is_admin { format!("{} (admin)", key.name) } else { key.name.clone() };
    vec![
        cell(&key.id),
        cell(&name),
        cell(&key.tenant),
        cell(&if models.is_empty() { "all".to_owned() } else { models.join(" ") }),
        Cell::new(rates.join(", ")),
        of(key.spent_today, key.limits.day_budget),
        of(key.spent_this_month, key.limits.month_budget),
        Cell::new(state).fg(colour),
    ]
}

/// Dollars and cents, with more digits where cents would hide a part of the amount.
fn dollars(cost: Cost) -> String {
    let exact = cost.to_string();
    let (whole, fraction) = exact.split_once('.').unwrap_or((&exact, ""));
    let digits = fraction.trim_end_matches('0');
    format!("{whole}.{digits:0<2}")
}

fn value(key: &ListedKey, now: Timestamp) -> Value {
    let models = key.models.iter().map(|model| Value::from(model.as_str())).collect();
    let time = |time: Option<Timestamp>| Value::from(time.map(|time| time.to_string()));
    let dollars = |cost: Cost| Value::from(cost.to_string().trim_start_matches('$').to_owned());
    let budget = |cost: Option<Cost>| cost.map_or(Value::Null, dollars);
    Value::from_iter([
        ("id", Value::from(key.id.as_str())),
        ("name", key.name.as_str().into()),
        ("tenant", key.tenant.as_str().into()),
        ("admin", key.is_admin.into()),
        ("models", Value::Array(models)),
        ("requests_per_minute", key.limits.requests_per_minute.map_or(Value::Null, Value::from)),
        ("tokens_per_minute", key.limits.tokens_per_minute.map_or(Value::Null, Value::from)),
        ("budget_day_usd", budget(key.limits.day_budget)),
        ("budget_month_usd", budget(key.limits.month_budget)),
        ("spent_today_usd", dollars(key.spent_today)),
        ("spent_this_month_usd", dollars(key.spent_this_month)),
        ("created_at", key.created_at.to_string().into()),
        ("expires_at", time(key.expires_at)),
        ("revoked_at", time(key.revoked_at)),
        ("state", state(key, now).into()),
    ])
}
