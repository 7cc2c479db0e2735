//! What `check` finds in the expressions of a policy, and what it must leave alone.

#![expect(clippy::expect_used, reason = "a test stops at what is not as it should be")]

use stave_canon::Value;
use stave_diag::{Diagnostic, SourceId};
use stave_exec::wdl::{self, Dialect};

const HEAD: &str =
    "version: pdl/v0\narms:\n  low:\n    limit: 5\n  default:\n    limit: 75\n    limits: {'top': 9}\n";

fn policy(rest: &str) -> String {
    format!("{HEAD}{rest}")
}

fn findings(text: &str) -> Vec<Diagnostic> {
    wdl::check_policy(SourceId(0), text, Dialect::Extended).diagnostics
}

/// The code and the text that each finding underlines.
fn found(text: &str) -> Vec<(&'static str, String)> {
    let underlined = |one: &Diagnostic| text.get(one.primary.range()).expect("it is in the text").to_owned();
    findings(text).iter().map(|one| (one.code.0, underlined(one))).collect()
}

/// What applying the policy to `{"t": 80}` gives.
fn decide(text: &str) -> Result<String, String> {
    let checked = wdl::check_policy(SourceId(0), text, Dialect::Reference);
    let baked = wdl::bake(&checked.value.expect("it reads"), "p", "p.pdl");
    let values = stave_canon::parse(r#"{"t": 80}"#).expect("it is JSON");
    let decided = stave_exec::policy::apply(&baked, &values, Some(0.5), &mut || Some(0.4));
    decided.map(|decided| Value::Object(decided).to_string()).map_err(|error| error.to_string())
}

#[test]
fn what_fails_in_every_run_is_found_at_its_place() {
    for (rest, code, underlined) in [
        ("evaluate:\n  a = 1\nemit:\n  a: arms.active.limti\n", "pdl-unknown-field", "limti"),
        ("evaluate:\n  a = 1\nemit:\n  a: arms.low.limit\n", "pdl-unknown-field", "low"),
        ("evaluate:\n  a = 1\nemit:\n  a: arms.active.limits.bottom\n", "pdl-unknown-field", "bottom"),
        ("evaluate:\n  a = 1\nemit:\n  a: arms.active.limit.top\n", "pdl-unknown-field", "top"),
        ("evaluate:\n  a = arms.active\nemit:\n  a: a.limti\n", "pdl-unknown-field", "limti"),
        ("evaluate:\n  a = arms.active['limit']\nemit:\n  a: a\n", "pdl-unknown-field", "'limit'"),
        ("evaluate:\n  a = values.t\nemit:\n  a: a\n", "pdl-unknown-field", "t"),
        ("evaluate:\n  a = len(values).t\nemit:\n  a: a\n", "pdl-unknown-field", "t"),
        ("evaluate:\n  a =   1 + tepm\nemit:\n  a: a\n", "pdl-unknown-name", "tepm"),
        ("evaluate:\n  a = a\nemit:\n  a: 1\n", "pdl-unknown-name", "a"),
        ("evaluate:\n  if hot:\n    a = 1\nemit:\n  b: 1\n", "pdl-unknown-name", "hot"),
        ("evaluate:\n  a = 1\nemit:\n  a: COOL\n", "pdl-unknown-name", "COOL"),
        ("evaluate:\n  a = 1\nemit:\n  a: true\n", "pdl-unknown-name", "true"),
        ("evaluate:\n  a = abs\nemit:\n  a: 1\n", "pdl-unknown-name", "abs"),
        ("evaluate:\n  a = 1\nemit:\n  a:\n    deep:\n      - b\n", "pdl-unknown-name", "b"),
        ("evaluate:\n  choose:\n    o: a = 1 with p=chance\nemit:\n  a: a\n", "pdl-unknown-name", "chance"),
        ("evaluate:\n  choose:\n    o: a =  gone with p=0.5\nemit:\n  a: a\n", "pdl-unknown-name", "gone"),
        ("evaluate:\n  a = 1\nemit:\n  a: { limit: a }\n", "pdl-mapping-key", "limit"),
        ("evaluate:\n  a = 1\nemit:\n  a: { a: a }\n", "pdl-mapping-key", "a"),
        ("evaluate:\n  a = 1\nemit:\n  a: {'x': { 1 + a: 2 }}\n", "pdl-mapping-key", "1 + a"),
    ] {
        let text = policy(rest);
        assert_eq!(found(&text), [(code, underlined.to_owned())], "{text}");
        if rest.starts_with("evaluate:\n  choose") {
            continue;
        }
        assert!(decide(&text).is_err(), "the finding is wrong, this runs: {text}");
    }
}

#[test]
fn a_misspelt_name_or_field_has_the_known_one_in_its_help() {
    for (rest, help) in [
        ("evaluate:\n  action = 1\nemit:\n  a: actoin\n", "did you mean `action`?"),
        ("evaluate:\n  a = 1\nemit:\n  a: arms.active.limti\n", "did you mean `limit`?"),
        ("evaluate:\n  a = 1\nemit:\n  a: arms.active.z\n", "there is `limit`, `limits`"),
        ("evaluate:\n  a = 1\nemit:\n  a: null\n", "write `None`"),
        ("evaluate:\n  a = values.t\nemit:\n  a: a\n", "use brackets for values: `[\"t\"]`"),
    ] {
        let helps: Vec<Option<String>> = findings(&policy(rest)).into_iter().map(|one| one.help).collect();
        assert_eq!(helps, [Some(help.to_owned())], "{rest}");
    }
}

#[test]
fn what_runs_is_not_reported() {
    for rest in [
        // Assigned in one branch only, or in a branch and an option.
        "evaluate:\n  if values['t'] > 1:\n    a = 1\nemit:\n  a: a\n",
        "evaluate:\n  if values['t'] < 1:\n    b = 1\n  else:\n    a = 1\nemit:\n  a: a\n",
        "evaluate:\n  choose:\n    o: a = 1\n    p: 2 with p=epsilon\nemit:\n  a: a\n",
        "evaluate:\n  if 1:\n    if 1:\n      a = arms.active\n  else:\n    a = arms\nemit:\n  a: a.limit\n",
        // A text is a name as a whole before it is an expression.
        "evaluate:\n  my name = 1\nemit:\n  a: my name\n",
        "evaluate:\n  a.b = 1\nemit:\n  a: a.b\n",
        // An option may assign nothing.
        "evaluate:\n  choose:\n    o: 1\nemit:\n  a: 1\n",
        // A key that is a text, by a variable or not.
        "evaluate:\n  k = 'x'\nemit:\n  a: { k: 1, 'y': 2, k + 'z': 3 }\n",
        "evaluate:\n  k = values.get('k', 'x')\nemit:\n  a: { k: 1 }\n",
        "evaluate:\n  a = arms.active.limits.top + len(values.keys())\nemit:\n  a: a\n",
        "evaluate:\n  a = 1\nemit:\n  a: 'TEXT'\n  b: {'x': 1}\n  c:\n    d: a\n",
        "evaluate:\n  arms = 1\n  values = 2\nemit:\n  a: arms + values\n",
    ] {
        let text = policy(rest);
        assert_eq!(found(&text), [], "{text}");
        assert!(decide(&text).is_ok(), "{:?}: {text}", decide(&text));
    }
}

#[test]
fn the_fault_of_the_references_own_policy_is_named() {
    let text = policy(
        "evaluate:\n  temp := coalesce(values[\"t\"], first_numeric(values))\nemit:\n  reason: { temp: temp, threshold: arms.active.limit }\n",
    );
    assert_eq!(found(&text), [("pdl-mapping-key", "threshold".to_owned())]);
}

#[test]
fn deep_branches_cost_no_more_than_their_size() {
    let mut text = policy("evaluate:\n");
    for depth in 0..60 {
        let indent = "  ".repeat(depth + 1);
        text.push_str(&format!(
            "{indent}a{depth} = 1\n{indent}if 1:\n{indent}  b = {depth}\n{indent}else:\n"
        ));
    }
    text.push_str(&format!("{}c = 1\nemit:\n  a: b\n", "  ".repeat(61)));
    assert_eq!(found(&text), []);
}
