//! What work costs: wall time, and CPU time of the process that did it.

use std::fs;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike as _};
use nix::time::{ClockId, clock_getcpuclockid};
use nix::unistd::Pid;

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
    /// Every thread of this process and of the processes that it started. A peer does nothing while it is
    /// not its turn, so what they gained during a turn was spent on that turn.
    Family,
}

impl Scope {
    fn cpu(self) -> Duration {
        match self {
            Scope::Thread => read(ClockId::CLOCK_THREAD_CPUTIME_ID),
            Scope::Family => read(ClockId::CLOCK_PROCESS_CPUTIME_ID) + children() + ended_children(),
        }
    }
}

/// A clock that cannot be read does not advance, and its row shows no time.
fn read(clock: ClockId) -> Duration {
    clock.now().map_or(Duration::ZERO, Duration::from)
}

/// What the processes that this one started, and that still run, have used. Nothing where the system does
/// not tell which they are.
fn children() -> Duration {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let mut sum = Duration::ZERO;
    for list in lists {
        for id in list.split_whitespace().filter_map(|id| id.parse().ok()) {
            sum += clock_getcpuclockid(Pid::from_raw(id)).map_or(Duration::ZERO, read);
        }
    }
    sum
}

/// What a process has used, all its threads together; nothing when it is gone.
pub(crate) fn process(id: u32) -> Duration {
    let id = i32::try_from(id).map(Pid::from_raw).ok();
    id.and_then(|id| clock_getcpuclockid(id).ok()).map_or(Duration::ZERO, read)
}

/// What the processes that this one started, and that ended, had used.
fn ended_children() -> Duration {
    let time = |value: TimeVal| {
        let micros = u64::try_from(value.num_microseconds()).unwrap_or(0);
        Duration::from_micros(micros)
    };
    getrusage(UsageWho::RUSAGE_CHILDREN)
        .map_or(Duration::ZERO, |usage| time(usage.user_time()) + time(usage.system_time()))
}

/// Runs `work` and says what it cost.
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
    use std::io::Read as _;
    use std::process::{Command, Stdio};

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

    #[test]
    fn the_work_of_a_started_process_counts_while_it_runs_and_after_it_ended() {
        let command = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo; read line";
        let mut shell = Command::new("sh")
            .args(["-c", command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (_, waiting) = measure(Scope::Family, || shell.stdout.as_mut().unwrap().read(&mut [0]).unwrap());
        let before = children() + ended_children();
        assert!(before > Duration::ZERO && waiting.cpu > Duration::ZERO);
        drop(shell.stdin.take());
        shell.wait().unwrap();
        // An ended process is accounted for in whole microseconds.
        assert!(children() + ended_children() + Duration::from_micros(2) >= before);
    }
}
