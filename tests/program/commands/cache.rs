//! `stave cache`: what each of its commands prints for a small trace.

use stave_canon::{Value, parse};

use crate::folder::Folder;
use crate::json::{count, items, text};
use crate::process::stave;

/// A loop of four requests with instructions of some kilobytes; keys in an order of their own.
fn trace() -> String {
    let system = "Answer every question about the parcel in one sentence. ".repeat(150);
    let mut messages = vec![r#"{"role":"user","content":"first"}"#.to_owned()];
    let mut lines = String::new();
    for turn in 0..4 {
        let body = format!(
            r#"{{"messages":[{}], "system":"{system}","max_tokens":1e3,"model":"claude-sonnet-4-6"}}"#,
            messages.join(",")
        );
        lines.push_str(&format!("{{\"t\":{}.50,\"session\":\"s\",\"body\":{body}}}\n", turn * 20));
        messages.push(format!(r#"{{"role":"assistant","content":"reply {turn}"}}"#));
        messages.push(format!(r#"{{"role":"user","content":"more {turn}"}}"#));
    }
    lines
}

#[tokio::test]
async fn rewrite_marks_what_pays_and_keeps_every_other_byte() {
    let folder = Folder::new();
    let arguments = ["cache", "rewrite", "--provider", "anthropic"];
    let trace = trace();
    let finished = stave(&folder, arguments).input(&trace).finish().await.exits(0);
    assert_eq!(finished.stdout.lines().count(), 4);
    for (before, after) in trace.lines().zip(finished.stdout.lines()) {
        let value = parse(after).unwrap();
        assert_eq!(text(&value, "session"), Some("s"));
        assert!((1..=4).contains(&after.matches("\"cache_control\"").count()), "{after}");
        let mark = r#","cache_control":{"type":"ephemeral"}}]"#;
        let plain = after.replace(r#"[{"type":"text","text":"#, "").replace(mark, "");
        assert_eq!(plain, before);
    }
}

#[tokio::test]
async fn rewrite_sets_a_cache_key_for_openai() {
    let folder = Folder::new();
    let line = |text: &str| {
        format!(r#"{{"t":1,"body":{{"model":"gpt-5","messages":[{{"role":"user","content":"{text}"}}]}}}}"#)
    };
    let arguments = ["cache", "rewrite", "--provider", "openai"];
    // What is too short to be cached is sent as it came, as by the gateway.
    let short = stave(&folder, arguments).input(&line("hi")).finish().await.exits(0).json();
    assert_eq!(short.pointer("/body/prompt_cache_key"), None, "{short}");
    let long = line(&"Where is the parcel? ".repeat(100));
    let finished = stave(&folder, arguments).input(&long).finish().await.exits(0);
    let value = finished.json();
    assert_eq!(value.get("session"), Some(&Value::Null));
    let key = value.pointer("/body/prompt_cache_key").and_then(Value::as_str).unwrap();
    assert!(key.starts_with("stave-"), "{key}");
}

#[tokio::test]
async fn simulate_compares_three_ways_of_sending() {
    let folder = Folder::new();
    let arguments = ["cache", "simulate", "--json", "--tokens", "bytes"];
    let value = stave(&folder, arguments).input(&trace()).finish().await.exits(0).json();
    let cost = |name: &str| value.get(name).and_then(|row| row.get("cost")).and_then(Value::as_f64).unwrap();
    assert!(cost("planned") < 0.6 * cost("as_sent"));
    assert!(cost("optimum") <= cost("planned"));
    assert_eq!(count(value.get("planned").unwrap(), "requests"), Some(4));
    assert_eq!(items(value.get("planned").unwrap(), "refused"), []);
    for name in ["as_sent", "planned", "optimum"] {
        let row = value.get(name).unwrap();
        for member in ["requests", "read", "written_5m", "written_1h", "uncached"] {
            assert_eq!(
                value.pointer(&format!("/{name}/sessions/s/{member}")),
                row.get(member),
                "{name} {member}: the sole session is the whole"
            );
        }
        assert!(count(row, "read").unwrap() + count(row, "uncached").unwrap() > 0, "{row}");
    }
}

#[tokio::test]
async fn explain_names_the_clock_that_differs() {
    let folder = Folder::new();
    let line = |time: &str| {
        let rest = "Be brief. ".repeat(50);
        format!(
            r#"{{"t":1,"body":{{"model":"claude-opus-5","system":"Now 2026-11-15T17:48:{time}Z. {rest}","messages":[]}}}}"#
        )
    };
    let trace = format!("{}\n{}\n", line("01"), line("42"));
    let value = stave(&folder, ["cache", "explain", "--json"]).input(&trace).finish().await.exits(0).json();
    let difference = value.get("difference").unwrap();
    assert_eq!(text(difference, "variable"), Some("iso8601_timestamp"));
    assert_eq!(text(difference, "kind"), Some("text"));
    assert!(count(difference, "lost_tokens").unwrap() > 50);
}

#[tokio::test]
async fn analyze_draws_a_picture() {
    let folder = Folder::new();
    let arguments = ["cache", "analyze", "--svg", "out.svg", "--html", "out.html"];
    let finished = stave(&folder, arguments).input(&trace()).finish().await.exits(0);
    assert!(finished.stdout.contains("system"), "{finished}");
    let svg = std::fs::read_to_string(folder.path().join("out.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    assert!(std::fs::read_to_string(folder.path().join("out.html")).unwrap().contains("<svg"));
}

#[tokio::test]
async fn a_broken_line_is_named() {
    let folder = Folder::new();
    for (input, said) in [
        ("{\"t\":1}\n", "`body` is missing"),
        ("{\"t\":\"x\",\"body\":{}}\n", "`t` must be a number"),
        ("nonsense\n", "line 1"),
    ] {
        let finished = stave(&folder, ["cache", "rewrite", "--provider", "anthropic"])
            .input(input)
            .finish()
            .await
            .exits(2);
        assert!(finished.stderr.contains(said), "{finished}");
    }
}
