//! Ops of the exec line. The header of [`super`] says how one is added.

use stave_canon::{Object, Value};
use stave_diag::{Diagnostic, Severity, SourceId, codes};
use stave_exec::wdl::{self, Dialect, FileKind, PairedPolicy};
use stave_exec::{Acceptance, Document, manifest};

use super::{Outcome, Refusal, Table, member, output, text};

pub(super) const OPS: Table = &[
    ("exec.policy", policy),
    ("exec.validate", validate),
    ("exec.wdl_compile", wdl_compile),
    ("exec.wdl_lint", wdl_lint),
];

/// Whether a document satisfies rules 1 to 8.
fn validate(input: &Value) -> Outcome {
    let valid = stave_exec::read(member(input, "ir")?, Acceptance::Exact).is_ok();
    Ok(output([("valid", valid.into())]))
}

/// What a policy emits for some values, with the random numbers of the row.
fn policy(input: &Value) -> Outcome {
    let text = text(input, "pdl")?;
    let checked = wdl::check_policy(SourceId(0), text, Dialect::Reference);
    let policy = accepted(checked.value, &checked.diagnostics)?;
    let baked = wdl::bake(&policy, "policy", "policy.pdl");
    let numbers = member(input, "random")?.as_array().unwrap_or_default();
    let mut numbers = numbers.iter().map(Value::as_f64);
    let mut random = || numbers.next().flatten();
    let epsilon = member(input, "epsilon")?.as_f64();
    let emit = stave_exec::policy::apply(&baked, member(input, "values")?, epsilon, &mut random)?;
    Ok(output([("emit", Value::Object(emit))]))
}

/// A source of a row, named as the compiler names it.
struct File<'r> {
    kind: FileKind,
    name: String,
    text: &'r str,
}

/// The row's sources in the compiler's order. The reference does not know the endings `.wdl.yaml` and
/// `.pdl.yaml`.
fn files(input: &Value) -> Result<Vec<File<'_>>, Refusal> {
    let files =
        member(input, "files")?.as_object().ok_or_else(|| Refusal("`files` must be an object".into()))?;
    let mut found = Vec::new();
    for (path, text) in files {
        let text = text.as_str().ok_or_else(|| Refusal(format!("`{path}` must be a string")))?;
        let kind = FileKind::of(path).filter(|_| !path.ends_with(".yaml") && !path.ends_with(".yml"));
        if let Some(kind) = kind {
            found.push(File { kind, name: format!("<ROOT>/{path}"), text });
        }
    }
    found.sort_by(|one, other| one.name.split('/').cmp(other.name.split('/')));
    Ok(found)
}

fn wdl_compile(input: &Value) -> Outcome {
    let files = files(input)?;
    if files.is_empty() {
        return Err(Refusal("there is nothing to compile".into()));
    }
    let mut policies = Vec::new();
    for file in files.iter().filter(|file| file.kind == FileKind::Policy) {
        let checked = wdl::check_policy(SourceId(0), file.text, Dialect::Reference);
        policies.push((file, accepted(checked.value, &checked.diagnostics)?));
    }
    let mut documents: Vec<Document> = Vec::new();
    for file in files.iter().filter(|file| file.kind == FileKind::Workflow) {
        let checked = wdl::check_workflow(SourceId(0), file.text, Dialect::Reference);
        let workflow = accepted(checked.value, &checked.diagnostics)?;
        let stem = stem(&file.name);
        let paired = policies.iter().rev().find(|(policy, _)| self::stem(&policy.name) == stem);
        let policy =
            paired.map(|(file, policy)| PairedPolicy { policy, name: stem, source_file: &file.name });
        let settings = wdl::LoweringOptions {
            policy,
            generated_at: "2024-06-30T18:25:43Z",
            source_file: &file.name,
            dialect: Dialect::Reference,
        };
        let (document, found) = wdl::lower(&workflow, &settings);
        let document = accepted(document, &found)?;
        wdl::check_triggers(&workflow).map_err(|found| first(&found))?;
        stave_exec::read(&stave_exec::to_value(&document), Acceptance::Exact)
            .map_err(|faults| Refusal(faults.first().map(ToString::to_string).unwrap_or_default()))?;
        documents.push(document);
    }
    let mut entries: Vec<Value> = Vec::new();
    for (index, document) in documents.iter().enumerate() {
        let file = manifest::file_name(&document.flow.name);
        let is_taken = |other: &Document| manifest::file_name(&other.flow.name) == file;
        if documents.iter().take(index).any(is_taken) {
            return Err(Refusal(format!("two workflows are stored as `{file}`")));
        }
        entries.push(manifest::ManifestEntry::of(document, format!("flows/{file}.ir.json")).to_value());
    }
    let manifest = Value::Array(entries);
    match documents.as_slice() {
        [document] => Ok(output([("ir", stave_exec::to_value(document)), ("manifest", manifest)])),
        documents => {
            let by_name = |document: &Document| (document.flow.name.clone(), stave_exec::to_value(document));
            let irs: Object = documents.iter().map(by_name).collect();
            Ok(output([("irs", Value::Object(irs)), ("manifest", manifest)]))
        }
    }
}

fn wdl_lint(input: &Value) -> Outcome {
    let mut issues = Vec::new();
    for file in files(input)? {
        let diagnostics = match file.kind {
            FileKind::Workflow => wdl::check_workflow(SourceId(0), file.text, Dialect::Reference).diagnostics,
            FileKind::Policy => wdl::check_policy(SourceId(0), file.text, Dialect::Reference).diagnostics,
        };
        let is_unreadable = |found: &Diagnostic| issue_code(found) == "parse-error";
        // The reference stops at the first thing it cannot read.
        let count = if diagnostics.first().is_some_and(is_unreadable) { 1 } else { diagnostics.len() };
        issues.extend(diagnostics.iter().take(count).map(|found| issue(found, file.text)));
    }
    Ok(output([("issues", Value::Array(issues))]))
}

fn issue(found: &Diagnostic, text: &str) -> Value {
    let code = issue_code(found);
    let level = if code == "empty-branch" { "warning" } else { found.severity.word() };
    let is_empty = found.code == codes::exec::WDL_EMPTY_DOCUMENT;
    let line = if is_empty { 0 } else { wdl::line_number(text, found.primary.range().start) };
    Value::Array(vec![code.into(), level.into(), line.into()])
}

/// The reference's word for a code.
fn issue_code(found: &Diagnostic) -> &'static str {
    match found.code {
        codes::exec::WDL_EMPTY_DOCUMENT => "parse-error",
        code => code.0.strip_prefix("wdl-").unwrap_or(code.0),
    }
}

fn accepted<T>(value: Option<T>, found: &[Diagnostic]) -> Result<T, Refusal> {
    if found.iter().any(|found| found.severity == Severity::Error) {
        return Err(first(found));
    }
    value.ok_or_else(|| first(found))
}

fn first(found: &[Diagnostic]) -> Refusal {
    Refusal(found.first().map_or_else(|| "refused".to_owned(), |found| found.message.clone()))
}

fn stem(name: &str) -> &str {
    wdl::stem(name.rsplit('/').next().unwrap_or(name))
}
