//! `stave check`: everything that is wrong, at its place, in four forms.

use stave_canon::Value;

use super::sample::{DOUBLE, broken};
use crate::folder::{Folder, repository_file};
use crate::json::{items, text};
use crate::mask::mask;
use crate::process::{Finished, stave};

fn folder_with(files: &[(&str, &str)]) -> Folder {
    let folder = Folder::new();
    for (path, content) in files {
        folder.write(path, content);
    }
    folder
}

fn diagnostics(finished: &Finished) -> Vec<Value> {
    items(&finished.json(), "diagnostics").to_vec()
}

#[tokio::test]
async fn a_flow_without_faults_is_said_to_be_fine() {
    let folder = folder_with(&[("flow.yaml", DOUBLE)]);
    let finished = stave(&folder, ["check", "flow.yaml"]).finish().await.exits(0);
    assert_eq!(finished.stdout, "");
    insta::assert_snapshot!(finished.stderr);
}

#[tokio::test]
async fn every_fault_of_a_price_table_has_its_place_beside_the_others() {
    let file = "prices.z = 3\n[prices.x]\ninput = \"a lot\"\nouput = 1\n[prices.y]\ncontext = 0\n[htp]\nallow = []\n";
    let folder = folder_with(&[("stave.toml", file), ("flows/a.yaml", DOUBLE)]);
    let checked = stave(&folder, ["check", "--json"]).finish().await.exits(2);
    let found: Vec<(i64, String)> = diagnostics(&checked)
        .iter()
        .map(|found| {
            let line = found.get("line").and_then(Value::as_i64).unwrap();
            (line, text(found, "message").unwrap().to_owned())
        })
        .collect();
    for (line, said) in [
        (3, "`input` must be an amount such as 2.50"),
        (4, "`prices.x.ouput` is not a setting"),
        (2, "`prices.x.output` is missing"),
        (6, "`context` must be at least 1"),
        (1, "`z` must be a table, not an integer"),
        (7, "`htp` is not a setting"),
    ] {
        assert!(
            found.iter().any(|(at, message)| *at == line && message.contains(said)),
            "{line} {said}: {checked}"
        );
    }
}

#[tokio::test]
async fn the_prices_of_the_page_about_models_are_settings() {
    let page = repository_file("docs/llm.md");
    let block = page.split("```").find_map(|block| block.strip_prefix("toml prices\n")).unwrap();
    let folder = folder_with(&[("stave.toml", block), ("flows/a.yaml", DOUBLE)]);
    stave(&folder, ["check"]).finish().await.exits(0);
}

#[tokio::test]
async fn people_see_the_source_with_the_places_marked() {
    let folder = folder_with(&[("flow.yaml", &broken())]);
    let finished = stave(&folder, ["check", "flow.yaml"]).finish().await.exits(2);
    assert_eq!(finished.stdout, "");
    insta::assert_snapshot!(finished.stderr);
}

#[tokio::test]
async fn the_short_form_has_a_line_per_finding() {
    let folder = folder_with(&[("flow.yaml", &broken())]);
    let finished = stave(&folder, ["check", "--format", "short", "flow.yaml"]).finish().await.exits(2);
    assert_eq!(finished.stderr, "");
    insta::assert_snapshot!(finished.stdout);
}

#[tokio::test]
async fn the_json_form_is_one_object_with_places_and_cures() {
    let folder = folder_with(&[("flow.yaml", &broken())]);
    let finished = stave(&folder, ["check", "--format", "json", "flow.yaml"]).finish().await.exits(2);
    assert_eq!(finished.stderr, "");
    let same = stave(&folder, ["check", "--json", "flow.yaml"]).finish().await.exits(2);
    assert_eq!(finished.stdout, same.stdout);
    insta::assert_snapshot!(finished.stdout);
    for diagnostic in diagnostics(&finished) {
        for key in ["code", "severity", "message", "file", "line", "column", "end_line", "end_column", "help"]
        {
            assert!(diagnostic.get(key).is_some(), "{key} of {diagnostic}");
        }
    }
}

#[tokio::test]
async fn the_json_form_of_a_flow_without_faults_has_an_empty_list() {
    let folder = folder_with(&[("flow.yaml", DOUBLE)]);
    let finished = stave(&folder, ["check", "--format", "json", "flow.yaml"]).finish().await.exits(0);
    assert!(diagnostics(&finished).is_empty());
}

