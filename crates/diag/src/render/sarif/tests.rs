//! What the standard requires of a log, checked on logs of every shape this renderer writes.

use serde_json::Value;

use super::*;

fn sample() -> (Vec<Diagnostic>, Sources) {
    let mut sources = Sources::new();
    let id = sources.add("flows/my flow.yaml", "\u{feff}nodes:\r\n  漢: x\r\nedges: y\n");
    let other = sources.add("/abs/50%.yaml", "x: 1\n");
    let edge = Diagnostic::new(Code("sample-edge"), Span::new(id, 28, 29), "no node `y`")
        .at_primary("not a node")
        .label(Span::new(id, 13, 16), "the nodes are here")
        .label(Span::new(other, 0, 1), "and there")
        .help("write `漢`")
        .fix(Fix {
            title: "rename both".to_owned(),
            edits: vec![
                Edit { span: Span::new(id, 28, 29), replacement: "漢".to_owned() },
                Edit { span: Span::new(other, 0, 0), replacement: "y".to_owned() },
                Edit { span: Span::new(id, 0, 3), replacement: String::new() },
            ],
        });
    let note = Diagnostic::new(Code("sample-note"), Span::at(id, 999), "at the end").severity(Severity::Note);
    let stranger = Diagnostic::new(Code("sample-lost"), Span::new(SourceId(7), 1, 2), "of no file");
    (vec![edge, note, stranger], sources)
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_else(|| panic!("no text at {pointer} of {value:#}"))
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .unwrap_or_else(|| panic!("no list at {pointer} of {value:#}"))
}

fn number(value: &Value, pointer: &str) -> u64 {
    value
        .pointer(pointer)
        .and_then(Value::as_u64)
        .unwrap_or_else(|| panic!("no number at {pointer} of {value:#}"))
}

fn assert_only_keys(value: &Value, allowed: &[&str]) {
    for key in value.as_object().expect("an object").keys() {
        assert!(allowed.contains(&key.as_str()), "key {key:?} is not of the standard here: {value:#}");
    }
}

fn assert_region(region: &Value) {
    assert_only_keys(region, &["startLine", "startColumn", "endLine", "endColumn"]);
    let start = (number(region, "/startLine"), number(region, "/startColumn"));
    let end = (number(region, "/endLine"), number(region, "/endColumn"));
    assert!(start.0 >= 1 && start.1 >= 1, "regions count from 1: {region}");
    assert!(start <= end, "a region ends after its start: {region}");
}

fn assert_uri(artifact_location: &Value) {
    assert_only_keys(artifact_location, &["uri"]);
    let uri = text(artifact_location, "/uri");
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/:%".contains(&byte);
    assert!(uri.bytes().all(allowed), "{uri:?} is percent-encoded");
    for (index, _) in uri.match_indices('%') {
        let digits = uri.get(index + 1..index + 3).expect("two digits after a percent sign");
        assert!(digits.bytes().all(|digit| digit.is_ascii_hexdigit()), "{uri:?}");
    }
    assert!(!uri.contains(':') || uri.starts_with("file:///"), "{uri:?} is relative or of scheme file");
}

fn assert_location(location: &Value) {
    assert_only_keys(location, &["id", "physicalLocation", "message"]);
    assert_uri(&location["physicalLocation"]["artifactLocation"]);
    assert_region(&location["physicalLocation"]["region"]);
    if location.get("message").is_some() {
        text(location, "/message/text");
    }
}

