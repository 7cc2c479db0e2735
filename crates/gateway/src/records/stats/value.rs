//! Statistics for machines.

use stave_canon::{Object, Value};

use super::{Stats, StatsGroup, Sums};

impl Stats {
    /// Money is in dollars, as text with nine digits after the point: a float would not be exact. Where no request has a
    /// price, it is `null`.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let reasons = |reasons: &[(String, u64)]| {
            Value::Object(reasons.iter().map(|(reason, count)| (reason.clone(), (*count).into())).collect())
        };
        let groups = |groups: &[StatsGroup], name: &str| -> Value {
            let group = |group: &StatsGroup| {
                let mut object = Object::new();
                object.insert(name.to_owned(), group.name.as_str().into());
                object.extend(sums(&group.sums));
                Value::Object(object)
            };
            Value::Array(groups.iter().map(group).collect())
        };
        let series = self.series.iter().map(|bucket| {
            let mut object = Object::new();
            object.insert("start".to_owned(), bucket.start.to_string().into());
            object.extend(sums(&bucket.sums));
            Value::Object(object)
        });
        let misses = self.misses.iter().map(|miss| {
            Value::from_iter([
                ("place", Value::from(miss.place.as_str())),
                ("variable", miss.variable.clone().into()),
                ("requests", miss.requests.into()),
                ("lost_tokens", miss.lost_tokens.into()),
                ("common_tokens", miss.common_tokens.into()),
            ])
        });
        let latency = Value::from_iter([
            ("total_p50_us", Value::from(self.latency.total_p50)),
            ("total_p99_us", self.latency.total_p99.into()),
            ("own_p50_us", self.latency.own_p50.into()),
            ("own_p99_us", self.latency.own_p99.into()),
        ]);
        Value::from_iter([
            ("since", Value::from(self.since.to_string())),
            ("until", self.until.to_string().into()),
            ("total", Value::Object(sums(&self.total))),
            ("latency", latency),
            ("by", self.by.word().into()),
            ("groups", groups(&self.groups, self.by.word())),
            ("group_count", self.group_count.into()),
            ("saving_sessions", groups(&self.sessions, "session")),
            ("bucket_seconds", self.bucket_seconds.into()),
            ("series", Value::Array(series.collect())),
            ("misses", Value::Array(misses.collect())),
            ("not_planned", reasons(&self.not_planned)),
            ("failed_open", reasons(&self.failed_open)),
        ])
    }
}

fn sums(sums: &Sums) -> Object {
    let values = [
        ("requests", Value::from(sums.requests)),
        ("answered", sums.answered.into()),
        ("refused", sums.refused.into()),
        ("failed", sums.failed.into()),
        ("cancelled", sums.cancelled.into()),
        ("input_tokens", sums.input.into()),
        ("output_tokens", sums.output.into()),
        ("cache_read_tokens", sums.cache_read.into()),
        ("cache_written_tokens", sums.cache_written.into()),
        ("hit_rate", sums.hit_rate().map_or(Value::Null, Value::from)),
        ("spent_usd", sums.known_spent().map(dollars).into()),
        ("saved_usd", sums.known_saved().map(dollars).into()),
        ("unpriced", sums.unpriced.into()),
    ];
    values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Billionths of a dollar as a decimal with nine places.
#[must_use]
pub(crate) fn dollars(nanodollars: i64) -> String {
    let sign = if nanodollars < 0 { "-" } else { "" };
    let amount = nanodollars.unsigned_abs();
    format!("{sign}{}.{:09}", amount / 1_000_000_000, amount % 1_000_000_000)
}