#[tokio::test]
async fn the_sarif_form_names_rules_results_and_places() {
    let folder = folder_with(&[("flow.yaml", &broken())]);
    let finished = stave(&folder, ["check", "--format", "sarif", "flow.yaml"]).finish().await.exits(2);
    assert_eq!(finished.stderr, "");
    let log = finished.json();
    assert_eq!(text(&log, "version"), Some("2.1.0"));
    let results: Vec<String> = log
        .pointer("/runs/0/results")
        .and_then(Value::as_array)
        .unwrap()
        .iter()
        .map(|result| {
            let place = result.pointer("/locations/0/physicalLocation").unwrap();
            let file = place.pointer("/artifactLocation/uri").unwrap();
            let line = place.pointer("/region/startLine").unwrap();
            format!("{} {} {file}:{line}", result.get("ruleId").unwrap(), result.get("level").unwrap())
        })
        .collect();
    insta::assert_snapshot!(results.join("\n"));
}

#[tokio::test]
async fn several_files_are_checked_in_one_go() {
    let folder =
        folder_with(&[("good.yaml", DOUBLE), ("bad.yaml", &broken()), ("worse.yaml", "version: [\n")]);
    let arguments = ["check", "--format", "short", "good.yaml", "bad.yaml", "worse.yaml"];
    let finished = stave(&folder, arguments).finish().await.exits(2);
    insta::assert_snapshot!(finished.stdout);
}

#[tokio::test]
async fn a_folder_stands_for_the_flows_in_it() {
    let folder = folder_with(&[
        ("flows/a.yaml", DOUBLE),
        ("flows/deep/b.yml", &broken()),
        ("flows/notes.md", "not a flow"),
        ("flows/.hidden.yaml", "version: ["),
    ]);
    let named = stave(&folder, ["check", "--format", "json", "flows"]).finish().await.exits(2);
    let files: Vec<Value> = diagnostics(&named).iter().filter_map(|one| one.get("file").cloned()).collect();
    assert!(!files.is_empty());
    assert!(files.iter().all(|file| file.as_str() == Some("flows/deep/b.yml")), "{files:?}");
    let unnamed = stave(&folder, ["check", "--format", "json"]).finish().await.exits(2);
    assert_eq!(named.stdout, unnamed.stdout, "`flows` is checked when no path is given");
    let counted = stave(&folder, ["check"]).finish().await.exits(2);
    assert!(counted.stderr.contains("checked 2 files"), "{counted}");
}

#[tokio::test]
async fn what_a_project_keeps_beside_its_flows_is_not_taken_for_flows() {
    let folder = folder_with(&[
        ("one/stave.toml", "[recordings]\nreplay = \"answers/all.yaml\"\n"),
        ("one/flows/a.yaml", DOUBLE),
        ("one/more/b.yaml", DOUBLE),
        ("one/answers/all.yaml", "entries: []\n"),
        ("one/recordings/other.yaml", "entries: []\n"),
        ("one/policies/default.yaml", "policies: []\n"),
        ("one/templates/writer.yaml", "templates:\n  writer: {goal: Write plainly.}\n"),
        ("one/knowledge/hub.yaml", "entities: []\n"),
        // Outside of a project the names of folders mean nothing.
        ("policies/c.yaml", DOUBLE),
    ]);
    let whole = stave(&folder, ["check", "."]).finish().await.exits(0);
    assert!(whole.stderr.contains("checked 3 files"), "{whole}");
    let laid_out = stave(&folder, ["fmt", "--json", "one"]).finish().await.exits(0).json();
    assert_eq!(items(&laid_out, "files").len(), 2, "{laid_out}");
    folder.write("one/stave.toml", "[recordings]\nreplay = \"\"\n");
    let unnamed = stave(&folder, ["fmt", "--json", "one"]).finish().await.exits(0).json();
    assert_eq!(items(&unnamed, "files").len(), 3, "{unnamed}");
    // A folder that is named is checked.
    stave(&folder, ["check", "one/policies"]).finish().await.exits(2);
}

#[tokio::test]
async fn a_path_that_is_not_there_is_told() {
    let folder = Folder::new();
    let missing = stave(&folder, ["check", "none.yaml"]).finish().await.exits(2);
    insta::assert_snapshot!(missing.stderr);
}

