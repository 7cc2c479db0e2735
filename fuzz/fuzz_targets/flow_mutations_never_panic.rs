//! Flows that were sound and had lines taken out, repeated, swapped and cut are read, checked and laid out
//! without a panic. The input chooses the flow and what happens to it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use stave_diag::SourceId;
use stave_flow::{FormatOptions, CheckOptions, format, load};

const FLOWS: [&str; 3] = [
    include_str!("../../examples/support/flows/support.yaml"),
    include_str!("../../tests/program/data/complete_example.yaml"),
    include_str!("../../crates/cli/template/flows/hello.yaml"),
];
const SCRAPS: [&str; 20] = [
    "{", "}", "[", "]", ": ", "- ", "|", ">-", "&a ", "*a", "# c\n", "\t", "\r\n", "${", "{{", "{%", "'", "\"", "<<: ",
    "\u{2028}",
];

fuzz_target!(|changes: (u8, Vec<(u8, u16, u16)>)| {
    let (flow, changes) = changes;
    let mut lines: Vec<String> =
        FLOWS[usize::from(flow) % FLOWS.len()].lines().map(str::to_owned).collect();
    for (kind, one, other) in changes.into_iter().take(12) {
        let count = lines.len().max(1);
        let (one, other) = (usize::from(one) % count, usize::from(other));
        let Some(line) = lines.get(one).cloned() else { break };
        match kind % 6 {
            0 => {
                lines.remove(one);
            }
            1 => lines.insert(one, line),
            2 => lines.swap(one, other % count),
            3 => lines[one].insert(0, ' '),
            4 => lines[one] = line.chars().take(other % (line.chars().count() + 1)).collect(),
            _ => {
                let at = line.char_indices().map(|(at, _)| at).nth(other % 40).unwrap_or(line.len());
                lines[one].insert_str(at, SCRAPS[other % SCRAPS.len()]);
            }
        }
    }
    let text = lines.join("\n");
    let _ = load(SourceId(0), &text, &CheckOptions::default());
    let _ = format(SourceId(0), &text, FormatOptions::default());
});
