//! The evidence as a page that needs nothing but itself.
//!
//! Invariant: the page runs no code and loads nothing, and every text in it is escaped: the name of a model or
//! of a key cannot become part of the page.

use std::fmt::Write;

use stave_canon::Timestamp;
use stave_picture::chart::{self, Bar, CHART_STYLE, ChartTone, Series, Timeline};
use stave_picture::escaped;

use super::shown::{count, known_money, milliseconds, money, percent, tokens};
use super::stats::{Bucket, Stats, StatsGroup};

const STYLE: &str = include_str!("page.css");
/// About how many moments are named below a chart.
const TICKS: usize = 8;
const DAY: i64 = 86_400;

/// The page of some statistics.
#[must_use]
pub fn page(stats: &Stats) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Gateway</title>\n\
         <style>\n{CHART_STYLE}{STYLE}</style>\n</head>\n<body>\n<h1>Gateway</h1>\n\
         <p class=\"period\">{} to {} UTC</p>\n",
        minute(stats.since),
        minute(stats.until)
    );
    tiles(&mut page, stats);
    if stats.series.is_empty() {
        page.push_str("<p class=\"none\">No requests in this time.</p>\n");
    } else {
        charts(&mut page, stats);
        groups(&mut page, stats);
        sessions(&mut page, stats);
        misses(&mut page, stats);
        reasons(&mut page, "Why the cache was not planned for", &stats.not_planned);
        reasons(&mut page, "Sent on unchanged, because a part of ours failed", &stats.failed_open);
    }
    page.push_str("</body>\n</html>\n");
    page
}

fn tiles(page: &mut String, stats: &Stats) {
    let total = &stats.total;
    let as_sent = total.spent.saturating_add(total.saved);
    let share = |part: i64, whole: i64| {
        if whole > 0 {
            format!("{:.1} % of {}", part as f64 / whole as f64 * 100.0, money(whole))
        } else {
            String::new()
        }
    };
    let unpriced =
        if total.unpriced > 0 { format!("{} without a price", count(total.unpriced)) } else { String::new() };
    let lost = format!("{} failed, {} refused", count(total.failed), count(total.refused));
    let hit = total.hit_rate().map_or_else(|| "–".to_owned(), percent);
    let read = format!("{} of {}", tokens(total.cache_read), tokens(total.input));
    let latency = &stats.latency;
    let tiles = [
        ("spent", known_money(total.known_spent()), unpriced),
        ("saved", known_money(total.known_saved()), share(total.saved, as_sent)),
        ("read from cache", hit, read),
        ("requests", count(total.requests), lost),
        ("output", tokens(total.output), "tokens".to_owned()),
        (
            "answer, median",
            milliseconds(latency.total_p50),
            format!("99 %: {}", milliseconds(latency.total_p99)),
        ),
        (
            "own work, median",
            milliseconds(latency.own_p50),
            format!("99 %: {}", milliseconds(latency.own_p99)),
        ),
    ];
    page.push_str("<dl class=\"tiles\">\n");
    for (name, value, note) in tiles {
        let _ = writeln!(
            page,
            "<div><dt>{name}</dt><dd>{}<small>{}</small></dd></div>",
            escaped(&value),
            escaped(&note)
        );
    }
    page.push_str("</dl>\n");
}

