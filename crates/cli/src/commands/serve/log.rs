//! The operational log of `stave serve`: one line on stderr for each event.
//!
//! Invariants: who reports an event never waits for stderr; a reader that does not keep up costs lines, which are counted,
//! and no request. A line holds no key and no value of a run. Refused keys are reported at most once in a while,
//! with how many there were.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stave_canon::{Clock, Object, Value};
use stave_diag::render::Colour;
use stave_server::{RunOf, ServerEvent, ServerLog};

use crate::args::{LogFormat, LogLevel};
use crate::exit::Stop;
use crate::ports::SystemClock;
use crate::terminal::{self, Terminal};

/// How many lines wait for stderr at most.
const QUEUE: usize = 4096;

/// How long the end of the process waits for lines that are not written yet.
const FLUSH: Duration = Duration::from_secs(1);

/// How often refused keys are reported at most.
const REFUSED_EVERY: Duration = Duration::from_secs(10);

/// Writes what happens. Clones write to the same stderr.
#[derive(Debug, Clone)]
pub(super) struct Log {
    format: LogFormat,
    level: LogLevel,
    terminal: Terminal,
    lines: SyncSender<Line>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Lines that stderr had no room for.
    dropped: AtomicU64,
    refused: Mutex<Refused>,
}

/// Keys that were refused since the last report.
#[derive(Debug, Default)]
struct Refused {
    reported_at: Option<Duration>,
    count: u64,
}

enum Line {
    Text(String),
    /// Answered once everything before it is written.
    Flush(Sender<()>),
}

impl Log {
    pub(super) fn start(format: LogFormat, level: LogLevel, terminal: Terminal) -> Result<Log, Stop> {
        let (lines, waiting) = sync_channel(QUEUE);
        let shared = Arc::new(Shared::default());
        let writer = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("log".to_owned());
        thread
            .spawn(move || write_all(&waiting, &writer, format))
            .map_err(|error| Stop::internal(format!("the log cannot be started: {error}")))?;
        Ok(Log { format, level, terminal, lines, shared })
    }

    /// One event. The sentence is complete by itself; the members are for programs.
    pub(super) fn write(&self, level: LogLevel, event: &str, message: &str, members: &[(&str, Value)]) {
        if level <= self.level {
            self.send(line(self.format, level, event, message, members));
        }
    }

    pub(super) fn info(&self, event: &str, message: &str) {
        self.write(LogLevel::Info, event, message, &[]);
    }

    pub(super) fn warn(&self, event: &str, message: &str) {
        self.write(LogLevel::Warn, event, message, &[]);
    }

    /// Why something is not served or not done. People get it with its help and its colours.
    pub(super) fn stop(&self, event: &str, stop: &Stop) {
        match self.format {
            LogFormat::Text => self.send(self.terminal.stop_text(stop)),
            LogFormat::Json => {
                let members = [("help", Value::from(stop.help.clone())), ("code", stop.code.into())];
                self.write(LogLevel::Error, event, &stop.message, &members);
            }
        }
    }

    /// Findings about a file, as they were rendered for people; programs get them on one line.
    pub(super) fn findings(&self, file: &str, rendered: &str) {
        match self.format {
            LogFormat::Text => self.send(format!("{rendered}\n")),
            LogFormat::Json => {
                let members = [("file", Value::from(file)), ("findings", rendered.into())];
                self.write(LogLevel::Error, "flow-invalid", &format!("{file} has mistakes"), &members);
            }
        }
    }

    /// With which colours findings are rendered.
    pub(super) fn colour(&self) -> Colour {
        if self.format == LogFormat::Json { Colour::Never } else { self.terminal.stderr }
    }