#[tokio::test]
async fn without_paths_and_without_flows_the_cure_is_told() {
    let folder = Folder::new();
    let nothing = stave(&folder, ["check"]).finish().await.exits(2);
    insta::assert_snapshot!(nothing.stderr);
}

#[tokio::test]
async fn a_folder_without_flows_is_told() {
    let folder = folder_with(&[("flows/readme.md", "")]);
    let empty = stave(&folder, ["check"]).finish().await.exits(2);
    insta::assert_snapshot!(empty.stderr);
}

#[tokio::test]
async fn a_file_that_is_not_utf_8_is_told() {
    let folder = Folder::new();
    folder.write("flow.yaml", b"version: \"1.0\"\nmetadata: {name: caf\xe9}\n");
    let finished = stave(&folder, ["check", "flow.yaml"]).finish().await.exits(2);
    insta::assert_snapshot!(finished.stderr);
}

#[tokio::test]
async fn certain_cures_are_applied_and_comments_stay() {
    let flow = DOUBLE.replace("nodes:\n", "# What it does.\nnodes:  # two of them\n");
    let broken = flow.replace("to: show.n}", "to: shwo.n}  # the last step").replace("outputs:", "ouputs:");
    let folder = folder_with(&[("flow.yaml", &broken)]);
    let fixed = stave(&folder, ["check", "--fix", "flow.yaml"]).finish().await.exits(0);
    assert_eq!(folder.read("flow.yaml"), flow.replace("to: show.n}", "to: show.n}  # the last step"));
    insta::assert_snapshot!(fixed.stderr);
    stave(&folder, ["check", "flow.yaml"]).finish().await.exits(0);
}

#[tokio::test]
async fn what_has_no_certain_cure_is_left_and_reported() {
    let broken = DOUBLE.replace("to: show.n}", "to: elsewhere.n}");
    let folder = folder_with(&[("flow.yaml", &broken)]);
    stave(&folder, ["check", "--fix", "flow.yaml"]).finish().await.exits(2);
    assert_eq!(folder.read("flow.yaml"), broken);
}

#[tokio::test]
async fn leniencies_are_errors_when_strict() {
    let flow =
        repository_file("examples/support/flows/support.yaml").replace("../recordings/", "recordings/");
    let recording = repository_file("examples/support/recordings/support.yaml");
    let folder = folder_with(&[("flow.yaml", &flow), ("recordings/support.yaml", &recording)]);
    stave(&folder, ["check", "flow.yaml"]).finish().await.exits(0);
    let strict =
        stave(&folder, ["check", "--strict", "--format", "short", "flow.yaml"]).finish().await.exits(2);
    insta::assert_snapshot!(strict.stdout);
}

#[tokio::test]
async fn a_warning_alone_does_not_fail_a_check() {
    let unused = "  spare:\n    type: transform\n    inputs: [{name: n, type: number}]\n    outputs: [{name: n, type: number}]\n    \
                  transform: {mode: declarative, spec: {op: io.format_response, args: {template: \"${n}\"}}}\nedges:\n  \
                  - {from: _input.n, to: spare.n}\n";
    let folder = folder_with(&[("flow.yaml", &DOUBLE.replace("edges:\n", unused))]);
    let finished = stave(&folder, ["check", "--format", "json", "flow.yaml"]).finish().await.exits(0);
    let found = diagnostics(&finished);
    assert!(found.iter().any(|one| text(one, "severity") == Some("warning")), "{finished}");
    assert!(found.iter().all(|one| text(one, "severity") != Some("error")), "{finished}");
}

#[tokio::test]
async fn a_project_file_is_checked_with_its_flows() {
    let folder = folder_with(&[("stave.toml", "[htp]\nallow = []\n"), ("flows/a.yaml", DOUBLE)]);
    let finished = stave(&folder, ["check"]).finish().await;
    insta::assert_snapshot!(mask(&finished.stderr, &folder));
}

#[tokio::test]
async fn every_fault_of_a_project_file_is_reported_at_its_place() {
    let faulty = repository_file("tests/program/data/faulty_project.toml");
    let folder = folder_with(&[("stave.toml", faulty.as_str()), ("flows/a.yaml", DOUBLE)]);
    let finished = stave(&folder, ["check", "--format", "short"]).finish().await.exits(2);
    insta::assert_snapshot!(mask(&finished.stdout, &folder));
}

