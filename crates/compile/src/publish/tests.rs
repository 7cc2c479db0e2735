//! Publishing is stopped after every one of its operations, and what is left is looked at.

use std::collections::BTreeMap;
use std::path::Path;

use super::memory::Memory;
use super::{Owner, Publication, PublishError, Published};
use crate::emit::Tree;

const OUT: &str = "/project/out";

type Files = BTreeMap<String, Vec<u8>>;

fn tree(flows: &[(&str, &str)]) -> Tree {
    let mut tree = Tree::default();
    let names: Vec<&str> = flows.iter().map(|(name, _)| *name).collect();
    tree.add("manifest.json", names.join(","));
    for (name, text) in flows {
        tree.add(format!("flows/{name}.ir.json"), *text);
    }
    tree
}

fn owns(path: &str) -> bool {
    path == "manifest.json" || path.ends_with(".ir.json")
}

fn publish(memory: &Memory, tree: &Tree, wipe: bool) -> Result<Published, PublishError> {
    let recognises = |_: &str, _: &[u8]| false;
    let owner =
        Owner { roots: &["flows", "manifest.json"], known: &owns, emitted: &owns, recognises: &recognises };
    Publication { out: Path::new(OUT), tree, owner, wipe, may_exchange: true }.publish(memory)
}

/// The published files: everything but the cache.
fn published(memory: &Memory) -> Files {
    memory.files(OUT).into_iter().filter(|(path, _)| !path.starts_with(".ir-cache")).collect()
}

fn assert_known(files: &Files, place: &str) {
    let manifest = files.get("manifest.json").map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let named: Vec<String> = manifest.iter().flat_map(|text| text.split(',').map(str::to_owned)).collect();
    for path in files.keys().filter(|path| path.ends_with(".ir.json")) {
        let name = path.trim_start_matches("flows/").trim_end_matches(".ir.json");
        assert!(
            named.iter().any(|named| named == name),
            "{place}: the manifest does not know {path}: {manifest:?}"
        );
    }
}

fn before(memory: &Memory) -> Tree {
    let old = tree(&[("a", "old a"), ("b", "old b"), ("gone", "old gone"), ("same", "same")]);
    publish(memory, &old, false).expect("nothing fails");
    old
}

fn after() -> Tree {
    tree(&[("a", "new a"), ("b", "new b"), ("fresh", "new fresh"), ("same", "same")])
}

/// Publishes `after()` over `before()`, dying after every number of operations. Gives how many there are.
fn die_everywhere(memory: &Memory, check: impl Fn(&Files, usize)) -> usize {
    for operations in 0.. {
        let dying = memory.dying_after(operations);
        let result = publish(&dying, &after(), false);
        check(&published(&dying), operations);
        // The next compile ends where an undisturbed one does, and takes the leftovers away.
        let revived = dying.revived();
        publish(&revived, &after(), false).expect("the next compile works");
        assert_eq!(published(&revived), after().files, "after {operations} operations and another compile");
        let beside: Vec<String> =
            revived.files("/project").into_keys().filter(|path| path.contains("staging")).collect();
        assert_eq!(beside, [] as [String; 0]);
        if result.is_ok() {
            return operations;
        }
    }
    unreachable!("publishing ends")
}

#[test]
fn a_process_that_dies_leaves_the_old_tree_or_the_new_one() {
    let memory = Memory::new(true);
    let old = before(&memory);
    memory.put("/project/out/.ir-cache/pack", b"cache");
    let operations = die_everywhere(&memory, |files, operations| {
        assert!(*files == old.files || *files == after().files, "after {operations} operations: {files:?}");
        assert_known(files, &format!("after {operations} operations"));
    });
    assert!(operations > 10, "{operations}");
}

#[test]
fn the_first_tree_is_there_wholly_or_not_at_all() {
    let memory = Memory::new(true);
    die_everywhere(&memory, |files, operations| {
        assert!(files.is_empty() || *files == after().files, "after {operations} operations: {files:?}");
    });
}

#[test]
fn without_an_exchange_no_document_is_unknown_and_none_is_half_written() {
    let memory = Memory::new(false);
    let old = before(&memory);
    die_everywhere(&memory, |files, operations| {
        assert_known(files, &format!("after {operations} operations"));
        for (path, bytes) in files {
            let whole = [old.files.get(path), after().files.get(path)]
                .into_iter()
                .flatten()
                .any(|whole| whole == bytes);
            assert!(whole, "{path} is half-written after {operations} operations");
        }
    });
}

