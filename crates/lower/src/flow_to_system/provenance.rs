//! Where a node comes from: a file, the lines in it, and the hash of their text.

use stave_canon::{Object, sha256_hex};
use stave_diag::{LineColumn, Span};
use stave_system::model::{ProvenanceKind, ProvenancePointer};

use super::{Lowering, SystemFlow};

impl Lowering<'_> {
    /// The lines that a span covers, whole. A change elsewhere in the file leaves their hash as it is.
    pub(super) fn provenance(&self, flow: &SystemFlow<'_>, span: Span) -> Option<ProvenancePointer> {
        let source = self.source.sources.get(span.source)?;
        let (start, end) = self.source.sources.place(span)?;
        let last = last_line(start, end);
        let from = source.line_range(start.line)?.start;
        let to = source.line_range(last)?.end;
        let text = source.text().get(from..to)?;
        let mut hashes = self.hashes.borrow_mut();
        let sha256 = hashes.entry((span.source.0, start.line, last)).or_insert_with(|| sha256_hex(text));
        Some(ProvenancePointer {
            tenant_id: self.tenant_id.to_owned(),
            kind: ProvenanceKind::File,
            source_id: flow.source_file.to_owned(),
            locator: Some(format!("L{}-L{last}", start.line)),
            sha256: Some(sha256.clone()),
            metadata: Object::new(),
        })
    }
}

/// A span that ends before the first character of a line does not cover that line.
fn last_line(start: LineColumn, end: LineColumn) -> u32 {
    if end.column <= 1 && end.line > start.line { end.line - 1 } else { end.line }
}
