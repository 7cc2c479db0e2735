//! `stave runs show`.

use stave_canon::{Object, Value};
use stave_prompt::HASH_LENGTH;
use stave_runtime::evidence::{AskedPrompt, AskedRequest, asked_requests};
use stave_runtime::journal::{Decision, Question, RunStatus, StoredRun, questions};

use super::Archive;
use super::arguments::Show;
use super::list::summary_value;
use crate::exit::{Exit, Stop};
use crate::outcome::print_shown;
use crate::terminal::{self, Terminal};

pub(super) async fn show(arguments: &Show, terminal: Terminal) -> Result<Exit, Stop> {
    let archive = Archive::existing_to_read(&arguments.place.runs())?;
    let run = archive.run(&arguments.run).await?;
    let run = if arguments.show_restricted { run } else { run.redacted() };
    if arguments.place.json {
        terminal::out(&value(&run).to_string());
        return Ok(Exit::Fine);
    }
    let summary = &run.summary;
    terminal::out(&format!("run {}: {}, started {}", summary.id, summary.status, summary.started_at));
    terminal::out(&format!("document {} from {}", run.document_hash, run.document.metadata.source_file));
    if let Some(original) = &summary.replay_of {
        terminal::out(&format!("replays {original}"));
    }
    terminal::out(&format!("request {}", run.request));
    for (path, decision) in &run.decisions {
        terminal::out(&decided(&questions::address(path), decision));
    }
    match summary.status {
        RunStatus::Ok | RunStatus::Error | RunStatus::Cancelled => {
            print_logs(&run);
            print_requests(&run);
            print_shown(&run.report(), terminal);
        }
        RunStatus::Running
        | RunStatus::Interrupted
        | RunStatus::Queued
        | RunStatus::Quarantined
        | RunStatus::Waiting => {
            terminal::out_styled(&crate::table::nodes(&run.report(), summary.status, terminal.stdout));
            print_logs(&run);
            print_requests(&run);
            for question in run.open_questions() {
                print_question(&summary.id, question);
            }
            if summary.status == RunStatus::Interrupted {
                terminal::out(&format!("`stave runs resume {}` continues it", summary.id));
            }
            if summary.status == RunStatus::Quarantined {
                let crashes = summary.crashes;
                terminal::out(&format!("the process that drove it died {crashes} times in a row"));
                terminal::out(&format!("`stave runs resume {} --force` resumes it anyway", summary.id));
            }
        }
    }
    Ok(Exit::Fine)
}

/// What the code of steps printed, as far as it is kept.
fn print_logs(run: &StoredRun) {
    for node in run.report().nodes.iter().filter(|node| !node.logs.is_empty()) {
        terminal::out(&format!("`{}` printed:", node.id));
        for line in &node.logs {
            terminal::out(&format!("  {line}"));
        }
    }
}

/// What models were asked, as far as it is kept: which prompt, what was done to it, and what was left out.
fn print_requests(run: &StoredRun) {
    for node in &run.report().nodes {
        for (index, request) in asked_requests(&node.questions).iter().enumerate() {
            request_lines(&node.id, index + 1, request).iter().for_each(|line| terminal::out(line));
        }
    }
}

