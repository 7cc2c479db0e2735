//! The creation time of a Prompt IR, read and written by the rules of Python's `datetime`.
//!
//! A text is accepted exactly when `datetime.fromisoformat` (Python 3.11) accepts it, and is written as
//! `isoformat` writes it. So a text may come back in another spelling (`Z` as `+00:00`, `.5` as
//! `.500000`), a time without an offset stays without one, and other offsets are kept.
//!
//! Invariant: the year lies in 1 to 9999 and the offset strictly within a day, so writing cannot fail
//! and what was written reads back as the same value.

use std::fmt;

use jiff::civil::{Date, ISOWeekDate, Weekday};
use stave_canon::{Timestamp, Value};
use stave_shape::{Definitions, FaultKind, Place, Reader, Shape, ValueNode};
use thiserror::Error;

const MICROSECONDS_PER_SECOND: i64 = 1_000_000;
const MICROSECONDS_PER_DAY: i64 = 86_400 * MICROSECONDS_PER_SECOND;
/// Four hundred years.
const DAYS_PER_ERA: i64 = 146_097;
/// From the first of March of the year 0.
const DAYS_BEFORE_1970: i64 = 719_468;
/// The beginning of the year 1.
const FIRST_MICROSECOND: i64 = -719_162 * MICROSECONDS_PER_DAY;

/// A date and time to the microsecond, with or without an offset from UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CreatedAt {
    /// What a clock on the wall shows, in microseconds since the beginning of 1970 on that clock.
    wall: i64,
    /// Microseconds east of UTC.
    offset: Option<i64>,
}

/// A text that is not an ISO 8601 time.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not an ISO 8601 date and time")]
pub struct NotATime(pub String);

impl CreatedAt {
    pub(crate) const EPOCH: CreatedAt = CreatedAt { wall: 0, offset: Some(0) };

    /// A moment in UTC, cut to the microsecond.
    #[must_use]
    pub fn from_timestamp(timestamp: Timestamp) -> CreatedAt {
        let wall = i64::from(timestamp.subsec_nanosecond()).div_euclid(1000)
            + timestamp.as_second() * MICROSECONDS_PER_SECOND;
        if wall < FIRST_MICROSECOND { CreatedAt::EPOCH } else { CreatedAt { wall, offset: Some(0) } }
    }

    pub fn parse(text: &str) -> Result<CreatedAt, NotATime> {
        read(text).ok_or_else(|| NotATime(text.to_owned()))
    }

    /// The moment, when the time has an offset.
    #[must_use]
    pub fn to_timestamp(self) -> Option<Timestamp> {
        Timestamp::from_microsecond(self.wall.checked_sub(self.offset?)?).ok()
    }

    /// Appends the text that `Display` prints. Every hash of a prompt holds a time, so this is done without
    /// the machinery of formatting.
    pub(crate) fn put(self, out: &mut String) {
        let (days, of_day) =
            (self.wall.div_euclid(MICROSECONDS_PER_DAY), self.wall.rem_euclid(MICROSECONDS_PER_DAY));
        let (year, month, day) = civil(days);
        pair(year / 100, out);
        pair(year % 100, out);
        for (sign, value) in [('-', month), ('-', day)] {
            out.push(sign);
            pair(value, out);
        }
        let (seconds, microseconds) = (of_day / MICROSECONDS_PER_SECOND, of_day % MICROSECONDS_PER_SECOND);
        for (sign, value) in [('T', seconds / 3600), (':', seconds / 60 % 60), (':', seconds % 60)] {
            out.push(sign);
            pair(value, out);
        }
        fraction(microseconds, out);
        let Some(offset) = self.offset else { return };
        let (sign, offset) = (if offset < 0 { '-' } else { '+' }, offset.abs());
        let (seconds, microseconds) = (offset / MICROSECONDS_PER_SECOND, offset % MICROSECONDS_PER_SECOND);
        for (sign, value) in [(sign, seconds / 3600), (':', seconds / 60 % 60)] {
            out.push(sign);
            pair(value, out);
        }
        if seconds % 60 != 0 || microseconds != 0 {
            out.push(':');
            pair(seconds % 60, out);
        }
        fraction(microseconds, out);
    }
}

