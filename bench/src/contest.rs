//! Contestants take turns: ours, a peer, ours, a peer, so that what else the machine does meets them alike.

use std::time::Duration;

use thiserror::Error;

use crate::cost::{Cost, Scope, Spread, measure};

/// Why a contestant has no time.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// Something is not installed or not built; the text says how to get it.
    #[error("{0}")]
    Missing(String),
    #[error("it failed: {0}")]
    Failed(String),
}

/// Something that can do the same work again and again.
pub(crate) trait Contestant {
    /// The result of the work, in a form that contestants of one comparison have in common.
    fn answer(&mut self) -> Result<String, Error>;
    /// Does the work `iterations` times.
    fn sample(&mut self, iterations: u64) -> Result<Cost, Error>;
}

/// Work of this process on this thread.
pub(crate) struct InProcess<F> {
    answer: String,
    work: F,
}

impl<F: FnMut()> InProcess<F> {
    pub(crate) fn boxed(answer: String, work: F) -> Box<dyn Contestant>
    where
        F: 'static,
    {
        Box::new(InProcess { answer, work })
    }
}

impl<F: FnMut()> Contestant for InProcess<F> {
    fn answer(&mut self) -> Result<String, Error> {
        Ok(self.answer.clone())
    }

    fn sample(&mut self, iterations: u64) -> Result<Cost, Error> {
        let ((), cost) = measure(Scope::Thread, || (0..iterations).for_each(|_| (self.work)()));
        Ok(cost)
    }
}

/// A contestant by its name, or why it does not take part.
pub(crate) struct Entrant {
    pub(crate) name: &'static str,
    pub(crate) contestant: Result<Box<dyn Contestant>, Error>,
}

/// How much work one iteration is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    Bytes(usize),
    Calls(u32),
}

/// One piece of work and everyone who does it. The first entrant is ours.
pub(crate) struct Comparison {
    pub(crate) title: &'static str,
    pub(crate) work: Work,
    pub(crate) entrants: Vec<Entrant>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) rounds: u32,
    /// How long each contestant runs before it is timed.
    pub(crate) warm_up: Duration,
    /// How long a sample takes, about; one iteration when that takes longer.
    pub(crate) sample: Duration,
}

impl Settings {
    pub(crate) const DEFAULT: Settings =
        Settings { rounds: 21, warm_up: Duration::from_millis(300), sample: Duration::from_millis(60) };
}

/// The cost of one contestant's turns, for one iteration.
#[derive(Debug)]
pub(crate) struct Times {
    pub(crate) iterations: u64,
    pub(crate) cpu_ns: Spread,
    pub(crate) wall_ns: Spread,
    /// Its time over ours of the same round. Absent for ours.
    pub(crate) cpu_ratio: Option<Spread>,
    pub(crate) wall_ratio: Option<Spread>,
    /// Whether it gave our answer. Absent for ours.
    pub(crate) agrees: Option<bool>,
}

#[derive(Debug)]
pub(crate) struct Placing {
    pub(crate) name: &'static str,
    pub(crate) times: Result<Times, Error>,
}

/// A comparison, held.
#[derive(Debug)]
pub(crate) struct Standings {
    pub(crate) title: &'static str,
    pub(crate) work: Work,
    /// In the order of the entrants, ours first.
    pub(crate) placings: Vec<Placing>,
}

/// A contestant that takes part, and what it did so far.
struct Running {
    contestant: Box<dyn Contestant>,
    answer: String,
    iterations: u64,
    costs: Vec<Cost>,
}

