//! The page, made of a fortnight of traffic such as a small team makes.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use stave_canon::{Ids, Timestamp};
use stave_gateway::records::{By, Miss, Money, RequestOutcome, RequestRecord, Stats, StatsQuery, page};
use stave_llm::Usage;
use stave_llm::prices::Cost;

use crate::sample::{NOON, Place, time};

/// Three hundred sessions over two weeks: busy by day, quiet by night, with clocks in some prompts and one
/// afternoon on which an upstream was down.
fn fortnight(place: &Place) {
    let evidence = place.evidence();
    let sink = evidence.sink();
    let below = |bound: u64| u64::try_from(place.ids.fresh() >> 64).unwrap_or(0) % bound;
    let end = time(NOON).as_second();
    for session in 0..300_u64 {
        let day = below(14).cast_signed();
        let hour = 8 + (below(6) + below(6)).cast_signed();
        let mut second = end - 14 * 86_400 + day * 86_400 + (hour - 12) * 3_600 + below(3_600).cast_signed();
        let (model, price) = if session % 3 == 0 { ("claude-opus-4-8", 5) } else { ("claude-sonnet-4-6", 3) };
        let mut length = 8_000 + below(20_000);
        for turn in 0..3 + below(25) {
            second += 10 + below(90).cast_signed();
            if second > end {
                break;
            }
            let has_clock = session % 7 == 0;
            let read = if turn == 0 || has_clock { 0 } else { length * 95 / 100 };
            length += 300 + below(2_500);
            let usage = Usage {
                input: length,
                output: 200 + below(900),
                cache_read: read,
                cache_write: if has_clock { 0 } else { length - read },
                ..Usage::default()
            };
            let fresh = u128::from(usage.input - usage.cache_read - usage.cache_write);
            let input =
                fresh * 1000 + u128::from(usage.cache_read) * 100 + u128::from(usage.cache_write) * 1250;
            let cost = |input: u128| {
                Cost::from_picodollars((input + u128::from(usage.output) * 5000) * price * 1000)
            };
            let mut record = RequestRecord::new(
                Timestamp::from_second(second).expect("a time"),
                format!("req_{session}_{turn}"),
            );
            record.tenant = Arc::from("acme");
            record.session = Some(format!("{:08x}", session * 2_654_435_761 % 0xffff_ffff));
            record.model_asked = "agent".to_owned();
            record.model_used = Some(Arc::from(model));
            record.upstream = Some(Arc::from("anthropic"));
            record.status = 200;
            record.outcome = RequestOutcome::Answered;
            record.usage = usage;
            record.money =
                Money { spent: Some(cost(input)), as_sent: Some(cost(u128::from(usage.input) * 1000)) };
            record.durations.total = Duration::from_millis(900 + below(9_000));
            record.durations.own = Duration::from_micros(60 + below(400));
            if has_clock && turn > 0 {
                record.not_planned = Some(Cow::Borrowed("the prefix never repeats"));
                record.miss = Some(Miss {
                    place: Cow::Borrowed(if session % 2 == 0 { "system[0]" } else { "tools[12]" }),
                    variable: (session % 2 == 0).then_some("time of day"),
                    common_tokens: 2_100,
                    lost_tokens: length - 2_100,
                    block: None,
                    block_before: None,
                });
            }
            if day == 9 && hour >= 14 && below(3) == 0 {
                record.outcome = RequestOutcome::Failed;
                record.status = 502;
                record.usage = Usage::default();
                record.money = Money::default();
            } else if below(60) == 0 {
                record.outcome = RequestOutcome::Cancelled;
                record.status = 499;
            }
            sink.append(record);
        }
    }
    evidence.flush();
}

#[test]
fn a_fortnight_makes_a_page_with_every_picture() {
    let place = Place::new();
    fortnight(&place);
    let query = StatsQuery { since: None, until: time(NOON), tenant: None, by: By::Model, top: 12 };
    let stats = Stats::of_file(&place.path(), &query).expect("the file can be read");
    let page = page(&stats);
    // Left where people who change the page can look at it.
    std::fs::write(concat!(env!("CARGO_TARGET_TMPDIR"), "/gateway-stats.html"), &page).expect("writable");
    assert_eq!(page.matches("<svg").count(), 4);
    for part in
        ["Money, every", "Hit rate", "Requests, every", "Saved by session", "time of day", "system[0]"]
    {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("NaN") && !page.contains("inf"), "every number is one");
    assert_eq!(page, stave_gateway::records::page(&stats));
}

#[test]
fn a_page_without_requests_says_so() {
    let place = Place::new();
    drop(place.evidence());
    let query = StatsQuery { since: None, until: time(NOON), tenant: None, by: By::Key, top: 12 };
    let stats = Stats::of_file(&place.path(), &query).expect("the file can be read");
    assert!(page(&stats).contains("No requests in this time."));
}
