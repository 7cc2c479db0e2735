//! Running from the compiled document alone gives what running from the YAML gives, for every row.

use crate::batch;
use crate::flow_rows::{row, run};
use crate::folder::Folder;

/// Compiles a flow and gives the text of its document.
fn compiled(yaml: &str) -> Result<String, String> {
    let folder = Folder::new();
    folder.write("flow.yaml", yaml);
    folder.write("stave.toml", "[http]\nallow = [\"127.0.0.1\"]\n");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_stave"))
        .args(["compile", "flow.yaml", "--out", "out", "--emit", "exec", "--json"])
        .current_dir(folder.path())
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let documents: Vec<_> = std::fs::read_dir(folder.path().join("out/flows"))
        .map_err(|error| error.to_string())?
        .flatten()
        .collect();
    match documents.as_slice() {
        [document] => std::fs::read_to_string(document.path()).map_err(|error| error.to_string()),
        other => Err(format!("{} documents", other.len())),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_row_runs_the_same_from_its_document() {
    let rows = row::run_rows();
    let cases = rows.into_iter().map(|row| {
        (row.name.clone(), async move {
            let outcome = run::perform(&row, "flow.ir.json", compiled).await;
            run::compare(&row, &outcome)
        })
    });
    let found = batch::run(cases).await;
    batch::assert_only_listed_fail(&found, "", "compile/run_document.rs");
}