impl Shape for CreatedAt {
    fn read<N: ValueNode>(node: N, at: &Place<'_>, reader: &mut Reader) -> Option<Self> {
        let text = String::read(node, at, reader)?;
        match CreatedAt::parse(&text) {
            Ok(time) => Some(time),
            Err(NotATime(found)) => {
                let wanted = "an ISO 8601 date and time";
                reader.fault(at, node.span(), FaultKind::WrongForm { wanted, found });
                None
            }
        }
    }

    fn write(&self) -> Value {
        self.to_string().into()
    }

    fn schema(definitions: &mut Definitions) -> Value {
        String::schema(definitions)
    }
}

impl fmt::Display for CreatedAt {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(32);
        self.put(&mut text);
        out.write_str(&text)
    }
}

/// Two decimal digits of a number below 100.
fn pair(value: i64, out: &mut String) {
    for digit in [value / 10, value % 10] {
        out.push(char::from(b'0' + (digit % 10) as u8));
    }
}

/// A point and six digits, unless there is nothing to say.
fn fraction(microseconds: i64, out: &mut String) {
    if microseconds != 0 {
        out.push('.');
        for part in [microseconds / 10_000, microseconds / 100 % 100, microseconds % 100] {
            pair(part, out);
        }
    }
}

/// How many days lie between the beginning of 1970 and a date of the Gregorian calendar. Years are counted
/// from March on, so that the day that a leap year has more is the last one.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * DAYS_PER_ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - DAYS_BEFORE_1970
}

/// The date so many days after the beginning of 1970.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + DAYS_BEFORE_1970;
    let (era, of_era) = (shifted.div_euclid(DAYS_PER_ERA), shifted.rem_euclid(DAYS_PER_ERA));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

fn read(text: &str) -> Option<CreatedAt> {
    if text.chars().count() < 7 {
        return None;
    }
    let bytes = text.as_bytes();
    let date_end = date_end(bytes)?;
    let (year, month, day) = read_date(bytes.get(..date_end)?)?;
    let rest = text.get(date_end..)?;
    let (clock, offset) = match rest.chars().next() {
        None => (ClockTime::default(), None),
        // Any one character may be between the date and the time.
        Some(separator) => read_time(rest.get(separator.len_utf8()..)?.as_bytes())?,
    };
    let date = Date::new(year, month, day).ok().filter(|date| date.year() >= 1)?;
    if clock.hour > 23 || clock.minute > 59 || clock.second > 59 {
        return None;
    }
    let days = days(date.year().into(), date.month().into(), date.day().into());
    let seconds = i64::from(clock.hour * 3600 + clock.minute * 60 + clock.second);
    let wall = days * MICROSECONDS_PER_DAY + seconds * MICROSECONDS_PER_SECOND + i64::from(clock.microsecond);
    Some(CreatedAt { wall, offset })
}

/// Where the date ends. The forms are `YYYY-MM-DD`, `YYYYMMDD`, `YYYY-Www`, `YYYY-Www-D`, `YYYYWww` and
/// `YYYYWwwD`; where a week date runs into digits, the reading that leaves whole pairs for the time wins.
fn date_end(bytes: &[u8]) -> Option<usize> {
    let is_digit = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_digit);
    if bytes.len() == 7 {
        return Some(7);
    }
    match (bytes.get(4)?, bytes.get(5)?) {
        (b'-', b'W') => match (bytes.get(8), bytes.len()) {
            (Some(b'-'), 9) => None,
            (Some(b'-'), _) if is_digit(10) => Some(8),
            (Some(b'-'), _) => Some(10),
            _ => Some(8),
        },
        (b'-', _) => Some(10),
        (b'W', _) => {
            let digits_end = (7..bytes.len()).find(|index| !is_digit(*index)).unwrap_or(bytes.len());
            match digits_end {
                0..9 => Some(digits_end),
                even if even % 2 == 0 => Some(7),
                _ => Some(8),
            }
        }
        _ => Some(8),
    }
}

fn read_date(date: &[u8]) -> Option<(i16, i8, i8)> {
    let mut cursor = Cursor { bytes: date, at: 0 };
    let year = i16::try_from(cursor.digits(4)?).ok()?;
    let separated = cursor.take(b'-');
    if cursor.take(b'W') {
        let week = i8::try_from(cursor.digits(2)?).ok()?;
        let day = if cursor.is_at_end() {
            1
        } else {
            if separated && !cursor.take(b'-') {
                return None;
            }
            cursor.digits(1)?
        };
        let weekday = Weekday::from_monday_one_offset(i8::try_from(day).ok()?).ok()?;
        let date = ISOWeekDate::new(year, week, weekday).ok().filter(|_| year >= 1)?.date();
        return Some((date.year(), date.month(), date.day()));
    }
    let month = i8::try_from(cursor.digits(2)?).ok()?;
    if separated && !cursor.take(b'-') {
        return None;
    }
    let day = i8::try_from(cursor.digits(2)?).ok()?;
    Some((year, month, day))
}