fn request_lines(node: &str, number: usize, request: &AskedRequest<'_>) -> Vec<String> {
    let prompt = request.prompt;
    let (provider, model) = (&prompt.provider, &prompt.model);
    let at = request.asked_at.map(|at| format!(" at {at}")).unwrap_or_default();
    let tokens = request.tokens().or(prompt.tokens);
    let tokens = tokens.map(|tokens| format!(", {tokens} tokens")).unwrap_or_default();
    let verdict = match &prompt.verdict.stage {
        Some(stage) => format!(", refused ({stage})"),
        None => String::new(),
    };
    let blocks = request.blocks.len();
    let shared = match request.shared_blocks {
        0 => String::new(),
        shared => format!(" ({shared} of them as before)"),
    };
    let mut lines = vec![format!(
        "`{node}` request {number}: {provider} {model}{at}, {blocks} blocks{shared}{tokens}{verdict}"
    )];
    if request.index + 1 == prompt.request_count() && prompt.unkept_requests > 0 {
        lines.push(format!("  {} more requests of this prompt are not kept", prompt.unkept_requests));
    }
    // What follows is said of a prompt once.
    if request.index > 0 {
        return lines;
    }
    if let Some(ir) = &prompt.prompt_ir {
        let short = |hash: &str| hash.get(..HASH_LENGTH).unwrap_or(hash).to_owned();
        lines.push(format!("  prompt {} {}", ir.ir_id, short(&ir.hash)));
        if ir.built_id != ir.ir_id {
            lines.push(format!("  built as {} {}", ir.built_id, short(&ir.built_hash)));
        }
    }
    lines.extend(prompt.transformations.iter().map(|change| {
        let hashes = match (&change.before_hash, &change.after_hash) {
            (Some(before), Some(after)) => format!(" ({before} to {after})"),
            _ => String::new(),
        };
        format!("  {} by {}: {}{hashes}", change.what, change.plugin, change.detail)
    }));
    lines.extend(prompt.verdict.violations.iter().map(|hit| format!("  {}", hit.text)));
    lines.extend(
        prompt
            .cuts
            .iter()
            .map(|cut| format!("  cut `{}` for {}: {} tokens left out", cut.section, cut.reason, cut.tokens)),
    );
    lines.extend(prompt.gate.iter().map(|entry| {
        format!("  gate: {} block {} ({}, {})", entry.action, entry.block, entry.label, entry.rule)
    }));
    lines
}

/// What a person is asked, about which values, and how to decide it.
fn print_question(run: &str, question: &Question) {
    let text = question.text.as_deref().unwrap_or("approve this step?");
    terminal::out(&format!("{} asks: {text}", question.address()));
    terminal::out(&format!("  values {}", Value::Object(question.values.clone())));
    terminal::out(&format!(
        "  `stave runs approve {run} '{}' --digest {}` approves it; with --deny it is denied",
        question.address(),
        question.digest
    ));
}

/// One decision as a line.
pub(super) fn decided(node: &str, decision: &Decision) -> String {
    let word = if decision.approved { "approved" } else { "denied" };
    let by = decision.decided_by.as_deref().unwrap_or("somebody");
    let comment = decision.comment.as_deref().map(|comment| format!(": {comment}")).unwrap_or_default();
    format!("`{node}` was {word} by {by} at {}{comment}", decision.decided_at)
}

/// The report of the run, what was asked, and what each node gave.
fn value(run: &StoredRun) -> Value {
    let mut value = run.report().to_value();
    let Some(object) = value.as_object_mut() else { return value };
    if let Value::Object(summary) = summary_value(&run.summary) {
        object.extend(summary);
    }
    object.insert("document".into(), run.document_hash.as_str().into());
    object.insert("source_file".into(), run.document.metadata.source_file.as_str().into());
    object.insert("request".into(), run.request.clone());
    let outputs = run.steps.iter().filter_map(|step| {
        let outputs = step.result.outputs.as_ref().ok()?;
        Some((step.node.clone(), Value::Object(outputs.clone())))
    });
    let printed = run.report().nodes.into_iter().filter(|node| !node.logs.is_empty());
    let logs: Object = printed.map(|node| (node.id, node.logs.into())).collect();
    object.insert("logs".into(), logs.into());
    let asking = run.report().nodes.into_iter().filter(|node| !node.questions.is_empty());
    let requests: Object = asking
        .map(|node| {
            let requests = node.questions.iter().map(AskedPrompt::to_value).collect();
            (node.id, Value::Array(requests))
        })
        .collect();
    object.insert("requests".into(), requests.into());
    let counted = run.report().nodes.into_iter().filter(|node| !node.prompts.is_empty());
    let counts: Object = counted.map(|node| (node.id, node.prompts.to_value())).collect();
    object.insert("request_counts".into(), counts.into());
    let asks: Vec<Value> = run.open_questions().map(Question::to_value).collect();
    object.insert("asks".into(), asks.into());
    object.insert("outputs".into(), Value::Object(outputs.collect::<Object>()));
    let decisions = run.decisions.iter().map(|(path, decision)| decision.to_value(path));
    object.insert("decisions".into(), decisions.collect::<Vec<Value>>().into());
    value
}
