//! Work on texts: in turns, away from the threads that serve, and ended when nobody waits for it any more.
//!
//! Invariant: work that took too long is not reported as a busy server. The text is the reason, and a second try would
//! take as long.

use std::sync::{Arc, Weak};
use std::time::Duration;

use hyper::StatusCode;
use stave_listen::{FairQueue, NoTurn, Turn};

use crate::access::Principal;
use crate::problem::Problem;

/// Whether somebody still waits for the work. The request holds the other half, and drops it when its time is over or its
/// client is gone.
#[derive(Debug, Clone)]
pub(super) struct Wanted(Weak<()>);

impl Wanted {
    pub(super) fn is_wanted(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// Ends work that nobody waits for.
    pub(super) fn check(&self, limit: Duration) -> Result<(), Problem> {
        if self.is_wanted() { Ok(()) } else { Err(too_slow(limit)) }
    }
}

/// Does work in a turn, within a time. Work whose time is over keeps its turn until it looks at what it was given.
pub(super) async fn in_turn<T: Send + 'static>(
    turns: &Arc<FairQueue<String>>,
    principal: &Principal,
    limit: Duration,
    work: impl FnOnce(&Wanted) -> T + Send + 'static,
) -> Result<T, Problem> {
    let tenant = principal.tenant().unwrap_or_default().to_owned();
    let turn = turns.enter(tenant, limit).await.map_err(|refused| busy(&refused))?;
    tokio::time::timeout(limit, working(turn, limit, work)).await.map_err(|_| too_slow(limit))?
}

async fn working<T: Send + 'static>(
    turn: Turn<String>,
    limit: Duration,
    work: impl FnOnce(&Wanted) -> T + Send + 'static,
) -> Result<T, Problem> {
    let waits = Arc::new(());
    let wanted = Wanted(Arc::downgrade(&waits));
    let done = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        wanted.check(limit).map(|()| work(&wanted))
    });
    let done = done.await.map_err(|_| {
        let detail = "the text could not be worked on";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    });
    drop(waits);
    done?
}

fn busy(refused: &NoTurn) -> Problem {
    let status = match refused {
        NoTurn::Full => StatusCode::TOO_MANY_REQUESTS,
        NoTurn::Late => StatusCode::SERVICE_UNAVAILABLE,
    };
    Problem::busy(status, "busy", "too many texts are being worked on; try again")
}

fn too_slow(limit: Duration) -> Problem {
    let detail =
        format!("the work on this text was ended after {} s; make the flow smaller", limit.as_secs());
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "text-too-slow", detail)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use stave_listen::Waiting;

    use super::*;

    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn slow_work_is_told_from_a_busy_server_and_learns_that_nobody_waits() {
        let turns = FairQueue::new(1, Waiting::Each(1));
        let who = Principal::anyone();
        let (told, hears) = mpsc::channel();
        let slow = in_turn(&turns, &who, SHORT, move |wanted| {
            while wanted.is_wanted() {
                std::thread::yield_now();
            }
            told.send(wanted.check(SHORT).is_err())
        });
        let problem = slow.await.unwrap_err();
        assert_eq!((problem.code(), problem.status().as_u16()), ("text-too-slow", 422));
        // It has looked, and its turn is free again.
        assert!(hears.recv_timeout(LONG).unwrap());
        assert_eq!(in_turn(&turns, &who, LONG, Wanted::is_wanted).await, Ok(true));

        let taken = turns.enter(String::new(), LONG).await.unwrap();
        let problem = in_turn(&turns, &who, SHORT, |_| ()).await.unwrap_err();
        assert_eq!((problem.code(), problem.status().as_u16()), ("busy", 503));
        drop(taken);
    }
}
