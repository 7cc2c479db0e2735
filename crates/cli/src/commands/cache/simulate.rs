//! `stave cache simulate`: one trace as sent, as planned, and at its least.

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{Cell, CellAlignment, Table};
use stave_block::{PlannerSettings, Replay, Strategy, Totals, TracedRequest};
use stave_canon::Value;

use super::arguments::Simulate;
use super::{money, trace};
use crate::exit::{Exit, Stop};
use crate::terminal::{self, Terminal};

pub(super) const STRATEGIES: [(&str, Strategy); 3] =
    [("as_sent", Strategy::AsSent), ("planned", Strategy::Planned), ("optimum", Strategy::Optimum)];

pub(super) fn simulate(arguments: &Simulate, _: Terminal) -> Result<Exit, Stop> {
    let trace = trace::read(&arguments.trace)?;
    let replays = replays(&trace);
    if arguments.trace.json {
        let members = replays.iter().map(|(name, replay)| (*name, value(&trace, replay)));
        terminal::out(&Value::from_iter(members).to_string());
        return Ok(Exit::Fine);
    }
    terminal::out(&table(&trace, &replays).to_string());
    if arguments.sessions {
        terminal::out(&sessions(&replays).to_string());
    }
    for (name, replay) in &replays {
        for (request, refusal) in &replay.refused {
            terminal::out(&format!("{name}: request {} would be refused: {refusal}", request + 1));
        }
    }
    terminal::out("The optimum knows the whole trace and no limit on marks; no plan costs less.");
    Ok(Exit::Fine)
}

/// The trace under every strategy.
pub(super) fn replays(trace: &[TracedRequest]) -> Vec<(&'static str, Replay)> {
    let replay = |strategy| stave_block::simulate(trace, strategy, PlannerSettings::default());
    STRATEGIES.iter().map(|(name, strategy)| (*name, replay(*strategy))).collect()
}

pub(super) fn table(trace: &[TracedRequest], replays: &[(&'static str, Replay)]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY);
    table.set_header([
        "",
        "requests",
        "read",
        "written 5m",
        "written 1h",
        "uncached",
        "hit rate",
        "cost",
        "of as sent",
    ]);
    let as_sent = replays.first().map_or(1.0, |(_, replay)| replay.total.cost.max(1.0));
    for (name, replay) in replays {
        let Totals { requests, read, written_short, written_long, uncached, cost } = replay.total;
        let cells = [
            requests.to_string(),
            read.to_string(),
            written_short.to_string(),
            written_long.to_string(),
            uncached.to_string(),
            format!("{:.1} %", 100.0 * replay.total.hit_rate()),
            money::shown(money::dollars(trace, replay)),
            format!("{:.1} %", 100.0 * cost / as_sent),
        ];
        let cells = cells.map(|text| Cell::new(text).set_alignment(CellAlignment::Right));
        table.add_row(std::iter::once(Cell::new(name.replace('_', " "))).chain(cells));
    }
    table
}

fn sessions(replays: &[(&'static str, Replay)]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY);
    table.set_header(["session", "requests", "tokens", "as sent", "planned", "optimum"]);
    let Some((_, first)) = replays.first() else { return table };
    for (session, totals) in &first.sessions {
        let costs =
            replays.iter().map(|(_, replay)| replay.sessions.get(session).map_or(0.0, |totals| totals.cost));
        let numbers = [totals.requests.to_string(), totals.tokens().to_string()];
        let costs = costs.map(|cost| format!("{cost:.0}"));
        let cells = numbers.into_iter().chain(costs);
        let name = if session.is_empty() { "(none)" } else { session };
        let cells = cells.map(|text| Cell::new(text).set_alignment(CellAlignment::Right));
        table.add_row(std::iter::once(Cell::new(name)).chain(cells));
    }
    table
}

fn value(trace: &[TracedRequest], replay: &Replay) -> Value {
    let mut value = totals_value(&replay.total);
    let sessions = replay.sessions.iter().map(|(name, totals)| (name.as_str(), totals_value(totals)));
    let sessions = Value::from_iter(sessions);
    let refused = replay.refused.iter().map(|(request, refusal)| {
        Value::from_iter([("request", Value::from(request + 1)), ("reason", refusal.to_string().into())])
    });
    let refused = Value::Array(refused.collect());
    if let Some(object) = value.as_object_mut() {
        object.insert("dollars".to_owned(), money::dollars(trace, replay).into());
        object.insert("sessions".to_owned(), sessions);
        object.insert("refused".to_owned(), refused);
    }
    value
}

fn totals_value(totals: &Totals) -> Value {
    Value::from_iter([
        ("requests", Value::from(totals.requests)),
        ("read", totals.read.into()),
        ("written_5m", totals.written_short.into()),
        ("written_1h", totals.written_long.into()),
        ("uncached", totals.uncached.into()),
        ("hit_rate", totals.hit_rate().into()),
        ("cost", totals.cost.into()),
    ])
}