fn charts(page: &mut String, stats: &Stats) {
    let moments: Vec<String> = stats.series.iter().map(|bucket| minute(bucket.start)).collect();
    let ticks = ticks(&stats.series, stats.bucket_seconds);
    let values = |value: &dyn Fn(&Bucket) -> Option<f64>| stats.series.iter().map(value).collect::<Vec<_>>();
    let dollars = |nanodollars: f64| money(nanodollars as i64);
    let series = [
        Series {
            name: "spent",
            tone: ChartTone::Main,
            values: values(&|bucket| Some(bucket.sums.spent as f64)),
        },
        Series {
            name: "saved",
            tone: ChartTone::Good,
            values: values(&|bucket| Some(bucket.sums.saved as f64)),
        },
    ];
    let title = format!("Money, every {}", span(stats.bucket_seconds));
    let timeline = Timeline {
        title: &title,
        moments: &moments,
        ticks: &ticks,
        series: &series,
        shown: &dollars,
        top: None,
    };
    figure(
        page,
        &title,
        &[("main", "spent"), ("good", "saved against the requests as they came")],
        &chart::columns(&timeline),
    );

    let series = [Series {
        name: "read from cache",
        tone: ChartTone::Good,
        values: values(&|bucket| bucket.sums.hit_rate()),
    }];
    let title = "Hit rate: the part of input tokens that came from a cache";
    let timeline = Timeline {
        title,
        moments: &moments,
        ticks: &ticks,
        series: &series,
        shown: &percent,
        top: Some(1.0),
    };
    figure(page, title, &[], &chart::lines(&timeline));

    let outcome = |name, tone, value: &dyn Fn(&Bucket) -> u64| Series {
        name,
        tone,
        values: values(&|bucket| Some(value(bucket) as f64)),
    };
    let series = [
        outcome("answered", ChartTone::Main, &|bucket| bucket.sums.answered),
        outcome("refused or cancelled", ChartTone::Quiet, &|bucket| {
            bucket.sums.refused + bucket.sums.cancelled
        }),
        outcome("failed", ChartTone::Bad, &|bucket| bucket.sums.failed),
    ];
    let title = format!("Requests, every {}", span(stats.bucket_seconds));
    let whole = |value: f64| if value.fract() == 0.0 { count(value as u64) } else { String::new() };
    let timeline = Timeline {
        title: &title,
        moments: &moments,
        ticks: &ticks,
        series: &series,
        shown: &whole,
        top: None,
    };
    let legend = [("main", "answered"), ("quiet", "refused or cancelled"), ("bad", "failed")];
    figure(page, &title, &legend, &chart::columns(&timeline));
}

fn figure(page: &mut String, title: &str, legend: &[(&str, &str)], svg: &str) {
    let _ = writeln!(page, "<h2>{}</h2>\n<figure>", escaped(title));
    if !legend.is_empty() {
        page.push_str("<figcaption>");
        for (class, name) in legend {
            let _ = write!(page, "<i class=\"key {class}\"></i>{name}");
        }
        page.push_str("</figcaption>\n");
    }
    page.push_str(svg);
    page.push_str("</figure>\n");
}

fn groups(page: &mut String, stats: &Stats) {
    let more = stats.group_count.saturating_sub(stats.groups.len() as u64);
    let _ = write!(
        page,
        "<h2>By {}</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th>{0}</th><th class=\"number\">requests</th>\
         <th class=\"number\">failed</th><th class=\"number\">input</th><th class=\"number\">from cache</th>\
         <th class=\"number\">output</th><th class=\"number\">spent</th><th class=\"number\">saved</th></tr></thead>\n<tbody>\n",
        stats.by.word()
    );
    for group in &stats.groups {
        let sums = &group.sums;
        let class = if sums.saved < 0 { "bad" } else { "good" };
        let _ = writeln!(
            page,
            "<tr><td class=\"name\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td class=\"number {class}\">{}</td></tr>",
            escaped(name_of(group)),
            count(sums.requests),
            count(sums.failed),
            tokens(sums.input),
            sums.hit_rate().map_or_else(|| "–".to_owned(), percent),
            tokens(sums.output),
            known_money(sums.known_spent()),
            known_money(sums.known_saved())
        );
    }
    page.push_str("</tbody>\n</table></div>\n");
    if more > 0 {
        let _ = writeln!(page, "<p class=\"none\">and {} more</p>", count(more));
    }
}