/// The parts of the schema of SARIF 2.1.0 that a log of this renderer touches.
fn assert_valid(log: &Value) {
    assert_only_keys(log, &["$schema", "version", "runs"]);
    assert_eq!(text(log, "/version"), "2.1.0");
    assert!(text(log, "/$schema").ends_with("sarif-2.1.0.json"));
    for run in list(log, "/runs") {
        assert_only_keys(run, &["tool", "columnKind", "results"]);
        assert_eq!(text(run, "/columnKind"), "unicodeCodePoints");
        assert_eq!(text(run, "/tool/driver/name"), "stave");
        let rules = list(run, "/tool/driver/rules");
        for rule in rules {
            assert_only_keys(rule, &["id", "shortDescription", "help", "defaultConfiguration"]);
            if rule.get("help").is_some() {
                text(rule, "/help/text");
                text(rule, "/help/markdown");
            }
        }
        let mut ids: Vec<&str> = rules.iter().map(|rule| text(rule, "/id")).collect();
        ids.dedup();
        assert_eq!(ids.len(), rules.len(), "rule ids are unique");
        for result in list(run, "/results") {
            let keys = ["ruleId", "ruleIndex", "level", "message", "locations", "relatedLocations", "fixes"];
            assert_only_keys(result, &keys);
            let index = usize::try_from(number(result, "/ruleIndex")).expect("a small index");
            assert_eq!(ids.get(index), Some(&text(result, "/ruleId")), "the index is of the rule");
            assert!(["error", "warning", "note"].contains(&text(result, "/level")));
            text(result, "/message/text");
            list(result, "/locations").iter().for_each(assert_location);
            let mut related_ids = Vec::new();
            for related in result.get("relatedLocations").and_then(Value::as_array).into_iter().flatten() {
                assert_location(related);
                related_ids.push(number(related, "/id"));
            }
            assert!(related_ids.is_sorted_by(|left, right| left < right), "related ids are unique");
            for fix in result.get("fixes").and_then(Value::as_array).into_iter().flatten() {
                assert_only_keys(fix, &["description", "artifactChanges"]);
                text(fix, "/description/text");
                let changes = list(fix, "/artifactChanges");
                assert!(!changes.is_empty(), "a fix changes something");
                for change in changes {
                    assert_uri(&change["artifactLocation"]);
                    assert!(!list(change, "/replacements").is_empty());
                    for replacement in list(change, "/replacements") {
                        assert_region(&replacement["deletedRegion"]);
                        text(replacement, "/insertedContent/text");
                    }
                }
            }
        }
    }
}

fn parsed(diagnostics: &[Diagnostic], sources: &Sources) -> Value {
    serde_json::from_str(&render(diagnostics, sources)).expect("the log is JSON")
}

#[test]
fn a_log_has_the_structure_of_the_standard() {
    let (diagnostics, sources) = sample();
    assert_valid(&parsed(&diagnostics, &sources));
    assert_valid(&parsed(&[], &sources));
    let nothing = Fix { title: "do nothing".to_owned(), edits: Vec::new() };
    let idle = Diagnostic::new(Code("sample-idle"), Span::at(SourceId(0), 0), "m").fix(nothing);
    assert_valid(&parsed(&[idle], &sources));
}

#[test]
fn a_log_reads_like_this() {
    let (diagnostics, sources) = sample();
    insta::assert_snapshot!(render(&diagnostics, &sources));
}

#[test]
fn every_row_of_the_table_becomes_a_rule_with_help() {
    let mut sources = Sources::new();
    let id = sources.add("flow.yaml", "x");
    let rows: Vec<_> = crate::CODES.iter().copied().flatten().collect();
    let diagnostics: Vec<_> =
        rows.iter().map(|row| Diagnostic::new(row.code, Span::at(id, 0), "found")).collect();
    let log = parsed(&diagnostics, &sources);
    assert_valid(&log);
    let rules = list(&log, "/runs/0/tool/driver/rules");
    assert_eq!(rules.len(), rows.len());
    for rule in rules {
        let row = lookup(text(rule, "/id")).expect("a row");
        assert_eq!(text(rule, "/shortDescription/text"), row.summary);
        assert_eq!(text(rule, "/help/markdown"), row.page);
        assert_eq!(text(rule, "/defaultConfiguration/level"), row.severity.word());
    }
}

#[test]
fn paths_become_uri_references() {
    assert_eq!(uri("flows/a.yaml"), "flows/a.yaml");
    assert_eq!(uri("a b#c?d:e%.yaml"), "a%20b%23c%3Fd%3Ae%25.yaml");
    assert_eq!(uri("漢.yaml"), "%E6%BC%A2.yaml");
    assert_eq!(uri("/tmp/x.yaml"), "file:///tmp/x.yaml");
    assert_eq!(uri("<stdin>"), "%3Cstdin%3E");
}

#[test]
fn a_region_counts_characters_and_not_the_byte_order_mark() {
    let (diagnostics, sources) = sample();
    let log = parsed(&diagnostics, &sources);
    let region = log.pointer("/runs/0/results/0/locations/0/physicalLocation/region").expect("a region");
    assert_eq!((number(region, "/startLine"), number(region, "/startColumn")), (3, 8));
    assert_eq!((number(region, "/endLine"), number(region, "/endColumn")), (3, 9));
}
