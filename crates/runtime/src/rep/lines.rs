//! Lines of requests, each of a bounded length.

use std::io::{self, BufRead};

use tokio::sync::mpsc;

/// The longest line that is read.
pub const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

/// What came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    /// A line without its end.
    Line(Vec<u8>),
    /// A line that was longer than may be, and was passed over.
    TooLong,
}

/// Reads lines and hands them on until the input ends, or nobody wants them any more. This waits, so it
/// belongs on a thread of its own.
pub fn read_lines(
    input: &mut dyn BufRead,
    longest: usize,
    requests: &mpsc::Sender<Incoming>,
) -> io::Result<()> {
    let mut line = Vec::new();
    let mut is_too_long = false;
    loop {
        let chunk = input.fill_buf()?;
        if chunk.is_empty() {
            if !line.is_empty() || is_too_long {
                let _ = requests.blocking_send(incoming(line, is_too_long));
            }
            return Ok(());
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or_default();
        if line.len() + part.len() > longest {
            is_too_long = true;
            line.clear();
        }
        if !is_too_long {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            let whole = incoming(std::mem::take(&mut line), std::mem::take(&mut is_too_long));
            if requests.blocking_send(whole).is_err() {
                return Ok(());
            }
        }
    }
}

fn incoming(line: Vec<u8>, is_too_long: bool) -> Incoming {
    if is_too_long { Incoming::TooLong } else { Incoming::Line(line) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], longest: usize, buffer: usize) -> Vec<Incoming> {
        let (sender, mut receiver) = mpsc::channel(100);
        read_lines(&mut io::BufReader::with_capacity(buffer, text), longest, &sender).unwrap();
        drop(sender);
        std::iter::from_fn(|| receiver.blocking_recv()).collect()
    }

    #[test]
    fn lines_come_whole_whatever_the_buffer_and_too_long_ones_are_passed_over() {
        let line = |text: &str| Incoming::Line(text.as_bytes().to_vec());
        for buffer in [1, 3, 100] {
            let found = lines(b"a\n\nlong enough\nb\nlast", 4, buffer);
            assert_eq!(found, [line("a"), line(""), Incoming::TooLong, line("b"), line("last")]);
        }
    }
}
