//! What a key spent and has set aside, by day.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::tz::TimeZone;
use stave_canon::Timestamp;
use stave_llm::prices::Cost;

const SECONDS_PER_DAY: i64 = 24 * 60 * 60;

/// A day and the days of its month, counted from 1970 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Calendar {
    pub(crate) day: i32,
    pub(crate) month_starts: i32,
    pub(crate) next_month: i32,
}

impl Calendar {
    pub(crate) fn of(now: Timestamp) -> Calendar {
        let date = TimeZone::UTC.to_datetime(now).date();
        let day = day_of(now);
        let month_starts = day - i32::from(date.day() - 1);
        Calendar { day, month_starts, next_month: month_starts + i32::from(date.days_in_month()) }
    }

    fn until(day: i32, now: Timestamp) -> Duration {
        let seconds = i64::from(day) * SECONDS_PER_DAY - now.as_second();
        Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
    }

    pub(super) fn until_tomorrow(self, now: Timestamp) -> Duration {
        Calendar::until(self.day + 1, now)
    }

    pub(super) fn until_next_month(self, now: Timestamp) -> Duration {
        Calendar::until(self.next_month, now)
    }
}

/// The day of a time, in UTC.
pub(crate) fn day_of(time: Timestamp) -> i32 {
    i32::try_from(time.as_second().div_euclid(SECONDS_PER_DAY)).unwrap_or(i32::MAX)
}

/// Billionths of a dollar, rounded up: a budget must not be exceeded by what rounding hides.
pub(crate) fn nanodollars(cost: Cost) -> i64 {
    i64::try_from(cost.picodollars().div_ceil(1_000)).unwrap_or(i64::MAX)
}

/// What the file has as billionths of a dollar.
pub(crate) fn from_nanodollars(nanodollars: i64) -> Cost {
    Cost::from_picodollars(u128::from(nanodollars.max(0).unsigned_abs()) * 1_000)
}

/// The money of a key, in billionths of a dollar.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    days: BTreeMap<i32, Day>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Day {
    /// In the file.
    committed: i64,
    /// On the way to the file.
    pending: i64,
    /// What requests under way may still use.
    reserved: i64,
    /// The same of other processes, and of those that ended before they knew.
    foreign: i64,
}

/// Money that is set aside and not spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct InFlight {
    /// For requests of this process.
    pub(super) own: i64,
    /// For requests of other processes, and of those that ended before they settled.
    pub(super) foreign: i64,
}

impl Day {
    fn in_flight(self) -> InFlight {
        InFlight { own: self.reserved, foreign: self.foreign }
    }

    fn sum(self) -> i64 {
        self.committed.saturating_add(self.pending).saturating_add(self.reserved).saturating_add(self.foreign)
    }
}

impl Ledger {
    /// What is spent and set aside on a day.
    pub(super) fn day(&self, calendar: Calendar) -> i64 {
        self.days.get(&calendar.day).copied().unwrap_or_default().sum()
    }

    /// The same over the month.
    pub(super) fn month(&self, calendar: Calendar) -> i64 {
        let days = self.days.range(calendar.month_starts..calendar.next_month);
        days.fold(0, |sum, (_, day)| sum.saturating_add(day.sum()))
    }

    /// How much of that is only set aside for requests in flight, by this process and by others.
    pub(super) fn in_flight(&self, calendar: Calendar) -> InFlight {
        self.days.get(&calendar.day).copied().unwrap_or_default().in_flight()
    }

    /// The same over the month.
    pub(super) fn in_flight_of_month(&self, calendar: Calendar) -> InFlight {
        let days = self.days.range(calendar.month_starts..calendar.next_month);
        days.fold(InFlight::default(), |sum, (_, day)| {
            let day = day.in_flight();
            InFlight {
                own: sum.own.saturating_add(day.own),
                foreign: sum.foreign.saturating_add(day.foreign),
            }
        })
    }

    /// Adds to what is set aside, or takes from it.
    pub(super) fn reserve(&mut self, day: i32, money: i64) {
        let reserved = &mut self.days.entry(day).or_default().reserved;
        *reserved = reserved.saturating_add(money);
    }

    /// Something was spent that is not in the file yet.
    pub(super) fn spend(&mut self, day: i32, money: i64) {
        let pending = &mut self.days.entry(day).or_default().pending;
        *pending = pending.saturating_add(money);
    }

    /// It is in the file, which has `total` of the day.
    pub(super) fn committed(&mut self, day: i32, money: i64, total: i64) {
        let entry = self.days.entry(day).or_default();
        entry.pending = entry.pending.saturating_sub(money);
        entry.committed = total;
    }

    /// What the file has, by day. Days that are over and that nothing is on its way to are forgotten.
    pub(super) fn replace_committed(&mut self, committed: BTreeMap<i32, i64>, held: BTreeMap<i32, i64>) {
        for day in self.days.values_mut() {
            (day.committed, day.foreign) = (0, 0);
        }
        for (day, money) in held {
            self.days.entry(day).or_default().foreign = money;
        }
        for (day, money) in committed {
            self.days.entry(day).or_default().committed = money;
        }
        self.days
            .retain(|_, day| day.committed != 0 || day.pending != 0 || day.reserved != 0 || day.foreign != 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calendar(text: &str) -> Calendar {
        Calendar::of(text.parse().expect("a time"))
    }

    #[test]
    fn months_begin_and_end_where_the_calendar_says() {
        for (inside, first, next) in [
            ("2026-11-16T01:00:00Z", "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"),
            ("2026-12-31T23:59:59Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"),
            ("2024-02-29T12:00:00Z", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"),
            ("2023-02-28T12:00:00Z", "2023-02-01T00:00:00Z", "2023-03-01T00:00:00Z"),
            ("2000-03-01T00:00:00Z", "2000-03-01T00:00:00Z", "2000-04-01T00:00:00Z"),
            ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1970-02-01T00:00:00Z"),
        ] {
            let found = calendar(inside);
            assert_eq!(found.month_starts, calendar(first).day, "{inside}");
            assert_eq!(found.next_month, calendar(next).day, "{inside}");
        }
    }

    #[test]
    fn a_new_day_has_its_own_budget_and_a_new_month_too() {
        let (monday, tuesday, december) = (
            calendar("2026-11-16T12:00:00Z"),
            calendar("2026-11-17T12:00:00Z"),
            calendar("2026-12-01T00:00:00Z"),
        );
        let mut ledger = Ledger::default();
        ledger.spend(monday.day, 5);
        ledger.reserve(monday.day, 2);
        assert_eq!((ledger.day(monday), ledger.month(monday)), (7, 7));
        assert_eq!((ledger.day(tuesday), ledger.month(tuesday)), (0, 7));
        assert_eq!((ledger.day(december), ledger.month(december)), (0, 0));
    }
}