#[derive(Debug, Clone, Copy, Default)]
struct ClockTime {
    hour: u32,
    minute: u32,
    second: u32,
    microsecond: u32,
}

/// A time of day and, after `+`, `-` or `Z`, the offset in microseconds.
fn read_time(bytes: &[u8]) -> Option<(ClockTime, Option<i64>)> {
    let Some(zone) = bytes.iter().position(|byte| matches!(byte, b'+' | b'-' | b'Z')) else {
        let (clock, complete) = read_clock(bytes, bytes.len())?;
        return complete.then_some((clock, None));
    };
    // One stray character before the offset is accepted, as Python does.
    let (clock, _) = read_clock(bytes, zone)?;
    let rest = bytes.get(zone + 1..)?;
    if bytes.get(zone) == Some(&b'Z') {
        return rest.is_empty().then_some((clock, Some(0)));
    }
    let (offset, complete) = read_clock(rest, rest.len())?;
    let seconds = i64::from(offset.hour * 3600 + offset.minute * 60 + offset.second);
    // An offset below a second counts as none.
    let microseconds =
        if seconds == 0 { 0 } else { seconds * MICROSECONDS_PER_SECOND + i64::from(offset.microsecond) };
    let signed = if bytes.get(zone) == Some(&b'-') { -microseconds } else { microseconds };
    (complete && microseconds < MICROSECONDS_PER_DAY).then_some((clock, Some(signed)))
}

/// `HH[:MM[:SS[.f+]]]` or the same without colons, in `bytes[..end]`. The flag says whether all of
/// `bytes` was used. Fractions may be of any length and are cut to microseconds.
fn read_clock(bytes: &[u8], end: usize) -> Option<(ClockTime, bool)> {
    let mut clock = ClockTime::default();
    let mut cursor = Cursor { bytes, at: 0 };
    let mut separated = true;
    for field in 0..3 {
        let value = cursor.digits(2)?;
        match field {
            0 => clock.hour = value,
            1 => clock.minute = value,
            _ => clock.second = value,
        }
        let next = bytes.get(cursor.at);
        if field == 0 {
            separated = next == Some(&b':');
        }
        if cursor.at + 1 >= end {
            return Some((clock, next.is_none()));
        }
        match next {
            Some(b':') if separated => cursor.at += 1,
            Some(b'.' | b',') => {
                cursor.at += 1;
                break;
            }
            _ if !separated => {}
            _ => return None,
        }
    }
    let length = (end - cursor.at).min(6);
    let fraction = cursor.digits(length)?;
    clock.microsecond = fraction * 10_u32.pow(6 - u32::try_from(length).ok()?);
    while bytes.get(cursor.at).is_some_and(u8::is_ascii_digit) {
        cursor.at += 1;
    }
    Some((clock, cursor.is_at_end()))
}

struct Cursor<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Cursor<'_> {
    fn digits(&mut self, count: usize) -> Option<u32> {
        let digits = self.bytes.get(self.at..self.at + count)?;
        let value = digits.iter().try_fold(0_u32, |value, byte| {
            byte.is_ascii_digit().then(|| value * 10 + u32::from(byte - b'0'))
        })?;
        self.at += count;
        Some(value)
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_four_centuries_has_one_number() {
        let mut date = Date::constant(1, 1, 1);
        assert_eq!(days(1, 1, 1) * MICROSECONDS_PER_DAY, FIRST_MICROSECOND);
        let mut number = days(1, 1, 1);
        for _ in 0..=DAYS_PER_ERA {
            let (year, month, day) = (i64::from(date.year()), i64::from(date.month()), i64::from(date.day()));
            assert_eq!((days(year, month, day), civil(number)), (number, (year, month, day)));
            (date, number) = (date.tomorrow().unwrap(), number + 1);
        }
        assert_eq!((civil(0), civil(2_932_896)), ((1970, 1, 1), (9999, 12, 31)));
    }
}
