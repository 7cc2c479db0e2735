//! `stave runs report`: a run as a page that needs nothing but itself.
//!
//! Invariant: the page runs no code and loads nothing, and every text of the run is escaped: what a model or a
//! host said cannot become part of the page.

use std::fmt::Write;
use std::path::Path;

use stave_canon::{Layout, Object, Value};
use stave_picture::escaped;
use stave_runtime::journal::StoredRun;
use stave_runtime::{NodeReport, RunReport, Status};

use super::Archive;
use super::arguments::Report;
use super::show::decided;
use crate::exit::{Exit, Stop};
use crate::{files, terminal};

const STYLE: &str = include_str!("report.css");
/// The most of a value that is shown; the whole of it is in `stave runs show --json`.
const LONGEST_VALUE: usize = 20_000;

pub(super) async fn report(arguments: &Report) -> Result<Exit, Stop> {
    let archive = Archive::existing_to_read(&arguments.place.runs())?;
    let run = archive.run(&arguments.run).await?;
    let run = if arguments.show_restricted { run } else { run.redacted() };
    let page = page(&run);
    if let Some(path) = &arguments.out {
        files::write_private(path, &page)?;
    }
    match (&arguments.out, arguments.place.json) {
        (out, true) => terminal::out(&answer(&run.summary.id, out.as_deref(), page).to_string()),
        (None, false) => terminal::out(page.trim_end()),
        (Some(path), false) => terminal::error(&format!("wrote {}", path.display())),
    }
    Ok(Exit::Fine)
}

/// For machines: where the page is, or the page.
fn answer(run: &str, out: Option<&Path>, page: String) -> Value {
    let mut answer = Object::new();
    answer.insert("run_id".into(), run.into());
    match out {
        Some(path) => answer.insert("out".into(), path.display().to_string().into()),
        None => answer.insert("page".into(), page.into()),
    };
    Value::Object(answer)
}

fn page(run: &StoredRun) -> String {
    let report = run.report();
    let title = format!("{} {}", escaped(&report.flow), escaped(&run.summary.id));
    let mut page = String::new();
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n"
    );
    head(&mut page, run, &report);
    let _ = write!(page, "<figure>\n{}\n</figure>\n", picture(run, &report));
    nodes(&mut page, &report);
    timeline(&mut page, &report);
    details(&mut page, run, &report);
    page.push_str("</body>\n</html>\n");
    page
}

fn head(page: &mut String, run: &StoredRun, report: &RunReport) {
    let summary = &run.summary;
    let usage = report.usage();
    let cost = report.cost().map_or_else(|| "unknown".to_owned(), |cost| cost.to_string());
    let facts = [
        ("run", summary.id.clone()),
        ("status", summary.status.to_string()),
        ("started", summary.started_at.to_string()),
        ("took", format!("{:.1} ms", milliseconds(report))),
        ("tokens in", usage.input.to_string()),
        ("tokens out", usage.output.to_string()),
        ("money", cost),
        ("source", run.document.metadata.source_file.clone()),
        ("document", run.document_hash.clone()),
    ];
    let _ = write!(page, "<h1>{}</h1>\n<dl>\n", escaped(&report.flow));
    for (name, value) in facts {
        let _ = writeln!(page, "<div><dt>{name}</dt><dd>{}</dd></div>", escaped(&value));
    }
    page.push_str("</dl>\n");
    for (node, decision) in &run.decisions {
        let _ = writeln!(page, "<p>{}</p>", escaped(&decided(node, decision)));
    }
    match &report.result {
        Ok(output) => value(page, "output", output),
        Err(failed) => {
            let place = failed.node.as_deref().map(|node| format!(" in {node}")).unwrap_or_default();
            let text = format!("{}{place}: {}", failed.failure.code.0, failed.failure.message);
            let _ = writeln!(page, "<p class=\"error\">{}</p>", escaped(&text));
        }
    }
    value(page, "request", &run.request);
}

/// The graph, each box with what came of its node.
fn picture(run: &StoredRun, report: &RunReport) -> String {
    let mut diagram = stave_exec::picture::diagram(&run.document);
    for one in &mut diagram.boxes {
        let done =
            report.nodes.iter().filter(|node| !node.id.starts_with('_')).find(|node| node.id == one.id);
        let Some(node) = done else { continue };
        let mark = match node.status {
            Status::Ok => "✓",
            Status::Error => "✗",
            Status::Skipped => "–",
            Status::Cancelled => "■",
            Status::Waiting => "…",
        };
        let took = match node.status {
            Status::Ok | Status::Error => format!(" {:.1} ms", node.duration.as_secs_f64() * 1000.0),
            Status::Skipped | Status::Cancelled | Status::Waiting => String::new(),
        };
        one.subtitle = format!("{mark} {}{took}", one.subtitle);
    }
    stave_picture::svg(&diagram)
}

fn nodes(page: &mut String, report: &RunReport) {
    let longest = report.nodes.iter().map(|node| node.duration).max().unwrap_or_default().as_secs_f64();
    page.push_str(
        "<table>\n<thead><tr><th>node</th><th>step</th><th>status</th><th>tries</th><th>ms</th><th></th>\
         <th>tokens in</th><th>out</th><th>money</th><th>line</th></tr></thead>\n<tbody>\n",
    );
    for node in report.nodes.iter().filter(|node| !node.id.starts_with('_')) {
        row(page, node, longest);
    }
    page.push_str("</tbody>\n</table>\n");
}

