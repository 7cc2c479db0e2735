//! A compile that is killed leaves the old tree or the new one, and the next one finishes the work.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::sample::{POLICY, flow, published, workflow};
use crate::folder::Folder;

const FLOWS: usize = 40;

fn write(folder: &Folder, factor: u32, removed: usize) {
    for index in 0..FLOWS {
        folder.write(&format!("flows/f{index:03}.yaml"), flow(&format!("f{index:03}"), factor));
        folder.write(&format!("flows/w{index:03}.wdl"), workflow(&format!("w{index:03}.{factor}")));
        folder.write(&format!("flows/w{index:03}.pdl"), POLICY);
    }
    for index in 0..removed {
        let _ = std::fs::remove_file(folder.path().join(format!("flows/f{index:03}.yaml")));
    }
}

fn compile(folder: &Folder) -> std::process::Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stave"));
    command.args(["compile", "flows", "--out", "out", "--emit", "exec", "--json"]).current_dir(folder.path());
    command.env("SOURCE_DATE_EPOCH", "1000").stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("stave starts")
}

#[test]
fn a_killed_compile_leaves_the_old_tree_or_the_new_one() {
    let folder = Folder::new();
    write(&folder, 2, 0);
    let started = Instant::now();
    assert!(compile(&folder).wait().unwrap().success());
    let took = started.elapsed();
    let old = published(&folder, "out");
    let fresh = Folder::new();
    write(&fresh, 3, 10);
    assert!(compile(&fresh).wait().unwrap().success());
    let new = published(&fresh, "out");
    assert_ne!(old, new);
    let mut seen = [0, 0];
    for round in 0..24 {
        // The old tree again, then a compile of the new sources that is killed at some moment of its work.
        write(&folder, 2, 0);
        assert!(compile(&folder).wait().unwrap().success());
        assert_eq!(published(&folder, "out"), old, "round {round}");
        for index in 0..FLOWS {
            let _ = std::fs::remove_file(folder.path().join(format!("flows/f{index:03}.yaml")));
        }
        write(&folder, 3, 10);
        let mut child = compile(&folder);
        std::thread::sleep(took.mul_f64(0.3 + 0.9 * f64::from(round) / 24.0).max(Duration::from_millis(1)));
        let _ = child.kill();
        let _ = child.wait();
        let left = published(&folder, "out");
        assert!(
            left == old || left == new,
            "round {round}: {:?}",
            left.iter().map(|(path, _)| path).collect::<Vec<_>>()
        );
        seen[usize::from(left == new)] += 1;
        assert!(compile(&folder).wait().unwrap().success());
        assert_eq!(published(&folder, "out"), new, "round {round}");
        let beside = std::fs::read_dir(folder.path()).unwrap().flatten();
        let beside: Vec<String> =
            beside.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        assert!(!beside.iter().any(|name| name.contains("staging")), "{beside:?}");
    }
    assert!(seen[0] > 0, "no round was killed before the new tree was there: {seen:?}");
}
