//! The examples on the pages under `docs/codes/`: the bad one raises the page's code and no other, the good
//! one raises nothing.

use std::collections::BTreeSet;

use stave_canon::{CountingIds, FixedClock, Timestamp, Value};
use stave_diag::page::{self, Example, ExampleKind};
use stave_diag::{CODES, Severity, Sources};
use stave_prompt::governance::PolicySet;

use crate::batch;
use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::{Finished, stave};

/// The page whose bad example is about the project file that is not there.
const WITHOUT_PROJECT_FILE: &str = "host-not-allowed";

/// The project of the examples that are checked.
const PROJECT: &str = "\
[secrets.ERP_KEY]
hosts = [\"erp.example.com\"]
[context]
env = [\"REGION\"]
[models]
hosts = [\"llm.example.com\"]
[opcua]
allow = [\"opc.tcp://127.0.0.1:9\"]
";

/// What an example is expected to raise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Only(&'static str),
    Nothing,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_example_raises_its_code_or_nothing() {
    let mut cases = Vec::new();
    for info in CODES.iter().copied().flatten() {
        let examples = page::examples(info.page);
        assert!(!examples.bad.is_empty() && !examples.good.is_empty(), "{} lacks an example", info.code);
        let code = info.code.0;
        let bad = examples.bad.into_iter().map(|example| (Wanted::Only(code), example));
        let good = examples.good.into_iter().map(|example| (Wanted::Nothing, example));
        for (index, (wanted, example)) in bad.chain(good).enumerate() {
            let side = if wanted == Wanted::Nothing { "good" } else { "bad" };
            let name = format!("{code} {side} example {}", index + 1);
            cases.push((name, async move { problems(code, wanted, &example).await }));
        }
    }
    let found = batch::run(cases).await;
    batch::assert_only_listed_fail(&found, "", "code_pages.rs");
}

#[tokio::test]
async fn an_example_on_the_wrong_side_is_noticed() {
    let kinds = [
        ("dangling-edge", ExampleKind::Flow),
        ("implicit-id", ExampleKind::StrictFlow),
        ("exec-duplicate-node", ExampleKind::Exec),
        ("system-cross-tenant", ExampleKind::System),
        ("bundle-content-drift", ExampleKind::Bundle),
        ("exec-bad-manifest", ExampleKind::Manifest),
        ("bad-project-value", ExampleKind::Project),
        ("wdl-bad-condition", ExampleKind::Workflow),
        ("pdl-bad-expression", ExampleKind::Policy),
        ("shared-flow-name", ExampleKind::Compile),
        ("model-reply-invalid", ExampleKind::Run),
        ("bad-document", ExampleKind::RunDocument),
        ("effect-not-allowed", ExampleKind::RunBundle),
    ];
    for (code, kind) in kinds {
        let examples = page::examples(stave_diag::lookup(code).expect(code).page);
        assert_eq!(examples.bad[0].kind, kind, "{code}");
        assert_ne!(problems(code, Wanted::Nothing, &examples.bad[0]).await, [] as [String; 0], "{code}");
        assert_ne!(problems(code, Wanted::Only(code), &examples.good[0]).await, [] as [String; 0], "{code}");
    }
}

async fn problems(page: &str, wanted: Wanted, example: &Example) -> Vec<String> {
    match raised(page, wanted, example).await {
        Err(reason) => vec![reason],
        Ok((codes, said)) => {
            let expected: BTreeSet<String> = match wanted {
                Wanted::Only(code) => [code.to_owned()].into(),
                Wanted::Nothing => BTreeSet::new(),
            };
            if codes == expected { Vec::new() } else { vec![format!("raises {codes:?}: {said}")] }
        }
    }
}

/// The codes that an example raises, and what was said about them.
async fn raised(page: &str, wanted: Wanted, example: &Example) -> Result<(BTreeSet<String>, String), String> {
    let folder = Folder::new();
    let check = async |file: &str, options: &[&str]| {
        if file == "flow.yaml" {
            folder.write("stave.toml", PROJECT);
        }
        folder.write(file, &example.text);
        let arguments = ["check", "--format", "json", file].into_iter().chain(options.iter().copied());
        found(&stave(&folder, arguments).outcome().await?)
    };
    match &example.kind {
        ExampleKind::Flow => check("flow.yaml", &[]).await,
        ExampleKind::StrictFlow => check("flow.yaml", &["--strict"]).await,
        ExampleKind::Exec => check("flow.ir.json", &[]).await,
        ExampleKind::Manifest => {
            folder.write("manifest.json", &example.text);
            found(&stave(&folder, ["exec", "verify", "--json", "manifest.json"]).outcome().await?)
        }
        ExampleKind::Project => check("stave.toml", &[]).await,
        ExampleKind::Workflow => check("flow.wdl", &[]).await,
        ExampleKind::Policy => check("flow.pdl", &[]).await,
        ExampleKind::Compile => compile(&folder, &example.text).await,
        ExampleKind::System => {
            folder.write("system.json", &example.text);
            found(&stave(&folder, ["system", "validate", "--json", "system.json"]).outcome().await?)
        }
        ExampleKind::Bundle => {
            folder.write("bundle.json", &example.text);
            found(&stave(&folder, ["bundle", "check", "--json", "bundle.json"]).outcome().await?)
        }
        ExampleKind::Prompt => Ok(found_in_prompt(&example.text)),
        ExampleKind::Run => run(&folder, page, wanted, example, "flow.yaml").await,
        // This program reaches no plants. The tests of what does run these examples.
        ExampleKind::RunOpcua => {
            let (codes, said) = check("flow.yaml", &[]).await?;
            let expected = match wanted {
                Wanted::Only(code) if codes.is_empty() => [code.to_owned()].into(),
                _ => codes,
            };
            Ok((expected, said))
        }
        ExampleKind::RunDocument => run(&folder, page, wanted, example, "flow.ir.json").await,
        ExampleKind::RunBundle => run(&folder, page, wanted, example, "flow.yaml").await,
        ExampleKind::Unknown(words) => Err(format!("a fence with the words {words:?} is of no known kind")),
    }
}

/// Compiles the files of an example, each after a line `--- path`.
async fn compile(folder: &Folder, text: &str) -> Result<(BTreeSet<String>, String), String> {
    write_files(folder, "sources/", text)?;
    found(&stave(folder, ["compile", "sources", "--out", "out", "--json"]).outcome().await?)
}

/// Writes the files of a text, each of which comes after a line `--- path`.
fn write_files(folder: &Folder, below: &str, text: &str) -> Result<(), String> {
    for file in text.split("--- ").filter(|file| !file.trim().is_empty()) {
        let (path, text) = file.split_once('\n').ok_or("a file of the example has no text")?;
        folder.write(&format!("{below}{}", path.trim()), text);
    }
    Ok(())
}

/// Errors and warnings of a check, with the exit code that belongs to them.
fn found(finished: &Finished) -> Result<(BTreeSet<String>, String), String> {
    let document = finished.object()?;
    let diagnostics = items(&document, "diagnostics");
    let severity = |diagnostic: &Value| text(diagnostic, "severity").map(str::to_owned).unwrap_or_default();
    let counted = diagnostics.iter().filter(|one| ["error", "warning"].contains(&severity(one).as_str()));
    let codes = counted.filter_map(|one| text(one, "code")).map(str::to_owned).collect();
    let code = if diagnostics.iter().any(|one| severity(one) == "error") { 2 } else { 0 };
    if finished.code != code {
        return Err(format!("exit code {}, expected {code}\n{finished}", finished.code));
    }
    Ok((codes, finished.stdout.clone()))
}

fn found_in_prompt(document: &str) -> (BTreeSet<String>, String) {
    let mut sources = Sources::new();
    let source = sources.add("prompt.json", document);
    let clock = FixedClock(Timestamp::UNIX_EPOCH);
    let diagnostics = match stave_prompt::parse(source, document, &CountingIds::new(), &clock) {
        Ok(ir) => {
            let mut found =
                stave_prompt::diagnose_verdict(source, document, &PolicySet::default().check(&ir));
            found.extend(stave_prompt::diagnose_requirements(source, document, &ir));
            found
        }
        Err(diagnostics) => diagnostics,
    };
    let counted =
        diagnostics.iter().filter(|one| matches!(one.severity, Severity::Error | Severity::Warning));
    let codes = counted.map(|one| one.code.0.to_owned()).collect();
    (codes, format!("{diagnostics:?}"))
}

/// Runs an example with its request, in a project that may call this machine and knows a customer.
async fn run(
    folder: &Folder,
    page: &str,
    wanted: Wanted,
    example: &Example,
    file: &str,
) -> Result<(BTreeSet<String>, String), String> {
    let is_held = example.kind == ExampleKind::RunBundle;
    if is_held {
        write_files(folder, "", &example.text)?;
    } else {
        folder.write(file, &example.text);
    }
    if page != WITHOUT_PROJECT_FILE || wanted == Wanted::Nothing {
        folder.write(
            "stave.toml",
            "[http]\nallow = [\"127.0.0.1\"]\n[secrets.ABSENT_TOKEN]\nhosts = [\"127.0.0.1\"]\n\
             [limits]\nstate_bytes = 1000000\n",
        );
    }
    folder.write(
        "features/customers.jsonl",
        "{\"key\": \"u1\", \"event_time\": \"2026-01-01T00:00:00Z\", \"features\": {\"tenure\": 12}}\n",
    );
    folder.write("request.json", example.request.as_deref().ok_or("the example has no request")?);
    let mut arguments = vec!["run", file, "--input", "request.json", "--json"];
    if is_held {
        arguments.extend(["--bundle", "system.json"]);
    }
    if let Some(recording) = &example.recording {
        folder.write("recording.yaml", recording);
        arguments.extend(["--replay", "recording.yaml"]);
    }
    let finished = stave(folder, arguments).outcome().await?;
    let report = finished.object()?;
    let codes = match text(&report, "status") {
        Some("ok") => BTreeSet::new(),
        Some("error" | "waiting") => {
            let code = report.pointer("/error/code").and_then(Value::as_str);
            [code.ok_or_else(|| format!("the run failed without a code\n{finished}"))?.to_owned()].into()
        }
        _ => return Err(format!("the report has no status\n{finished}")),
    };
    let exits = if codes.is_empty() { finished.code == 0 } else { [1, 3].contains(&finished.code) };
    if !exits {
        return Err(format!("exit code {} does not fit the status\n{finished}", finished.code));
    }
    Ok((codes, finished.to_string()))
}
