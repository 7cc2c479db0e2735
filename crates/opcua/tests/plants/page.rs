//! The examples on the page of `plant-failed`, which other builds only check.

use std::sync::Arc;

use stave_diag::codes::run::PLANT_FAILED;
use stave_diag::page::{self, Example, ExampleKind};

use crate::flows::{compiled, run};
use crate::plants;

/// The address that the examples name. Nothing listens there.
const ADDRESS: &str = "opc.tcp://127.0.0.1:9";

async fn code(example: &Example) -> Option<String> {
    assert_eq!(example.kind, ExampleKind::RunOpcua);
    let request = stave_canon::parse(example.request.as_deref().unwrap()).unwrap();
    let report = run(&Arc::new(plants(ADDRESS, None)), compiled(&example.text), &request).await;
    report.result.err().map(|failure| failure.failure.code.0.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bad_example_fails_with_the_code_and_the_good_one_goes_on() {
    let examples = page::examples(stave_diag::lookup(PLANT_FAILED.0).unwrap().page);
    for example in &examples.bad {
        assert_eq!(code(example).await.as_deref(), Some(PLANT_FAILED.0));
    }
    for example in &examples.good {
        assert_eq!(code(example).await, None);
    }
}
