//! `--watch`: a changed source is compiled again.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::sample::{flow, project};

#[test]
fn a_changed_source_is_compiled_again() {
    let folder = project();
    let mut command = Command::new(env!("CARGO_BIN_EXE_stave"));
    command
        .args(["compile", "flows", "--out", "out", "--emit", "exec", "--watch"])
        .current_dir(folder.path());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("stave starts");
    let wait_for = |wanted: &str| {
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(20) {
            let document = folder.path().join("out/flows/double.ir.json");
            if std::fs::read_to_string(document).is_ok_and(|text| text.contains(wanted)) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    };
    let first = wait_for("* 2");
    folder.write("flows/double.yaml", flow("double", 22));
    let second = wait_for("* 22");
    let _ = child.kill();
    let _ = child.wait();
    assert!(first && second, "{first} {second}");
}