#[tokio::test]
async fn the_complete_example_of_the_specification_has_one_error_the_dangling_edge() {
    let folder = folder_with(&[("flow.yaml", &repository_file("tests/program/data/complete_example.yaml"))]);
    let finished = stave(&folder, ["check", "--format", "json", "flow.yaml"]).finish().await.exits(2);
    let found = diagnostics(&finished);
    let errors: Vec<&Value> = found.iter().filter(|one| text(one, "severity") == Some("error")).collect();
    assert_eq!(errors.len(), 1, "{finished}");
    let number = |key: &str| errors[0].get(key).and_then(Value::as_i64);
    assert_eq!(text(errors[0], "code"), Some("dangling-edge"));
    assert_eq!((number("line"), number("column")), (Some(211), Some(9)));
    let shown = stave(&folder, ["check", "flow.yaml"]).finish().await.exits(2);
    insta::assert_snapshot!(shown.stderr);
}

#[tokio::test]
async fn a_text_on_stdin_belongs_to_the_project_of_its_name() {
    let folder = folder_with(&[("stave.toml", "[accepts.providers]\nopenai = \"restricted\"\n")]);
    let labelled = labelled_flow();
    let bare = stave(&folder, ["check", "-", "--format", "short"]).input(&labelled).finish().await.exits(0);
    assert_eq!(bare.stdout, "");
    let elsewhere = Folder::new();
    let named = ["check", "-", "--stdin-name", "flows/draft.yaml", "--format", "short"];
    let finished = stave(&elsewhere, named).input(&labelled).finish().await.exits(2);
    assert!(finished.stdout.starts_with("flows/draft.yaml:"), "{finished}");
    assert!(finished.stdout.contains("error[sensitive-data-leak]"), "{finished}");
}

fn labelled_flow() -> String {
    let page = stave_diag::lookup("sensitive-data-leak").expect("the code is there").page;
    stave_diag::page::examples(page).bad[0].text.clone()
}

#[tokio::test]
async fn scopes_of_receivers_come_from_the_project() {
    let folder = folder_with(&[("flow.yaml", &labelled_flow())]);
    let refused = stave(&folder, ["check", "flow.yaml"]).finish().await.exits(2);
    insta::assert_snapshot!(refused.stderr);
    folder.write("request.json", "{\"diagnosis\": \"flu\"}");
    let run = stave(&folder, ["run", "flow.yaml", "--input", "request.json", "--json"]).finish().await;
    assert_eq!(run.code, 2, "a flow that leaks is not run\n{run}");
    folder.write("stave.toml", "[accepts.providers]\nopenai = \"restricted\"\n");
    stave(&folder, ["check", "flow.yaml"]).finish().await.exits(0);
    folder.write("stave.toml", "[accepts.providers]\nopenai = \"everything\"\n");
    let bad = stave(&folder, ["check", "flow.yaml"]).finish().await.exits(2);
    assert!(bad.stderr.contains("bad-project-value"), "{bad}");
}

#[tokio::test]
async fn github_gets_an_annotation_per_finding() {
    let folder = folder_with(&[("flow.yaml", &broken())]);
    let finished = stave(&folder, ["check", "--format", "github", "flow.yaml"]).finish().await.exits(2);
    assert_eq!(finished.stderr, "");
    insta::assert_snapshot!(finished.stdout);
}

#[tokio::test]
async fn fixing_again_changes_nothing() {
    let broken = DOUBLE.replace("to: show.n}", "to: shwo.n}  # the last step").replace("outputs:", "ouputs:");
    let folder = folder_with(&[("flow.yaml", &broken.replace("\"1.0\"", "1.0"))]);
    stave(&folder, ["check", "--fix", "flow.yaml"]).finish().await.exits(0);
    let fixed = folder.read("flow.yaml");
    let again = stave(&folder, ["check", "--fix", "flow.yaml"]).finish().await.exits(0);
    assert!(!again.stderr.contains("fixed"), "{again}");
    assert_eq!(folder.read("flow.yaml"), fixed);
    let piped = stave(&folder, ["check", "--fix", "-"]).input(&broken).finish().await.exits(0);
    assert_eq!(piped.stdout, DOUBLE.replace("to: show.n}", "to: show.n}  # the last step"));
}