/// Warms everyone up, lets everyone take turns, and compares.
pub(crate) fn hold(comparison: Comparison, settings: &Settings) -> Standings {
    let Comparison { title, work, entrants } = comparison;
    let mut field: Vec<(&'static str, Result<Running, Error>)> = entrants
        .into_iter()
        .map(|entrant| {
            (entrant.name, entrant.contestant.and_then(|contestant| warm_up(contestant, settings)))
        })
        .collect();
    for _ in 0..settings.rounds {
        for (_, entrant) in &mut field {
            let Ok(running) = entrant else { continue };
            match running.contestant.sample(running.iterations) {
                Ok(cost) => running.costs.push(cost),
                Err(error) => *entrant = Err(error),
            }
        }
    }
    let ours = field.first().and_then(|(_, ours)| ours.as_ref().ok());
    let ours = ours.map(|ours| (ours.answer.clone(), per_iteration(ours)));
    let placings = field
        .into_iter()
        .enumerate()
        .map(|(index, (name, running))| {
            let reference = if index == 0 { None } else { ours.as_ref() };
            Placing { name, times: running.and_then(|running| times(&running, reference)) }
        })
        .collect();
    Standings { title, work, placings }
}

/// Runs a contestant until it is warm, and chooses how many iterations make a sample.
fn warm_up(mut contestant: Box<dyn Contestant>, settings: &Settings) -> Result<Running, Error> {
    let answer = contestant.answer()?;
    let mut iterations = 1;
    let mut spent = Duration::ZERO;
    loop {
        let cost = contestant.sample(iterations)?;
        spent += cost.wall;
        if spent >= settings.warm_up {
            let one = (cost.wall.as_secs_f64() / iterations as f64).max(1e-9);
            let iterations = (settings.sample.as_secs_f64() / one).ceil().max(1.0) as u64;
            return Ok(Running { contestant, answer, iterations, costs: Vec::new() });
        }
        if cost.wall < settings.sample {
            iterations *= 2;
        }
    }
}

/// CPU and wall time of one iteration in nanoseconds, round by round.
fn per_iteration(running: &Running) -> Vec<(f64, f64)> {
    let one = |time: Duration| time.as_secs_f64() * 1e9 / running.iterations as f64;
    running.costs.iter().map(|cost| (one(cost.cpu), one(cost.wall))).collect()
}

fn times(running: &Running, ours: Option<&(String, Vec<(f64, f64)>)>) -> Result<Times, Error> {
    let rounds = per_iteration(running);
    let (Some(cpu_ns), Some(wall_ns)) =
        (Spread::of(rounds.iter().map(|(cpu, _)| *cpu)), Spread::of(rounds.iter().map(|(_, wall)| *wall)))
    else {
        return Err(Error::Failed("it never had a turn".to_owned()));
    };
    // A round is compared with the same round of ours, which met the same load.
    let ratio = |pick: fn(&(f64, f64)) -> f64| {
        let (_, ours) = ours?;
        Spread::of(rounds.iter().zip(ours).map(|(theirs, ours)| pick(theirs) / pick(ours).max(1.0)))
    };
    Ok(Times {
        iterations: running.iterations,
        cpu_ns,
        wall_ns,
        cpu_ratio: ratio(|(cpu, _)| *cpu),
        wall_ratio: ratio(|(_, wall)| *wall),
        agrees: ours.map(|(answer, _)| *answer == running.answer),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Costs what a test sets, and fails from some turn on.
    struct Fake {
        answer: &'static str,
        one: Duration,
        turns: usize,
    }

    impl Contestant for Fake {
        fn answer(&mut self) -> Result<String, Error> {
            Ok(self.answer.to_owned())
        }

        fn sample(&mut self, iterations: u64) -> Result<Cost, Error> {
            self.turns = self.turns.checked_sub(1).ok_or_else(|| Error::Failed("tired".to_owned()))?;
            let time = self.one * u32::try_from(iterations).unwrap();
            Ok(Cost { wall: time * 2, cpu: time })
        }
    }

    fn entrant(name: &'static str, answer: &'static str, milliseconds: u64, turns: usize) -> Entrant {
        let one = Duration::from_millis(milliseconds);
        Entrant { name, contestant: Ok(Box::new(Fake { answer, one, turns })) }
    }

    fn standings(entrants: Vec<Entrant>) -> Standings {
        hold(Comparison { title: "work", work: Work::Calls(1), entrants }, &Settings::DEFAULT)
    }

    #[test]
    fn a_ratio_is_the_peers_time_over_ours() {
        let standings = standings(vec![entrant("ours", "a", 2, 1000), entrant("peer", "a", 10, 1000)]);
        let times: Vec<&Times> =
            standings.placings.iter().map(|placing| placing.times.as_ref().unwrap()).collect();
        assert!((times[0].cpu_ns.median - 2e6).abs() < 1.0);
        assert!((times[0].wall_ns.median - 4e6).abs() < 1.0);
        assert_eq!(times[0].cpu_ratio, None);
        assert_eq!(times[0].iterations, 15);
        let ratio = times[1].cpu_ratio.unwrap();
        assert!((ratio.median - 5.0).abs() < 1e-6 && (ratio.high - ratio.low).abs() < 1e-6);
        assert_eq!(times[1].agrees, Some(true));
    }

    #[test]
    fn a_contestant_that_fails_takes_no_other_with_it() {
        let missing = Entrant { name: "absent", contestant: Err(Error::Missing("install it".to_owned())) };
        let standings = standings(vec![
            entrant("ours", "a", 1, 1000),
            missing,
            entrant("weak", "a", 1, 20),
            entrant("other", "b", 3, 1000),
        ]);
        let [ours, absent, weak, other] = standings.placings.as_slice() else { panic!() };
        assert!(ours.times.is_ok());
        assert!(matches!(absent.times, Err(Error::Missing(_))));
        assert!(matches!(weak.times, Err(Error::Failed(_))));
        assert_eq!(other.times.as_ref().unwrap().agrees, Some(false));
    }

    #[test]
    fn without_ours_a_peer_has_times_and_no_ratio() {
        let missing = Entrant { name: "ours", contestant: Err(Error::Missing("build it".to_owned())) };
        let standings = standings(vec![missing, entrant("peer", "a", 1, 1000)]);
        let peer = standings.placings[1].times.as_ref().unwrap();
        assert_eq!((peer.cpu_ratio, peer.agrees), (None, None));
    }
}
