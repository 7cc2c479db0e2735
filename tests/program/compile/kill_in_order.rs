//! A compile that cannot exchange folders, because somebody else's file lies in the output folder, and is
//! killed while it renames files one by one: never half a file, never a document that the manifest does not
//! know, and the next compile ends where an undisturbed one does.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use stave_canon::Value;

use super::sample::{POLICY, flow, published, workflow};
use crate::folder::Folder;

const FLOWS: usize = 40;
const ROUNDS: u32 = 16;

fn write(folder: &Folder, factor: u32) {
    for index in 0..FLOWS {
        // Some flows go and some come, from one tree to the other.
        let gone = if factor == 2 { 30..40 } else { 0..10 };
        let path = format!("flows/f{index:03}.yaml");
        if gone.contains(&index) {
            let _ = std::fs::remove_file(folder.path().join(path));
        } else {
            folder.write(&path, flow(&format!("f{index:03}"), factor));
        }
    }
    folder.write("flows/w.wdl", workflow(&format!("w.{factor}")));
    folder.write("flows/w.pdl", POLICY);
    folder.write("out/notes.txt", "mine");
}

fn compile(folder: &Folder) -> std::process::Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stave"));
    command.args(["compile", "flows", "--out", "out", "--emit", "exec", "--json"]).current_dir(folder.path());
    command.env("SOURCE_DATE_EPOCH", "1000").stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("stave starts")
}

/// The documents that the manifest names.
fn named(files: &[(String, Vec<u8>)]) -> Vec<String> {
    let manifest = files.iter().find(|(path, _)| path == "manifest.json").map(|(_, bytes)| bytes);
    let entries = manifest.map(|bytes| stave_canon::parse_bytes(bytes).expect("a manifest is whole"));
    let entries = entries.as_ref().and_then(Value::as_array).unwrap_or_default();
    entries.iter().filter_map(|entry| entry.get("ir_path")?.as_str()).map(str::to_owned).collect()
}

#[test]
fn a_killed_compile_leaves_whole_files_that_the_manifest_knows() {
    let folder = Folder::new();
    write(&folder, 3);
    assert!(compile(&folder).wait().unwrap().success());
    let new = published(&folder, "out");
    write(&folder, 2);
    assert!(compile(&folder).wait().unwrap().success());
    let old = published(&folder, "out");
    for round in 0..ROUNDS {
        write(&folder, 2);
        assert!(compile(&folder).wait().unwrap().success());
        assert_eq!(published(&folder, "out"), old, "round {round}");
        write(&folder, 3);
        let mut child = compile(&folder);
        // Every other kill waits for the first file that only the new tree has, the rest for the folder in
        // which files wait to be renamed; from then on, some moments apart.
        let staging = folder.path().join("out/.ir-cache/staging");
        let renamed = (30..40).map(|index| folder.path().join(format!("out/flows/f{index:03}.ir.json")));
        let renamed: Vec<_> = renamed.collect();
        let has_begun = || match round % 2 {
            0 => renamed.iter().any(|path| path.exists()),
            _ => staging.exists(),
        };
        let started = Instant::now();
        while !has_begun() && started.elapsed() < Duration::from_secs(30) {
            if child.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_micros(u64::from(round) * 400));
        let _ = child.kill();
        let _ = child.wait();
        let left = published(&folder, "out");
        let known = named(&left);
        for (path, bytes) in &left {
            let is_whole = [&old, &new].iter().any(|tree| tree.contains(&(path.clone(), bytes.clone())));
            assert!(is_whole, "round {round}: {path} is neither the old file nor the new one");
            let is_document = path.ends_with(".ir.json");
            assert!(!is_document || known.contains(path), "round {round}: the manifest does not know {path}");
        }
        assert!(compile(&folder).wait().unwrap().success());
        assert_eq!(published(&folder, "out"), new, "round {round}");
        assert!(!staging.exists());
    }
}
