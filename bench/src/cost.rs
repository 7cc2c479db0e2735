//! What work costs: wall time, and CPU time of whoever did it.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// The cost of a sample: a number of iterations in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
}

/// Whose CPU time counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The calling thread: for work that stays on it.
    Thread,
    /// Every thread of this process: for work that an asynchronous runtime spreads.
    Process,
}

impl Scope {
    pub(crate) fn cpu(self) -> Duration {
        let clock = match self {
            Scope::Thread => ClockId::ThreadCPUTime,
            Scope::Process => ClockId::ProcessCPUTime,
        };
        let time = clock_gettime(clock);
        Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
    }
}

/// Runs `work` and says what it cost this process.
pub(crate) fn measure<T>(scope: Scope, work: impl FnOnce() -> T) -> (T, Cost) {
    let (wall, cpu) = (Instant::now(), scope.cpu());
    let result = work();
    let cost = Cost { cpu: scope.cpu().saturating_sub(cpu), wall: wall.elapsed() };
    (result, cost)
}

/// The middle and the ends of many observations.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Spread {
    /// `None` when nothing was observed.
    pub(crate) fn of(observations: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut sorted: Vec<f64> = observations.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (*sorted.first()?, *sorted.last()?);
        let (below, above) = (sorted.get((sorted.len() - 1) / 2)?, sorted.get(sorted.len() / 2)?);
        Some(Spread { median: f64::midpoint(*below, *above), low, high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_count_lies_between_the_two_in_the_middle() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([3.0]), Some(Spread { median: 3.0, low: 3.0, high: 3.0 }));
        assert_eq!(Spread::of([9.0, 1.0, 2.0]), Some(Spread { median: 2.0, low: 1.0, high: 9.0 }));
        assert_eq!(Spread::of([9.0, 1.0, 2.0, 4.0]), Some(Spread { median: 3.0, low: 1.0, high: 9.0 }));
    }

    #[test]
    fn cpu_time_grows_with_work_and_not_with_sleep() {
        let (_, asleep) = measure(Scope::Thread, || std::thread::sleep(Duration::from_millis(30)));
        assert!(asleep.wall >= Duration::from_millis(30));
        assert!(asleep.cpu < asleep.wall);
        let (_, busy) = measure(Scope::Thread, || (0..2_000_000_u64).map(std::hint::black_box).sum::<u64>());
        assert!(busy.cpu > Duration::ZERO);
    }
}