#[test]
fn files_of_others_stay_and_no_document_is_unknown_beside_them() {
    let memory = Memory::new(true);
    before(&memory);
    memory.put("/project/out/notes.txt", b"mine");
    memory.put("/project/out/flows/a.yaml", b"mine too");
    let after_count = after().files.len();
    for operations in 0..200 {
        let dying = memory.dying_after(operations);
        let done = publish(&dying, &after(), false).is_ok();
        let files = published(&dying);
        assert_eq!(files.get("notes.txt").map(Vec::as_slice), Some(b"mine".as_slice()));
        assert_eq!(files.get("flows/a.yaml").map(Vec::as_slice), Some(b"mine too".as_slice()));
        assert_known(&files, &format!("after {operations} operations"));
        if done {
            assert_eq!(files.len(), after_count + 2);
            return;
        }
    }
    panic!("publishing ends");
}

#[test]
fn nothing_is_touched_when_nothing_changed() {
    let memory = Memory::new(true);
    before(&memory);
    publish(&memory, &after(), false).expect("it is published");
    let still = memory.dying_after(0);
    let found = publish(&still, &after(), false).expect("nothing has to be done");
    assert_eq!(found, Published { unchanged: 5, ..Published::default() });
}

#[test]
fn one_changed_file_is_one_rename() {
    let memory = Memory::new(true);
    before(&memory);
    let tree = tree(&[("a", "changed"), ("b", "old b"), ("gone", "old gone"), ("same", "same")]);
    let found = publish(&memory, &tree, false).expect("it is published");
    assert_eq!(found.written, ["flows/a.ir.json"]);
    assert_eq!(found.unchanged, 4);
    assert_eq!(published(&memory), tree.files);
}

#[test]
fn wiping_takes_everything_away_that_an_earlier_compile_wrote() {
    for can_exchange in [true, false] {
        let memory = Memory::new(can_exchange);
        before(&memory);
        memory.put("/project/out/.ir-cache/pack", b"cache");
        publish(&memory, &after(), true).expect("it is published");
        assert_eq!(published(&memory), after().files);
        assert!(!memory.files(OUT).contains_key(".ir-cache/pack"));
    }
}

#[test]
fn a_folder_with_foreign_files_is_not_wiped() {
    for foreign in ["notes.txt", "flows/mine.yaml", "flows/mine.ir.json", ".git/config", ".ir-cache/mine"] {
        for can_exchange in [true, false] {
            let memory = Memory::new(can_exchange);
            before(&memory);
            memory.put(&format!("{OUT}/{foreign}"), b"mine");
            let held = memory.files(OUT);
            let error = publish(&memory, &after(), true).expect_err(foreign);
            // A folder that no emitter writes to is named and not looked into.
            let named = if foreign.starts_with(".git/") { ".git" } else { foreign };
            assert!(error.to_string().contains(named), "{error}");
            assert_eq!(memory.files(OUT), held, "{foreign}");
        }
    }
}

#[test]
fn a_foreign_file_at_the_path_of_an_output_is_not_overwritten() {
    for foreign in ["manifest.json", "flows/a.ir.json"] {
        let memory = Memory::new(true);
        memory.put(&format!("{OUT}/{foreign}"), b"mine");
        let error = publish(&memory, &after(), false).expect_err(foreign);
        assert!(error.to_string().contains(foreign), "{error}");
        assert_eq!(memory.files(OUT).get(foreign).map(Vec::as_slice), Some(b"mine".as_slice()));
    }
}

#[test]
fn a_forged_record_gives_no_right_to_foreign_files() {
    let memory = Memory::new(true);
    before(&memory);
    memory.put("/project/out/notes.txt", b"mine");
    memory.put("/project/precious.ir.json", b"mine");
    let hash = stave_canon::sha256_hex(b"mine");
    let paths =
        ["notes.txt", "../precious.ir.json", "/project/precious.ir.json", "flows/../../precious.ir.json"];
    let listed: Vec<String> = paths.iter().map(|path| format!("\"{path}\": [\"{hash}\"]")).collect();
    let forged = format!("{{\"version\": 1, \"files\": {{{}}}}}", listed.join(", "));
    memory.put("/project/out/.ir-cache/outputs.json", forged.as_bytes());
    publish(&memory, &after(), false).expect_err("the record no longer lists what is there");
    assert_eq!(memory.files("/project").get("precious.ir.json").map(Vec::as_slice), Some(b"mine".as_slice()));
    assert_eq!(memory.files(OUT).get("notes.txt").map(Vec::as_slice), Some(b"mine".as_slice()));
}

#[test]
fn a_file_that_appears_while_the_folders_change_places_is_kept() {
    let memory = Memory::new(true);
    before(&memory);
    memory.put("/project/.out.stave-staging/flows/late.txt", b"mine");
    publish(&memory, &after(), false).expect("it is published");
    assert_eq!(memory.files(OUT).get("flows/late.txt").map(Vec::as_slice), Some(b"mine".as_slice()));
}
