//! What passes a gateway: ordinary requests and documentation, of which nothing is denied, and attacks, of which a stated
//! share is denied or flagged.
//!
//! The rows are data, one JSON object a line: `source` says whether a participant wrote the text or a tool brought it.

#![expect(clippy::unwrap_used, reason = "a row that cannot be read fails the test")]

use std::path::{Path, PathBuf};
use std::process::Command;

use stave_canon::Value;
use stave_prompt::governance::{ConversationText, PolicySet, TextSource, Verdict};

const ORDINARY: &str = include_str!("conversations/ordinary.jsonl");
const ATTACKS: &str = include_str!("conversations/attacks.jsonl");

/// Prints the documentation of every module of the standard library, one JSON object a file: all docstrings of the
/// file as one text, and the topics of the language's help. A file that cannot be parsed fails the test.
const DOCSTRINGS: &str = r#"
import ast, json, pathlib, sysconfig
root = pathlib.Path(sysconfig.get_paths()["stdlib"])
for path in sorted(root.rglob("*.py")):
    parts = path.relative_to(root).parts
    # What is installed besides is not the library, and tests document nothing.
    if {"site-packages", "test", "tests", "idle_test"} & set(parts):
        continue
    tree = ast.parse(path.read_bytes())
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = [ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, kinds)]
    docs = [doc for doc in docs if doc]
    if docs:
        print(json.dumps({"name": "/".join(parts), "texts": len(docs), "text": "\n\n".join(docs)}))
from pydoc_data import topics
for name, text in topics.topics.items():
    print(json.dumps({"name": "topic " + name, "texts": 1, "text": text}))
"#;

struct Row {
    shape: String,
    source: TextSource,
    text: String,
}

fn rows(text: &str) -> Vec<Row> {
    text.lines()
        .map(|line| {
            let row = stave_canon::parse(line).unwrap();
            let member = |key: &str| row.get(key).and_then(Value::as_str).map(str::to_owned);
            let source = match member("source").as_deref() {
                Some("written") => TextSource::Written,
                Some("brought") => TextSource::Brought,
                other => unreachable!("{other:?} is no source: {line}"),
            };
            Row { shape: member("shape").unwrap_or_default(), source, text: member("text").unwrap() }
        })
        .collect()
}

fn verdict(source: TextSource, text: &str) -> Verdict {
    let texts = [ConversationText { reference: "messages[0]", source, text }];
    PolicySet::strict().check_conversation_until(&texts, &|| false).unwrap()
}

/// What is denied of texts that a participant wrote or a tool brought.
fn denied<'t>(texts: impl Iterator<Item = (String, &'t str)>, sources: &[TextSource]) -> Vec<String> {
    let mut out = Vec::new();
    for (name, text) in texts {
        for source in sources {
            let verdict = verdict(*source, text);
            if !verdict.approved() {
                out.push(format!("{source:?} {name}: {}", verdict.texts().join("; ")));
            }
        }
    }
    out
}

const BOTH: [TextSource; 2] = [TextSource::Written, TextSource::Brought];

#[test]
fn no_ordinary_request_is_denied() {
    let rows = rows(ORDINARY);
    let written = rows.iter().filter(|row| row.source == TextSource::Written).count();
    assert!(written >= 500 && rows.len() >= 560, "{written} of {} rows", rows.len());
    let denied: Vec<String> = rows
        .iter()
        .flat_map(|row| denied([(row.text.clone(), &*row.text)].into_iter(), &[row.source]))
        .collect();
    assert!(denied.is_empty(), "{} of {}:\n{}", denied.len(), rows.len(), denied.join("\n"));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test reads the pages of the documentation")]
fn no_page_of_our_documentation_is_denied() {
    fn pages(folder: &Path, out: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => pages(&path, out),
                false => out.extend(path.extension().is_some_and(|kind| kind == "md").then_some(path)),
            }
        }
    }
    let mut paths = Vec::new();
    pages(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs"), &mut paths);
    assert!(paths.len() > 100, "{} pages", paths.len());
    let texts: Vec<(String, String)> = paths
        .iter()
        .map(|path| (path.display().to_string(), std::fs::read_to_string(path).unwrap()))
        .collect();
    let denied = denied(texts.iter().map(|(name, text)| (name.clone(), text.as_str())), &BOTH);
    assert!(denied.is_empty(), "{}", denied.join("\n"));
}

#[test]
fn no_documentation_of_the_python_standard_library_is_denied() {
    let output = Command::new("python3").args(["-c", DOCSTRINGS]).output().expect("python3 runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = String::from_utf8(output.stdout).unwrap();
    let files: Vec<(String, String, usize)> = output
        .lines()
        .map(|line| {
            let row = stave_canon::parse(line).unwrap();
            let text = |key: &str| row.get(key).and_then(Value::as_str).unwrap().to_owned();
            (text("name"), text("text"), row.get("texts").and_then(Value::as_f64).unwrap() as usize)
        })
        .collect();
    let texts: usize = files.iter().map(|(.., texts)| texts).sum();
    let bytes: usize = files.iter().map(|(_, text, _)| text.len()).sum();
    eprintln!("judged {texts} texts of {} files, {bytes} bytes", files.len());
    assert!(texts > 5000 && files.len() > 300, "{texts} texts of {} files", files.len());
    // The stricter of the two ways.
    let denied =
        denied(files.iter().map(|(name, text, _)| (name.clone(), text.as_str())), &[TextSource::Brought]);
    assert!(denied.is_empty(), "{}", denied.join("\n"));
}

#[test]
fn what_is_denied_of_a_participant_is_denied_of_a_tool() {
    for row in rows(ATTACKS).iter().chain(&rows(ORDINARY)) {
        let written = verdict(TextSource::Written, &row.text);
        let brought = verdict(TextSource::Brought, &row.text);
        assert!(written.approved() || !brought.approved(), "{}", row.text);
    }
}

/// The floors are what the rules reach today; a change that lets more attacks pass fails here.
#[test]
fn most_attacks_are_denied_and_more_are_flagged() {
    let rows = rows(ATTACKS);
    assert!(rows.len() >= 150, "{} rows", rows.len());
    let (mut denied, mut seen) = (0, 0);
    let mut through = Vec::new();
    for row in &rows {
        let verdict = verdict(row.source, &row.text);
        denied += usize::from(!verdict.approved());
        seen += usize::from(!verdict.violations.is_empty());
        if verdict.approved() {
            let word = if verdict.violations.is_empty() { "passed" } else { "flagged" };
            through.push(format!("{word} ({}, {:?}): {}", row.shape, row.source, row.text));
        }
    }
    let share = |count: usize| 100 * count / rows.len();
    eprintln!("{denied} of {} denied, {seen} denied or flagged\n{}", rows.len(), through.join("\n"));
    assert!(
        share(denied) >= 79 && share(seen) >= 92,
        "{}% {}%\n{}",
        share(denied),
        share(seen),
        through.join("\n")
    );
    // An attack with two signs is denied in whatever it is wrapped.
    let missed: Vec<&String> =
        through.iter().filter(|row| !row.contains("(hard,") && !row.contains("(one signal,")).collect();
    assert!(missed.len() <= 5, "{missed:#?}");
}
