//! What differs between what a test expects and what came.

use stave_canon::{Object, Value};
use stave_flow::model::{Budget, Expectation, ExpectedStatus, Text};
use stave_flow::yaml::Tree;
use stave_runtime::{RunReport, Status};

/// How many differences of one output are shown.
const SHOWN: usize = 20;

/// How much of a value is shown.
const SHOWN_VALUE: usize = 400;

/// Everything in which the turns of a test are not as expected, a line or a few each. `unmetered` is the number of
/// model replies that do not say what they used.
pub(super) fn problems(
    expect: &Expectation,
    turns: &[RunReport],
    hosts_called: u64,
    unmetered: usize,
) -> Vec<String> {
    let mut problems = Vec::new();
    let fails = expect.error.is_read()
        || expect.status.as_ref().is_some_and(|status| status.value == ExpectedStatus::Error);
    let last = turns.len().saturating_sub(1);
    for (index, report) in turns.iter().enumerate() {
        let place = if turns.len() > 1 { format!("turn {}: ", index + 1) } else { String::new() };
        // A session that is expected to fail does so in its last turn.
        let must_fail = fails && index == last;
        match &report.result {
            Ok(_) if must_fail => problems.push(format!("{place}the run was expected to fail, and did not")),
            Err(failed) if !must_fail => {
                let node = failed.node.as_ref().map_or_else(String::new, |node| format!("node `{node}`: "));
                problems.push(format!("{place}the run failed: {node}{}", failed.failure));
            }
            Err(failed) => {
                let code = expect.error.as_ref().map(Text::as_str);
                if let Some(code) = code.filter(|code| *code != failed.failure.code.0) {
                    let got = &failed.failure;
                    problems.push(format!(
                        "{place}error: expected `{code}`, got `{}`: {}",
                        got.code, got.message
                    ));
                }
            }
            Ok(output) => {
                let of_turn = |tree: &Option<Tree>| {
                    let value = tree.as_ref()?.to_value();
                    if turns.len() == 1 { Some(value) } else { value.as_array()?.get(index).cloned() }
                };
                if let Some(wanted) = of_turn(&expect.output) {
                    problems.extend(different(&format!("{place}output"), &wanted, output, false));
                }
                if let Some(wanted) = of_turn(&expect.contains) {
                    problems.extend(different(&format!("{place}output"), &wanted, output, true));
                }
            }
        }
    }
    path(expect, turns, &mut problems);
    counts(expect, turns, hosts_called, &mut problems);
    if let Some(budget) = &expect.budget {
        problems.extend(over(budget, turns, model_calls(turns) + hosts_called, unmetered));
    }
    problems
}

/// The nodes of a test that have one of these statuses in some turn, in the order of the flow.
pub(super) fn nodes_with(turns: &[RunReport], statuses: &[Status]) -> Vec<String> {
    let Some(first) = turns.first() else { return Vec::new() };
    let ids = first.nodes.iter().map(|node| node.id.clone()).filter(|id| !id.starts_with('_'));
    let had = |id: &String| {
        let nodes = turns.iter().flat_map(|turn| &turn.nodes);
        nodes.filter(|node| node.id == *id).any(|node| statuses.contains(&node.status))
    };
    ids.filter(had).collect()
}

/// The calls that models got.
pub(super) fn model_calls(turns: &[RunReport]) -> u64 {
    let nodes = turns.iter().flat_map(|turn| &turn.nodes);
    nodes.filter(|node| node.model.is_some()).map(|node| u64::from(node.calls)).sum()
}

fn path(expect: &Expectation, turns: &[RunReport], problems: &mut Vec<String>) {
    let cases = [
        ("path", &expect.path, vec![Status::Ok, Status::Error]),
        ("skipped", &expect.skipped, vec![Status::Skipped]),
    ];
    for (word, wanted, statuses) in cases {
        let Some(wanted) = wanted else { continue };
        let mut wanted: Vec<&str> = wanted.iter().map(Text::as_str).collect();
        let got = nodes_with(turns, &statuses);
        let mut sorted: Vec<&str> = got.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        wanted.sort_unstable();
        if sorted != wanted {
            let lacking: Vec<&&str> = wanted.iter().filter(|id| !sorted.contains(id)).collect();
            let extra: Vec<&&str> = sorted.iter().filter(|id| !wanted.contains(id)).collect();
            problems.push(format!("{word}: lacks {lacking:?}, has {extra:?} too much"));
        }
    }
}

fn counts(expect: &Expectation, turns: &[RunReport], hosts_called: u64, problems: &mut Vec<String>) {
    let called = model_calls(turns);
    for (word, wanted, got) in
        [("model_calls", expect.model_calls, called), ("http_calls", expect.http_calls, hosts_called)]
    {
        if let Some(wanted) = wanted.filter(|wanted| wanted.value != got) {
            problems.push(format!("{word}: expected {}, got {got}", wanted.value));
        }
    }
}

