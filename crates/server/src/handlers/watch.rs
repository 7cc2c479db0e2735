//! Events of a run, as they happen (server-sent events).

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};
use stave_listen::Turn;
use stave_runtime::journal::{RunStatus, StoredRun};
use tokio::sync::watch;

use super::Call;
use super::runs::{find, hides_restricted};
use crate::catalog::TenantRuns;
use crate::events::{Event, Progress, RunLog, WAITING, grown};
use crate::message::{RUN_ID, Reply};
use crate::observed::past;
use crate::problem::Problem;
use crate::server::{Phase, reach};

/// How often a quiet connection receives a heartbeat.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How often a run that another process drives is looked at.
const LOOK: Duration = Duration::from_millis(500);
/// How often the journal is asked about a run that waits for a person.
const LOOK_WAITING: Duration = Duration::from_secs(3);
/// What the id of a `waiting` ends with. It has no place of its own: what follows the decision takes that place.
const WAITED: char = 'w';

pub(super) async fn events(call: &Call<'_>, run: &str) -> Result<Reply, Problem> {
    let (archive, stored) = find(call, run).await?;
    let watcher = call.shared.watchers.try_enter(archive.tenant.clone()).ok_or_else(|| {
        let detail = "too many are watching; try again";
        Problem::busy(StatusCode::TOO_MANY_REQUESTS, "too-many-watchers", detail)
    })?;
    let after = call.headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let (next, has_waited) = after.map_or((0, false), next_after);
    let hides = hides_restricted(call, &stored.summary.flow);
    let watching = Watching {
        place: Place::of(&archive, stored, hides),
        hides,
        archive,
        run: run.to_owned(),
        next,
        has_waited,
        quiet: Duration::ZERO,
        phase: call.shared.phase(),
        _watcher: watcher,
    };
    let frames = stream::unfold(Some(watching), |watching| async {
        let (text, watching) = watching?.next().await?;
        Some((Ok::<_, Infallible>(Frame::data(Bytes::from(text))), watching))
    });
    let mut reply = Response::new(StreamBody::new(frames).boxed_unsync());
    let headers = reply.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    if let Ok(run) = HeaderValue::from_str(run) {
        headers.insert(RUN_ID, run);
    }
    Ok(reply)
}

/// The place that follows an id, and whether its event was that the run waits.
fn next_after(id: &str) -> (usize, bool) {
    let number = |text: &str| text.parse::<usize>().ok();
    match id.strip_suffix(WAITED) {
        Some(place) => number(place).map_or((0, false), |place| (place, true)),
        None => (number(id).map_or(0, |id| id.saturating_add(1)), false),
    }
}

/// Where the events come from.
enum Place {
    /// This process drives the run.
    Log(Arc<RunLog>, watch::Receiver<Progress>),
    /// The journal, when another process drives it or nobody does.
    Journal { events: Vec<Event>, is_over: bool },
}

impl Place {
    /// The log has what failures say, so that who may not see restricted values reads the journal.
    fn of(archive: &TenantRuns, stored: StoredRun, hides: bool) -> Place {
        if hides {
            return Place::journal(&stored.redacted());
        }
        match archive.hub.log(&stored.summary.id) {
            Some(log) => {
                let seen = log.watch();
                Place::Log(log, seen)
            }
            None => Place::journal(&stored),
        }
    }

    fn journal(stored: &StoredRun) -> Place {
        let mut events: Vec<Event> = past(stored).collect();
        let run = &stored.summary.id;
        let status = stored.summary.status;
        let is_over = !matches!(status, RunStatus::Running | RunStatus::Queued);
        if status == RunStatus::Waiting {
            events.push(Event::waiting(run));
        } else if is_over {
            events.push(Event::ended(run, status));
        }
        Place::Journal { events, is_over }
    }
}

struct Watching {
    place: Place,
    archive: Arc<TenantRuns>,
    /// Whether restricted values are hidden.
    hides: bool,
    run: String,
    /// The place of the event that comes next.
    next: usize,
    /// Whether the client knows that the run waits there.
    has_waited: bool,
    /// How long a client that knows that the run waits has heard nothing.
    quiet: Duration,
    phase: watch::Receiver<Phase>,
    _watcher: Turn<String>,
}

/// What a watcher waits for.
enum Waited {
    Event(Event),
    Quiet,
    /// Nothing more will come.
    Over,
    /// The journal has to be looked at.
    Look,
}

impl Watching {
    /// The next text for the client, and the state that continues after it; `None` when it was the last.
    async fn next(mut self) -> Option<(String, Option<Watching>)> {
        loop {
            match self.wait().await {
                Waited::Event(event) if event.name == WAITING && self.has_waited => {
                    if !self.go_on_waiting().await {
                        return None;
                    }
                    if self.quiet >= HEARTBEAT {
                        return Some(self.still_here());
                    }
                }
                Waited::Event(event) => {
                    let (id, is_last) = match event.name {
                        WAITING => (format!("{}{WAITED}", self.next), true),
                        name => (self.next.to_string(), name == "ended"),
                    };
                    self.next += 1;
                    self.has_waited = false;
                    return Some((event.to_text(&id), (!is_last).then_some(self)));
                }
                Waited::Quiet => return Some(self.still_here()),
                Waited::Over => return None,
                Waited::Look => match self.archive.runs.show(&self.run).await {
                    Ok(stored) => self.place = Place::of(&self.archive, stored, self.hides),
                    Err(_) => return None,
                },
            }
        }
    }

    fn still_here(mut self) -> (String, Option<Watching>) {
        self.quiet = Duration::ZERO;
        (": still here\n\n".to_owned(), Some(self))
    }

    /// Waits until the run may have gone on; `false` when the server shuts down.
    async fn go_on_waiting(&mut self) -> bool {
        let mut waited = Duration::ZERO;
        // A log that is open is one that this process writes on.
        loop {
            tokio::select! {
                () = reach(&mut self.phase, Phase::Draining) => return false,
                () = tokio::time::sleep(LOOK) => {}
            }
            waited += LOOK;
            self.quiet += LOOK;
            if self.archive.hub.log(&self.run).is_some() || waited >= LOOK_WAITING {
                break;
            }
        }
        match self.archive.runs.show(&self.run).await {
            Ok(stored) => self.place = Place::of(&self.archive, stored, self.hides),
            Err(_) => return false,
        }
        true
    }

    async fn wait(&mut self) -> Waited {
        let next = self.next;
        match &mut self.place {
            Place::Log(log, seen) => {
                if let Some(event) = log.at(next) {
                    return Waited::Event(event);
                }
                if seen.borrow().is_closed {
                    // The journal knows how it ended.
                    return if log
                        .at(next.saturating_sub(1))
                        .is_some_and(|event| event.name != "step" && event.name != "started")
                    {
                        Waited::Over
                    } else {
                        Waited::Look
                    };
                }
                tokio::select! {
                    () = grown(seen, next) => {
                        log.at(next).map_or(Waited::Look, Waited::Event)
                    }
                    () = reach(&mut self.phase, Phase::Ending) => Waited::Over,
                    () = tokio::time::sleep(HEARTBEAT) => Waited::Quiet,
                }
            }
            Place::Journal { events, is_over } => match events.get(next) {
                Some(event) => Waited::Event(event.clone()),
                None if *is_over => Waited::Over,
                None => tokio::select! {
                    // Its driver continues without this server.
                    () = reach(&mut self.phase, Phase::Draining) => Waited::Over,
                    () = tokio::time::sleep(LOOK) => Waited::Look,
                },
            },
        }
    }
}
