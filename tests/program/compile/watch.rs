//! `--watch`: a changed source is compiled again.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::sample::{POLICY, flow, project};
use crate::folder::Folder;

/// A `stave compile --watch` that is ended with its test.
struct Watching(Child);

impl Watching {
    fn start(folder: &Folder, source: &str) -> Watching {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stave"));
        command.args(["compile", source, "--out", "out", "--emit", "exec", "--watch"]);
        command.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
        Watching(command.spawn().expect("stave starts"))
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[track_caller]
fn wait_for(folder: &Folder, document: &str, wanted: &str) {
    let started = Instant::now();
    let path = folder.path().join("out/flows").join(document);
    while started.elapsed() < Duration::from_secs(20) {
        if std::fs::read_to_string(&path).is_ok_and(|text| text.contains(wanted)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("`{wanted}` did not come into {document}");
}

#[test]
fn a_changed_source_is_compiled_again() {
    let folder = project();
    let _watching = Watching::start(&folder, "flows");
    wait_for(&folder, "double.ir.json", "* 2");
    folder.write("flows/double.yaml", flow("double", 22));
    wait_for(&folder, "double.ir.json", "* 22");
}

#[test]
fn a_mistake_leaves_the_outputs_and_its_cure_is_compiled() {
    let folder = project();
    let _watching = Watching::start(&folder, "flows");
    wait_for(&folder, "double.ir.json", "* 2");
    folder.write("flows/double.yaml", "version: [");
    std::thread::sleep(Duration::from_millis(600));
    wait_for(&folder, "double.ir.json", "* 2");
    folder.write("flows/double.yaml", flow("double", 33));
    wait_for(&folder, "double.ir.json", "* 33");
}

#[test]
fn the_policy_of_a_workflow_is_watched_with_it() {
    let folder = project();
    let _watching = Watching::start(&folder, "flows/plant.wdl");
    wait_for(&folder, "plant.monitor.ir.json", "75.0");
    folder.write("flows/plant.pdl", POLICY.replace("75.0", "60.5"));
    wait_for(&folder, "plant.monitor.ir.json", "60.5");
}
