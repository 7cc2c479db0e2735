//! Why a file is not served.
//!
//! Invariant: the reason names the code, the file and the line of the first mistake. That file need not be the flow: a mistake
//! in `stave.toml` keeps every flow of its project from being served. What was said is not said again at each reload.

use std::path::Path;

use stave_diag::codes::exec::SHARED_FLOW_NAME;
use stave_diag::render::{self, Colour};
use stave_diag::{Diagnostic, Sources};
use stave_server::{FaultPlace, SharedName, Unserved};

use super::flows::Flows;
use crate::exit::{Exit, Stop};
use crate::files;
use crate::source_kind::SourceKind;

/// A file that cannot be served.
#[derive(Debug)]
pub(super) struct NotServed {
    pub(super) stop: Box<Stop>,
    pub(super) place: Option<FaultPlace>,
    /// The mistakes at their places, rendered for the log.
    pub(super) findings: Option<String>,
    /// Whether it is about how the server was started, which one that serves others cannot pass over.
    pub(super) is_of_server: bool,
}

impl NotServed {
    /// A file with mistakes, or one whose project has them.
    pub(super) fn mistaken(
        file: &Path,
        errors: &[Diagnostic],
        sources: &Sources,
        colour: Colour,
    ) -> NotServed {
        let shown = files::shown(file).display().to_string();
        let rendered = render::terminal::render(errors, sources, colour);
        let Some(first) = errors.first() else {
            return Stop::invalid(format!("{shown} cannot be read as a flow")).into();
        };
        let at = sources.place(first.primary).map(|(start, _)| FaultPlace {
            file: files::shown(Path::new(sources.name(first.primary.source))).display().to_string(),
            line: start.line,
        });
        let place = at.as_ref().map_or_else(|| shown.clone(), |at| format!("{}:{}", at.file, at.line));
        let more = match errors.len() {
            1 => String::new(),
            _ => format!(" ({})", render::summary(errors)),
        };
        let message = format!("{place}: {}: {}{more}", first.code.0, first.message);
        NotServed {
            stop: Box::new(Stop::invalid(message).code(first.code.0)),
            place: at,
            findings: Some(rendered.trim_end().to_owned()),
            is_of_server: false,
        }
    }

    /// A flow whose name another flow of its tenant has. The other one is served.
    pub(super) fn shared_name(file: &Path, error: &SharedName) -> NotServed {
        let shown = files::shown(file).display().to_string();
        let place = name_line(file).map(|line| FaultPlace { file: shown.clone(), line });
        let at = place.as_ref().map_or_else(|| shown.clone(), |at| format!("{}:{}", at.file, at.line));
        let stop = Stop::invalid(format!("{at}: {}: {error}", SHARED_FLOW_NAME.0))
            .code(SHARED_FLOW_NAME.0)
            .help("give one of them another name");
        NotServed { stop: Box::new(stop), place, findings: None, is_of_server: false }
    }

    /// A file that is whole, and that this server cannot serve as it was started.
    pub(super) fn of_server(stop: Stop) -> NotServed {
        NotServed { stop: Box::new(stop), place: None, findings: None, is_of_server: true }
    }
}

/// The line of a flow's name; of other sources the name has no place.
fn name_line(file: &Path) -> Option<u32> {
    if SourceKind::of(file) != Some(SourceKind::Flow) {
        return None;
    }
    let text = files::read_text(file).ok()?;
    let mut sources = Sources::new();
    let source = sources.add(file.display().to_string(), text.as_str());
    let name = stave_flow::parse(source, &text).flow?.metadata.name?;
    sources.place(name.span).map(|(start, _)| start.line)
}

impl From<Stop> for NotServed {
    fn from(stop: Stop) -> Self {
        // What may not be served at all, such as an unsigned flow, is no mistake inside a file: the person who starts
        // the server has to know it.
        let is_of_server = stop.exit == Exit::Refused;
        NotServed { stop: Box::new(stop), place: None, findings: None, is_of_server }
    }
}

impl Flows {
    pub(super) fn unserved(&self, file: &Path, served: Option<String>, why: &NotServed) -> Unserved {
        let project = self.project(file, &mut Sources::new(), &mut Vec::new()).ok();
        let tenant = project.map(|project| project.tenant().to_owned());
        let (reason, code, place) = (why.stop.to_string(), why.stop.code, why.place.clone());
        Unserved { tenant, file: file.display().to_string(), served, reason, code, place }
    }

    /// Writes to the log why a file is not served, once: the next reload may be caused by what is written here.
    pub(super) fn report(&self, one: &Unserved, why: &NotServed, is_changed_project: bool, goes_on: bool) {
        if self.unserved.contains(one) {
            return;
        }
        let file = &one.file;
        if let Some(findings) = &why.findings {
            self.log.findings(&files::shown(Path::new(file)).display().to_string(), findings);
        }
        if !goes_on {
            return;
        }
        self.log.stop("flow-failed", &why.stop);
        match (&one.served, is_changed_project) {
            (Some(_), _) => self.log.warn("flow-kept", &format!("{file} is served as it was before")),
            (None, true) => {
                let message = format!("{file} is not served: its project file has changed");
                self.log.warn("flow-not-served", &message);
            }
            (None, false) => self.log.warn("flow-not-served", &format!("{file} is not served")),
        }
    }
}