    fn send(&self, text: String) {
        if let Err(TrySendError::Full(_)) = self.lines.try_send(Line::Text(text)) {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until everything is written, for a while.
    pub(super) fn flush(&self) {
        let (written, is_written) = channel();
        if self.lines.try_send(Line::Flush(written)).is_ok() {
            let _ = is_written.recv_timeout(FLUSH);
        }
    }

    fn key_refused(&self, route: &str, code: &str) {
        let now = SystemClock.elapsed();
        let mut refused = self.shared.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.count += 1;
        if refused.reported_at.is_some_and(|at| now.saturating_sub(at) < REFUSED_EVERY) {
            return;
        }
        let count = std::mem::take(&mut refused.count);
        refused.reported_at = Some(now);
        drop(refused);
        let message =
            format!("refused {count} requests because of their keys; the last one asked for {route}: {code}");
        let members = [("count", Value::from(count)), ("route", route.into()), ("code", code.into())];
        self.write(LogLevel::Warn, "key-refused", &message, &members);
    }

    fn run(&self, level: LogLevel, event: &str, run: RunOf<'_>, what: &str, more: &[(&str, Value)]) {
        let message = format!("run {} of `{}` ({}) {what}", run.id, run.flow, run.tenant);
        let mut members =
            vec![("run_id", Value::from(run.id)), ("flow", run.flow.into()), ("tenant", run.tenant.into())];
        members.extend_from_slice(more);
        self.write(level, event, &message, &members);
    }
}

impl ServerLog for Log {
    fn event(&self, event: &ServerEvent<'_>) {
        match *event {
            ServerEvent::KeyRefused { route, code } => self.key_refused(route, code),
            ServerEvent::RunStarted { run, status } => {
                let members = [("status", Value::from(status.word()))];
                self.run(LogLevel::Info, "run-started", run, &format!("is {status}"), &members);
            }
            ServerEvent::RunEnded { run, status, code, duration } => {
                let milliseconds = duration.as_micros() as f64 / 1000.0;
                let because = code.map_or_else(String::new, |code| format!(" ({code})"));
                let what = format!("is {status}{because} after {milliseconds:.1} ms");
                let members = [
                    ("status", Value::from(status.word())),
                    ("code", code.into()),
                    ("duration_ms", milliseconds.into()),
                ];
                let event = if status.is_terminal() { "run-ended" } else { "run-paused" };
                self.run(LogLevel::Info, event, run, &what, &members);
            }
            ServerEvent::RunLost { run, code } => {
                let what = format!("stopped, because it could not be written down ({code})");
                self.run(LogLevel::Error, "run-lost", run, &what, &[("code", code.into())]);
            }
            ServerEvent::RunQuarantined { run, crashes } => {
                let what = format!("is quarantined: the process that drove it died {crashes} times in a row");
                self.run(LogLevel::Warn, "run-quarantined", run, &what, &[("crashes", crashes.into())]);
            }
        }
    }
}

/// Writes lines until nobody reports any more.
fn write_all(waiting: &Receiver<Line>, shared: &Shared, format: LogFormat) {
    loop {
        let next = waiting.recv_timeout(FLUSH);
        let dropped = shared.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            let message = format!("{dropped} lines of this log were dropped, because stderr was not read");
            let members = [("count", Value::from(dropped))];
            terminal::log_line(&line(format, LogLevel::Warn, "log-dropped", &message, &members));
        }
        match next {
            Ok(Line::Text(text)) => terminal::log_line(&text),
            Ok(Line::Flush(written)) => {
                let _ = written.send(());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn line(format: LogFormat, level: LogLevel, event: &str, message: &str, members: &[(&str, Value)]) -> String {
    let now = SystemClock.now();
    match format {
        LogFormat::Text => {
            let mut text = format!("{now:.3} {:5} ", level.word());
            // One event is one line, whatever a name holds.
            for part in message.split('\n') {
                let _ = write!(text, "{}", stave_diag::render::visible(part));
            }
            text
        }
        LogFormat::Json => {
            let mut object = Object::new();
            object.insert("time".into(), now.to_string().into());
            object.insert("level".into(), level.word().into());
            object.insert("event".into(), event.into());
            object.insert("message".into(), message.into());
            let named = members.iter().filter(|(_, value)| !value.is_null());
            object.extend(named.map(|(name, value)| ((*name).to_owned(), value.clone())));
            Value::Object(object).to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_in_both_formats() {
        for format in [LogFormat::Text, LogFormat::Json] {
            let members = [("file", Value::from("a\nb")), ("code", Value::Null)];
            let text = line(format, LogLevel::Warn, "flow-invalid", "one\ntwo \u{1b}[2J", &members);
            assert_eq!(text.lines().count(), 1, "{text}");
            assert!(!text.contains('\u{1b}'), "{text}");
        }
        let text = line(LogFormat::Json, LogLevel::Info, "listening", "m", &[("code", Value::Null)]);
        assert!(text.contains(r#""level":"info","event":"listening","message":"m"}"#), "{text}");
    }
}