/// The limits that were exceeded, and those that could not be compared: a budget that is not measured is not kept.
fn over(budget: &Budget, turns: &[RunReport], calls: u64, unmetered: usize) -> Vec<String> {
    let mut problems = Vec::new();
    let limits = [("tokens", budget.tokens.is_some()), ("cost_usd", budget.cost_usd.is_some())];
    for (word, _) in limits.into_iter().filter(|(_, is_set)| *is_set && unmetered > 0) {
        problems.push(format!(
            "budget: {word} not measured: {unmetered} model replies do not say what they used; record them again, or \
             write `usage` with `input` and `output` into the reply"
        ));
    }
    let tokens: u64 = turns.iter().map(RunReport::usage).map(|usage| usage.input + usage.output).sum();
    let wall: u128 = turns.iter().map(|turn| turn.duration.as_millis()).sum();
    let wall = u64::try_from(wall).unwrap_or(u64::MAX);
    for (word, limit, got) in
        [("tokens", budget.tokens, tokens), ("calls", budget.calls, calls), ("wall_ms", budget.wall_ms, wall)]
    {
        if let Some(limit) = limit.filter(|limit| got > limit.value) {
            problems.push(format!("budget: {got} {word}, and at most {} are expected", limit.value));
        }
    }
    if let Some(limit) = &budget.cost_usd {
        let costs: Option<Vec<u64>> = turns.iter().map(|turn| Some(turn.cost()?.micros())).collect();
        match costs.map(|costs| costs.iter().sum::<u64>() as f64 / 1e6) {
            None => {
                problems.push("budget: cost_usd not measured: a model has no price in `[prices]`".to_owned());
            }
            Some(cost) if cost > limit.value.as_f64() => {
                problems.push(format!(
                    "budget: {cost:.6} $, and at most {} $ are expected",
                    limit.value.as_f64()
                ));
            }
            Some(_) => {}
        }
    }
    problems
}

/// The places in which two values differ. With `partial` the second may hold more.
fn different(place: &str, wanted: &Value, got: &Value, partial: bool) -> Vec<String> {
    let mut found = Vec::new();
    walk(place, wanted, got, partial, &mut found);
    let more = found.len().saturating_sub(SHOWN);
    found.truncate(SHOWN);
    if more > 0 {
        found.push(format!("{place}: and {more} more differences"));
    }
    found
}

fn walk(place: &str, wanted: &Value, got: &Value, partial: bool, found: &mut Vec<String>) {
    match (wanted, got) {
        (Value::Object(wanted), Value::Object(got)) => {
            for (key, wanted) in wanted {
                let place = format!("{place}.{key}");
                match got.get(key) {
                    Some(got) => walk(&place, wanted, got, partial, found),
                    None => found.push(format!("{place}: expected {}, and it is not there", shown(wanted))),
                }
            }
            found.extend(extra(place, wanted, got).filter(|_| !partial));
        }
        (Value::Array(wanted), Value::Array(got)) => {
            for (index, wanted) in wanted.iter().enumerate() {
                let place = format!("{place}[{index}]");
                match got.get(index) {
                    Some(got) => walk(&place, wanted, got, partial, found),
                    None => found.push(format!("{place}: expected {}, and it is not there", shown(wanted))),
                }
            }
            if got.len() > wanted.len() && !partial {
                let (got, wanted) = (got.len(), wanted.len());
                found.push(format!("{place}: {got} items, and {wanted} are expected"));
            }
        }
        (Value::String(wanted), Value::String(got))
            if wanted != got && (wanted.contains('\n') || got.contains('\n')) =>
        {
            found.push(format!("{place}:\n  --- expected\n  +++ got\n{}", lines(wanted, got)));
        }
        (Value::Number(wanted), Value::Number(got)) if wanted.as_f64() == got.as_f64() => {}
        (wanted, got) if wanted == got => {}
        (wanted, got) => {
            found.push(format!("{place}:\n  - expected {}\n  + got      {}", shown(wanted), shown(got)));
        }
    }
}

fn extra<'v>(place: &'v str, wanted: &'v Object, got: &'v Object) -> impl Iterator<Item = String> + 'v {
    let extra = got.iter().filter(|(key, _)| !wanted.contains_key(*key));
    extra.map(move |(key, value)| format!("{place}.{key}: not expected, and it is {}", shown(value)))
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_VALUE) {
        None => text,
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// The lines of two texts, those that only one has marked.
fn lines(wanted: &str, got: &str) -> String {
    let difference = similar::TextDiff::from_lines(wanted, got);
    let mut text = String::new();
    for change in difference.iter_all_changes() {
        let mark = match change.tag() {
            similar::ChangeTag::Delete => '-',
            similar::ChangeTag::Insert => '+',
            similar::ChangeTag::Equal => ' ',
        };
        text.push_str(&format!("  {mark} {}\n", change.value().trim_end_matches('\n')));
    }
    text.trim_end().to_owned()
}