fn sessions(page: &mut String, stats: &Stats) {
    if stats.sessions.is_empty() {
        return;
    }
    let bars: Vec<Bar> = stats
        .sessions
        .iter()
        .map(|session| Bar {
            name: session.name.clone(),
            value: session.sums.saved as f64,
            shown: money(session.sums.saved),
            tone: if session.sums.saved < 0 { ChartTone::Bad } else { ChartTone::Good },
        })
        .collect();
    figure(page, "Saved by session", &[], &chart::bars("Saved by session", &bars));
}

fn misses(page: &mut String, stats: &Stats) {
    page.push_str("<h2>Dearest misses: where requests parted from earlier ones</h2>\n");
    let most = stats.misses.iter().map(|miss| miss.lost_tokens).max().unwrap_or(0);
    if most == 0 {
        page.push_str(
            "<p class=\"none\">None: nothing that could have been read again was paid for again.</p>\n",
        );
        return;
    }
    page.push_str(
        "<div class=\"scroll\"><table>\n<thead><tr><th>first difference</th><th>what differs</th>\
         <th class=\"number\">requests</th><th class=\"number\">in common</th><th class=\"number\">paid again</th><th></th></tr></thead>\n<tbody>\n",
    );
    for miss in &stats.misses {
        let _ = writeln!(
            page,
            "<tr><td class=\"name\">{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td class=\"bar\"><i style=\"width:{:.1}%\"></i></td></tr>",
            escaped(&miss.place),
            escaped(miss.variable.as_deref().unwrap_or("text")),
            count(miss.requests),
            tokens(miss.common_tokens),
            tokens(miss.lost_tokens),
            miss.lost_tokens as f64 / most as f64 * 100.0
        );
    }
    page.push_str("</tbody>\n</table></div>\n");
}

fn reasons(page: &mut String, title: &str, reasons: &[(String, u64)]) {
    if reasons.is_empty() {
        return;
    }
    let _ = write!(page, "<h2>{title}</h2>\n<table>\n<tbody>\n");
    for (reason, requests) in reasons {
        let _ = writeln!(
            page,
            "<tr><td class=\"name\">{}</td><td class=\"number\">{}</td></tr>",
            escaped(reason),
            count(*requests)
        );
    }
    page.push_str("</tbody>\n</table>\n");
}

fn name_of(group: &StatsGroup) -> &str {
    if group.name.is_empty() { "(none)" } else { &group.name }
}

/// The beginnings of days where there are several, else evenly spaced times of the day.
fn ticks(series: &[Bucket], seconds: i64) -> Vec<(usize, String)> {
    let moments: Vec<String> = series.iter().map(|bucket| minute(bucket.start)).collect();
    let parts = moments.iter().map(|moment| moment.split_once(' ').unwrap_or((moment, ""))).enumerate();
    let days: Vec<(usize, &str)> = parts
        .clone()
        .filter(|(_, (_, time))| seconds >= DAY || *time == "00:00")
        .map(|(index, (day, _))| (index, day.get(5..).unwrap_or(day)))
        .collect();
    let named = if days.len() > 1 { days } else { parts.map(|(index, (_, time))| (index, time)).collect() };
    let every = named.len().div_ceil(TICKS).max(1);
    named.into_iter().step_by(every).map(|(index, name)| (index, name.to_owned())).collect()
}

/// `2026-11-16 12:00`, in UTC.
fn minute(time: Timestamp) -> String {
    let text = time.to_string();
    let (day, rest) = text.split_once('T').unwrap_or((&text, ""));
    format!("{day} {}", rest.get(..5).unwrap_or(rest))
}

/// How long a bucket is, in words.
fn span(seconds: i64) -> String {
    let (count, unit) = match seconds {
        DAY.. => (seconds / DAY, "day"),
        3_600.. => (seconds / 3_600, "hour"),
        60.. => (seconds / 60, "minute"),
        _ => (seconds, "second"),
    };
    if count == 1 { unit.to_owned() } else { format!("{count} {unit}s") }
}
