//! `stave-bench traces`: the generated traces as files that `stave cache` reads.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use stave_canon::Value;

use crate::workload::trace::{KINDS, Kind, Line, Wire};

/// Write generated traces to files, one for each kind, seed and interface
#[derive(Debug, Args)]
pub(crate) struct Traces {
    /// The folder that the files go to; it is made when it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many seeds from the first one on
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: u64,
    /// Kinds to write; all of them when none is named
    kinds: Vec<String>,
}

/// Writes the files and gives their number.
pub(crate) fn write(arguments: &Traces) -> Result<usize, String> {
    let chosen = chosen(&arguments.kinds)?;
    let fault = |path: &Path, error: io::Error| format!("{} cannot be written: {error}", path.display());
    fs::create_dir_all(&arguments.out).map_err(|error| fault(&arguments.out, error))?;
    let mut count = 0;
    for kind in chosen {
        for seed in arguments.seed..arguments.seed.saturating_add(arguments.seeds) {
            for (word, wire) in [("anthropic", Wire::Anthropic), ("openai", Wire::OpenAi)] {
                let path = arguments.out.join(format!("{}.{seed}.{word}.jsonl", kind.name));
                let text: String = kind.lines(seed, wire).iter().map(written).collect();
                fs::write(&path, text).map_err(|error| fault(&path, error))?;
                count += 1;
            }
        }
    }
    Ok(count)
}

fn chosen(names: &[String]) -> Result<Vec<&'static Kind>, String> {
    if names.is_empty() {
        return Ok(KINDS.iter().collect());
    }
    let find = |name: &String| {
        KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
            let known: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
            format!("there is no kind of trace `{name}`; there are {}", known.join(", "))
        })
    };
    names.iter().map(find).collect()
}

fn written(line: &Line) -> String {
    let session = Value::from(line.session.clone());
    format!("{{\"t\":{},\"session\":{session},\"body\":{}}}\n", line.time, line.body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_holds_one_request_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let arguments = |kinds: &[&str]| Traces {
            out: folder.path().join("traces"),
            seed: 7,
            seeds: 2,
            kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
        };
        assert_eq!(write(&arguments(&["clocks"])), Ok(4));
        let text = fs::read_to_string(folder.path().join("traces/clocks.8.openai.jsonl")).unwrap();
        assert_eq!(text.lines().count(), KINDS[5].lines(8, Wire::OpenAi).len());
        for line in text.lines() {
            let line = stave_canon::parse(line).unwrap();
            assert!(line.get("t").is_some() && line.get("body").is_some());
        }
        assert!(write(&arguments(&["clock"])).unwrap_err().contains("there are coding-agent"));
    }
}