#[tokio::test]
async fn a_watched_flow_is_checked_again_when_it_changes() {
    let folder = folder_with(&[("flows/a.yaml", DOUBLE)]);
    let mut watching = stave(&folder, ["check", "--watch"]).start();
    watching.wait_for_stderr("checked 1 file: no").await;
    folder.write("flows/a.yaml", broken());
    let seen = watching.wait_for_stderr("2 errors").await;
    assert!(seen.contains("dangling-edge"), "{seen}");
}

#[tokio::test]
async fn a_file_that_is_not_text_is_a_finding_at_its_place_and_hides_no_other_file() {
    let folder = Folder::new();
    folder.write("flows/bad.yaml", b"version: \"1.0\"\nmetadata: {name: \xff}\n");
    folder.write("flows/broken.yaml", broken());
    let finished = stave(&folder, ["check", "--format", "json", "flows"]).finish().await.exits(2);
    let value = finished.json();
    let found = items(&value, "diagnostics");
    let bad: Vec<&Value> =
        found.iter().filter(|one| text(one, "file").is_some_and(|file| file.ends_with("bad.yaml"))).collect();
    assert_eq!(bad.len(), 1, "{value}");
    assert_eq!(text(bad[0], "code"), Some("yaml-syntax"));
    let number = |key: &str| bad[0].get(key).and_then(Value::as_i64);
    assert_eq!((number("line"), number("column")), (Some(2), Some(18)), "{value}");
    assert!(found.len() > 1, "{value}");
    stave(&folder, ["check", "--fix", "flows"]).finish().await.exits(2);
    let kept = std::fs::read(folder.path().join("flows/bad.yaml")).unwrap();
    assert_eq!(kept, b"version: \"1.0\"\nmetadata: {name: \xff}\n");
    let compiled = stave(&folder, ["compile", "flows", "--out", "out"]).finish().await.exits(2);
    assert!(compiled.stderr.contains("yaml-syntax") && !folder.has("out"), "{compiled}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_folder_is_walked_once_whatever_links_lead_back_to_it() {
    let folder = folder_with(&[("flows/flow.yaml", DOUBLE), ("flows/.hidden/flow.yaml", &broken())]);
    std::os::unix::fs::symlink(".", folder.path().join("flows/again")).unwrap();
    let finished = stave(&folder, ["check", "flows"]).finish().await.exits(0);
    assert!(finished.stderr.contains("checked 1 file"), "{finished}");
}

#[tokio::test]
async fn a_folder_that_is_too_deep_is_refused_and_not_left_out() {
    let folder = Folder::new();
    folder.write(&format!("flows/{}flow.yaml", "a/".repeat(65)), DOUBLE);
    folder.write("flows/flow.yaml", DOUBLE);
    let finished = stave(&folder, ["check", "flows"]).finish().await.exits(2);
    assert!(finished.stderr.contains("more than 64 folders deep"), "{finished}");
}

#[tokio::test]
async fn two_flows_of_one_name_in_a_project_are_reported() {
    let folder = Folder::new();
    folder.write("stave.toml", "");
    folder.write("flows/a.yaml", DOUBLE);
    folder.write("flows/b.yaml", DOUBLE);
    let report = stave(&folder, ["check", "--json"]).finish().await.exits(0).json();
    let found = items(&report, "diagnostics");
    assert_eq!(found.len(), 1, "{report}");
    assert_eq!(text(&found[0], "code"), Some("shared-flow-name"), "{report}");
    assert_eq!(text(&found[0], "severity"), Some("warning"), "{report}");
    folder.write("flows/b.yaml", DOUBLE.replace("name: doubler", "name: other"));
    let report = stave(&folder, ["check", "--json"]).finish().await.exits(0).json();
    assert!(items(&report, "diagnostics").is_empty(), "{report}");
    // A workflow is served by its name too.
    let workflow = "version: dsl/v0\nworkflow: other\ninputs:\n  node: string\nsteps:\n  - read(http.get):\n      url: $input.node\n";
    folder.write("flows/c.wdl", workflow);
    let report = stave(&folder, ["check", "--json"]).finish().await.exits(0).json();
    let found = items(&report, "diagnostics");
    assert_eq!(text(&found[0], "code"), Some("shared-flow-name"), "{report}");
    assert_eq!(found[0].pointer("/range/start/line").or(found[0].get("line")), Some(&2.into()), "{report}");
}

#[tokio::test]
async fn a_project_file_that_is_checked_is_reported_once() {
    let folder = folder_with(&[("stave.toml", "[htp]\nallow = []\n"), ("flows/a.yaml", DOUBLE)]);
    for paths in [&["stave.toml"][..], &["flows", "stave.toml"], &["stave.toml", "flows"], &["flows"]] {
        let arguments = ["check", "--json"].into_iter().chain(paths.iter().copied());
        let found = diagnostics(&stave(&folder, arguments).finish().await.exits(2));
        assert_eq!(found.len(), 1, "{paths:?}: {found:?}");
    }
}

#[tokio::test]
async fn a_limit_that_no_budget_has_is_an_error() {
    let flow = DOUBLE.replace("nodes:\n", "runtime: {budget: {cost_usdd: 0.5}}\nnodes:\n");
    let folder = folder_with(&[("flow.yaml", &flow)]);
    let finished = stave(&folder, ["check", "flow.yaml"]).finish().await.exits(2);
    assert!(finished.stderr.contains("error[unknown-field]"), "{finished}");
    assert!(finished.stderr.contains("did you mean `cost_usd`?"), "{finished}");
    stave(&folder, ["run", "flow.yaml", "--input", "-"]).input("{\"n\": 1}").finish().await.exits(2);
}

#[tokio::test]
async fn a_misspelt_source_or_field_of_the_deployment_is_found() {
    let deployed = |context: &str| {
        DOUBLE.replace("requires: [n]", "requires: [n], optional: [region]")
            + &format!("deployment:\n  target: local\n  context: {{{context}}}\n")
    };
    let folder = folder_with(&[("stave.toml", "[context]\nenv = [\"REGION\"]\n")]);
    for (context, code, help) in [
        ("region: {evn: REGION}", 2, "did you mean `env`?"),
        ("regoin: {env: REGION}", 0, "did you mean `region`?"),
        ("region: {env: REGION}", 0, "no problems"),
    ] {
        folder.write("flows/a.yaml", deployed(context));
        let finished = stave(&folder, ["check", "flows/a.yaml"]).finish().await.exits(code);
        if help != "no problems" {
            assert!(finished.stderr.contains(help), "{context}: {finished}");
        } else {
            assert!(!finished.stderr.contains("did you mean"), "{finished}");
        }
    }
}

#[tokio::test]
async fn settings_name_what_the_project_has() {
    let labelled = "[labels.declassify]\n\"doubler/double.n\" = \"a count\"\n";
    let folder = folder_with(&[("flows/a.yaml", DOUBLE)]);
    for (settings, near) in [
        ("[signing.minimum]\ndoubler = 3\nruntime_bundle = 2\n\"*\" = 1\n".to_owned(), None),
        ("[signing.minimum]\ndoublar = 3\n".to_owned(), Some("did you mean `doubler`?")),
        ("[signing.minimum]\nrun_manifst = 3\n".to_owned(), Some("did you mean `run_manifest`?")),
        (labelled.to_owned(), None),
        (labelled.replace("doubler/", "dubler/"), Some("did you mean `doubler/double.n`?")),
        (labelled.replace("double.n", "doubel.n"), Some("did you mean `doubler/double.n`?")),
    ] {
        folder.write("stave.toml", &settings);
        for paths in [&["flows"][..], &["stave.toml"]] {
            let arguments = ["check"].into_iter().chain(paths.iter().copied());
            let finished = stave(&folder, arguments).finish().await.exits(if near.is_some() { 2 } else { 0 });
            assert!(finished.stderr.contains(near.unwrap_or_default()), "{settings}: {finished}");
        }
    }
    folder.write(
        "stave.toml",
        "[labels.context]\nm = \"restricted\"\n[accepts.tools]\n\"desk/look\" = \"private\"\n",
    );
    let warned = stave(&folder, ["check", "flows"]).finish().await.exits(0);
    assert!(warned.stderr.contains("no flow of the project has this context field"), "{warned}");
    assert!(warned.stderr.contains("desk/look"), "{warned}");
}
