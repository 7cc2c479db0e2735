//! The conformance rows of the flow line, through the built program: `tests/vectors/flow/`.
//!
//! Every row is run. Rows that do not pass are in a committed list, which is compared exactly: a row that
//! begins to fail and a listed row that begins to pass both fail the test, so the list can only shrink.

mod check;
pub(crate) mod row;
pub(crate) mod run;
mod wrong_rows;

use crate::batch;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_run_row_behaves_as_expected() {
    let rows = row::run_rows();
    assert!(rows.len() >= 80, "only {} rows were found", rows.len());
    let cases = rows.into_iter().map(|row| (row.name.clone(), async move { run::problems(&row).await }));
    let found = batch::run(cases).await;
    batch::assert_only_listed_fail(&found, include_str!("not_passing_run.txt"), "not_passing_run.txt");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_run_row_of_our_own_behaves_as_expected() {
    let rows = row::own_run_rows();
    assert!(rows.len() >= 200, "only {} rows were found", rows.len());
    let cases = rows.into_iter().map(|row| (row.name.clone(), async move { run::problems(&row).await }));
    let found = batch::run(cases).await;
    batch::assert_only_listed_fail(&found, "", "mod.rs");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_check_row_finds_its_errors_and_no_others() {
    let rows = row::check_rows();
    assert!(rows.len() >= 120, "only {} rows were found", rows.len());
    let cases = rows.into_iter().map(|row| (row.name.clone(), async move { check::problems(&row).await }));
    let found = batch::run(cases).await;
    batch::assert_only_listed_fail(&found, include_str!("not_passing_check.txt"), "not_passing_check.txt");
}