fn row(page: &mut String, node: &NodeReport, longest: f64) {
    let took = node.duration.as_secs_f64();
    let share = if longest > 0.0 { took / longest * 100.0 } else { 0.0 };
    let tokens = |count: u64| if count == 0 { String::new() } else { count.to_string() };
    let usage = node.usage.unwrap_or_default();
    let status = node.status.word();
    let cells = [
        format!("<td><a href=\"#{0}\">{0}</a></td>", escaped(&node.id)),
        format!("<td>{}</td>", escaped(&node.kind)),
        format!("<td class=\"{status}\">{}</td>", crate::table::status_word(node)),
        format!("<td class=\"number\">{}</td>", node.attempts),
        format!("<td class=\"number\">{:.1}</td>", took * 1000.0),
        format!("<td class=\"bar\"><i style=\"width:{share:.1}%\"></i></td>"),
        format!("<td class=\"number\">{}</td>", tokens(usage.input)),
        format!("<td class=\"number\">{}</td>", tokens(usage.output)),
        format!("<td class=\"number\">{}</td>", node.cost.map(|cost| cost.to_string()).unwrap_or_default()),
        format!(
            "<td class=\"number\">{}</td>",
            node.origin.map(|at| at.line.to_string()).unwrap_or_default()
        ),
    ];
    let _ = writeln!(page, "<tr>{}</tr>", cells.concat());
}

/// The steps that ran as bars over the run's time, in the order in which they began. A run that waited or was
/// interrupted has a gap there.
fn timeline(page: &mut String, report: &RunReport) {
    let mut begun: Vec<(f64, &NodeReport)> = report
        .nodes
        .iter()
        .filter(|node| !node.id.starts_with('_'))
        .filter_map(|node| Some((node.started?.as_secs_f64() * 1000.0, node)))
        .collect();
    begun.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let took = |node: &NodeReport| node.duration.as_secs_f64() * 1000.0;
    let end = begun.iter().map(|(start, node)| start + took(node)).fold(0.0, f64::max);
    if end <= 0.0 {
        return;
    }
    let _ = writeln!(page, "<h2>timeline</h2>\n<table class=\"timeline\">\n<tbody>");
    for (start, node) in begun {
        let (left, width) = (start / end * 100.0, took(node) / end * 100.0);
        let _ = writeln!(
            page,
            "<tr><td><a href=\"#{0}\">{0}</a></td><td class=\"number\">{start:.1} ms</td>\
             <td class=\"bar\"><i class=\"{1}\" style=\"margin-left:{left:.2}%;width:{width:.2}%\"></i></td></tr>",
            escaped(&node.id),
            node.status.word(),
        );
    }
    page.push_str("</tbody>\n</table>\n");
}

fn details(page: &mut String, run: &StoredRun, report: &RunReport) {
    for node in report.nodes.iter().filter(|node| !node.id.starts_with('_')) {
        let _ = writeln!(page, "<section id=\"{0}\">\n<h2>{0}</h2>", escaped(&node.id));
        if let Some(reason) = &node.reason {
            let _ = writeln!(page, "<p>{}: {}</p>", node.status.word(), escaped(reason));
        }
        if let Some(failure) = &node.failure {
            let text = format!("{}: {}", failure.code.0, failure.message);
            let _ = writeln!(page, "<p class=\"error\">{}</p>", escaped(&text));
        }
        for note in notes(node) {
            let _ = writeln!(page, "<p>{}</p>", escaped(&note));
        }
        let step = run.steps.iter().find(|step| step.node == node.id);
        if let Some(outputs) = step.and_then(|step| step.result.outputs.as_ref().ok()) {
            value(page, "outputs", &Value::Object(outputs.clone()));
        }
        page.push_str("</section>\n");
    }
}

fn notes(node: &NodeReport) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(node.model.as_ref().map(|model| format!("model {model}")));
    if node.cached {
        notes.push("taken from the cache".to_owned());
    }
    if node.reused {
        notes.push("reused from the replayed run".to_owned());
    }
    if node.degraded {
        notes.push("a fallback answered".to_owned());
    }
    if !node.dropped_outputs.is_empty() {
        notes.push(format!("dropped {}", node.dropped_outputs.join(", ")));
    }
    notes.extend(node.flagged.iter().cloned());
    notes
}

/// A value that opens when it is wanted. A long one is cut, and says so.
fn value(page: &mut String, name: &str, value: &Value) {
    let mut text = String::new();
    stave_canon::write(value, &Layout::PRETTY_INSERTION_ASCII, &mut text);
    let cut = text.char_indices().nth(LONGEST_VALUE).map(|(place, _)| place);
    let rest = cut.map(|place| {
        let left = text[place..].chars().count();
        text.truncate(place);
        format!("\n… {left} more characters: stave runs show --json has them")
    });
    let text = escaped(&format!("{text}{}", rest.unwrap_or_default()));
    let open = if name == "output" { " open" } else { "" };
    let _ = writeln!(page, "<details{open}><summary>{name}</summary><pre>{text}</pre></details>");
}

fn milliseconds(report: &RunReport) -> f64 {
    report.duration.as_secs_f64() * 1000.0
}
