//! Lists the built files of the studio, each as it is and compressed, so that the program carries them.
//!
//! The files are built by `studio/` and committed. A tree without them gives a program without the page; the
//! rest of it works.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Below this size compressing saves nothing worth having.
const SMALL: usize = 256;

#[expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "a build script reads and writes files, and stops when it cannot"
)]
fn main() {
    let home = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("cargo names the crate's folder"));
    let out = PathBuf::from(std::env::var("OUT_DIR").expect("cargo names a folder for what is made"));
    let dist = home.join("../../studio/dist");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut files = Vec::new();
    collect(&dist, &mut files);
    files.sort();
    let mut table = String::from("pub(super) static FILES: &[File] = &[\n");
    for (index, path) in files.iter().enumerate() {
        println!("cargo::rerun-if-changed={}", path.display());
        let bytes = std::fs::read(path).expect("a file of the studio can be read");
        let name =
            path.strip_prefix(&dist).expect("it lies in the folder").to_string_lossy().replace('\\', "/");
        let plain = out.join(format!("studio-{index}"));
        std::fs::write(&plain, &bytes).expect("a copy can be written");
        let compressed = compressed(&bytes).map(|compressed| {
            let place = out.join(format!("studio-{index}.gz"));
            std::fs::write(&place, compressed).expect("a compressed copy can be written");
            format!("Some(include_bytes!({place:?}))")
        });
        let compressed = compressed.unwrap_or_else(|| "None".to_owned());
        let _ = writeln!(
            table,
            "    File {{ name: {name:?}, plain: include_bytes!({plain:?}), compressed: {compressed} }},"
        );
    }
    table.push_str("];\n");
    std::fs::write(out.join("studio_files.rs"), table).expect("the list can be written");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// The same bytes for the same input: the header holds no time and no name.
fn compressed(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).ok()?;
    let compressed = encoder.finish().ok()?;
    (bytes.len() > SMALL && compressed.len() < bytes.len()).then_some(compressed)
}
