//! Which keys are admitted, and how much they may use.

use std::sync::Arc;
use std::time::Duration;

use stave_canon::Clock;
use stave_gateway::keys::{
    Estimate, KeyLimits, KeyStoreError, ModelPattern, NewKey, Refusal, RefusalKind, VirtualKey, VirtualKeys,
};

use crate::sample::{NOON, Place, budget, cents, new_key, time};

fn money(tokens: u64, money: u64) -> Estimate {
    Estimate { tokens, money: Some(cents(money)) }
}

fn refused(keys: &VirtualKeys, key: &Arc<VirtualKey>, estimate: Estimate, now: &str) -> Refusal {
    keys.admit(key, "gpt-4o", estimate, time(now)).expect_err("it is refused")
}

#[test]
fn a_key_is_known_by_its_text_and_by_nothing_else() {
    let place = Place::new();
    let issued = place.issue(&new_key("one", KeyLimits::default()));
    place.issue(&new_key("two", KeyLimits::default()));
    let keys = place.evidence().keys();
    let text = issued.text.expose();
    let key = keys.authenticate(text).expect("the key is good");
    assert_eq!((key.name.as_str(), &*key.tenant, &*key.id), ("one", "acme", issued.id.as_str()));
    for index in 0..text.len() {
        let mut wrong = text.to_owned().into_bytes();
        wrong[index] = if wrong[index] == b'0' { b'1' } else { b'0' };
        let wrong = String::from_utf8(wrong).expect("ASCII");
        assert!(keys.authenticate(&wrong).is_none(), "{wrong}");
    }
    assert!(keys.authenticate("").is_none());
    assert!(keys.authenticate(&text.repeat(1000)).is_none());
}

#[test]
fn the_file_does_not_hold_the_text_of_a_key() {
    let place = Place::new();
    let issued = place.issue(&new_key("one", KeyLimits::default()));
    drop(place.evidence());
    let secret = issued.text.expose().rsplit('_').next().expect("a secret").to_owned();
    for entry in std::fs::read_dir(place.path().parent().expect("a folder")).expect("readable") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("readable");
        let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!found, "the secret is in the file");
    }
    assert!(!format!("{issued:?}").contains(&secret));
}

#[test]
fn a_revoked_an_expired_and_a_rotated_key_end() {
    let place = Place::new();
    let mut store = place.store();
    let expires =
        NewKey { expires_at: Some(time("2026-11-16T13:00:00Z")), ..new_key("expires", KeyLimits::default()) };
    let (gone, expires, turned) = (
        place.issue(&new_key("gone", KeyLimits::default())),
        place.issue(&expires),
        place.issue(&new_key("turned", KeyLimits::default())),
    );
    store.revoke("gone", place.clock.now()).expect("it can be revoked");
    let next = store
        .rotate("turned", time("2026-11-16T12:30:00Z"), &place.ids, place.clock.now())
        .expect("it can be rotated");
    assert_eq!(next.id, turned.id);
    let evidence = place.evidence();
    let keys = evidence.keys();
    let good = |text: &stave_llm::Secret| keys.authenticate(text.expose()).is_some();
    assert_eq!(
        [good(&gone.text), good(&expires.text), good(&turned.text), good(&next.text)],
        [false, true, true, true]
    );
    place.clock.set("2026-11-16T12:30:00Z");
    assert_eq!([good(&expires.text), good(&turned.text), good(&next.text)], [true, false, true]);
    place.clock.set("2026-11-16T13:00:00Z");
    assert_eq!([good(&expires.text), good(&next.text)], [false, true]);

    assert_eq!(store.revoke("gone", place.clock.now()), Err(KeyStoreError::Revoked("gone".to_owned())));
    assert_eq!(store.revoke("none", place.clock.now()), Err(KeyStoreError::Unknown("none".to_owned())));
    let taken = store.issue(&new_key("turned", KeyLimits::default()), &place.ids, place.clock.now());
    assert!(matches!(taken, Err(KeyStoreError::NameTaken(_))), "{taken:?}");
    store
        .issue(&new_key("gone", KeyLimits::default()), &place.ids, place.clock.now())
        .expect("the name is free again");
    let bad = store.issue(&new_key("a\nb", KeyLimits::default()), &place.ids, place.clock.now());
    assert!(matches!(bad, Err(KeyStoreError::BadName(_))), "{bad:?}");
}

#[test]
fn a_gateway_that_runs_hears_of_keys_that_come_and_go() {
    let place = Place::new();
    let evidence = place.evidence();
    let keys = evidence.keys();
    assert_eq!(keys.count(), 0);
    let issued = place.issue(&new_key("late", KeyLimits::default()));
    let until = |wanted: bool| {
        for _ in 0..400 {
            if keys.authenticate(issued.text.expose()).is_some() == wanted {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("the gateway did not see the change");
    };
    until(true);
    place.store().revoke("late", place.clock.now()).expect("it can be revoked");
    until(false);
    // A gateway whose last key was revoked is not one that never had keys, which lets everybody in.
    assert_eq!(keys.count(), 1);
}

#[test]
fn only_allowed_models_are_admitted() {
    let place = Place::new();
    let models = vec![ModelPattern::new("gpt-4o*").expect("a pattern")];
    let issued = place.issue(&NewKey { models, ..new_key("one", KeyLimits::default()) });
    let keys = place.evidence().keys();
    let key = keys.authenticate(issued.text.expose()).expect("the key is good");
    let admitted = |model| keys.admit(&key, model, 1, time(NOON)).map(drop);
    assert_eq!(admitted("gpt-4o-mini"), Ok(()));
    assert_eq!(admitted("o3"), Err(Refusal { kind: RefusalKind::Model, retry_after: None }));
}

#[test]
fn rates_are_kept_and_say_when_to_come_back() {
    let place = Place::new();
    let limits =
        KeyLimits { requests_per_minute: Some(2), tokens_per_minute: Some(100), ..KeyLimits::default() };
    let issued = place.issue(&new_key("one", limits));
    let keys = place.evidence().keys();
    let key = keys.authenticate(issued.text.expose()).expect("the key is good");
    let first = keys.admit(&key, "m", 60, time(NOON)).expect("it is admitted");
    let second = refused(&keys, &key, 60.into(), NOON);
    assert_eq!(second, Refusal { kind: RefusalKind::TokenRate, retry_after: Some(Duration::from_secs(12)) });
    let never = refused(&keys, &key, 101.into(), NOON);
    assert_eq!(never, Refusal { kind: RefusalKind::BeyondLimit, retry_after: None });
    // The answer was short, so most of the reservation comes back.
    first.settle(10, cents(0));
    drop(keys.admit(&key, "m", 90, time(NOON)).expect("it is admitted"));
    // What was dropped gave its tokens back, but was a request.
    let third = refused(&keys, &key, 1.into(), NOON);
    assert_eq!(third, Refusal { kind: RefusalKind::RequestRate, retry_after: Some(Duration::from_secs(30)) });
    keys.admit(&key, "m", 90, time("2026-11-16T12:00:30Z"))
        .expect("half a minute brings one request")
        .settle(1, cents(0));
}

#[test]
fn a_budget_holds_when_requests_run_at_once() {
    let place = Place::new();
    let limits = KeyLimits { day_budget: budget(100), ..KeyLimits::default() };
    let issued = place.issue(&new_key("one", limits));
    let evidence = place.evidence();
    let keys = evidence.keys();
    let key = keys.authenticate(issued.text.expose()).expect("the key is good");
    let admitted: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let admissions: Vec<_> =
                        (0..50).filter_map(|_| keys.admit(&key, "m", money(1, 3), time(NOON)).ok()).collect();
                    let count = admissions.len();
                    admissions.into_iter().for_each(|admission| admission.settle(1, cents(3)));
                    count
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    assert_eq!(admitted, 33);
    assert_eq!(refused(&keys, &key, money(1, 2), NOON).kind, RefusalKind::DayBudget);
    keys.admit(&key, "m", money(1, 1), time(NOON)).expect("one cent is left").settle(1, cents(0));
    evidence.flush();
    assert_eq!(place.store().list(time(NOON)).expect("listed")[0].spent_today, cents(99));
}

#[test]
fn a_budget_that_only_requests_in_flight_use_up_is_soon_free_again() {
    let place = Place::new();
    let limits = KeyLimits { day_budget: budget(100), month_budget: budget(150), ..KeyLimits::default() };
    let issued = place.issue(&new_key("one", limits));
    let evidence = place.evidence();
    let keys = evidence.keys();
    let key = keys.authenticate(issued.text.expose()).expect("the key is good");
    let soon = Some(Duration::from_secs(1));
    let first = keys.admit(&key, "m", money(1, 90), time(NOON)).expect("it is admitted");
    let waits = refused(&keys, &key, money(1, 20), NOON);
    assert_eq!(waits, Refusal { kind: RefusalKind::DayBudget, retry_after: soon });
    first.settle(1, cents(50));
    let second = keys.admit(&key, "m", money(1, 40), time(NOON)).expect("most of it was given back");
    // 50 cents are spent, so 60 do not fit today, whatever the request in flight costs.
    let later = refused(&keys, &key, money(1, 60), NOON);
    let tomorrow = Some(Duration::from_secs(12 * 3600));
    assert_eq!(later, Refusal { kind: RefusalKind::DayBudget, retry_after: tomorrow });
    drop(second);
    drop(keys.admit(&key, "m", money(1, 50), time(NOON)).expect("all of it was given back"));

    // The month counts too: 50 spent and 60 in flight leave 40.
    let tuesday = "2026-11-17T00:00:00Z";
    let third = keys.admit(&key, "m", money(1, 60), time(tuesday)).expect("a new day");
    let month = refused(&keys, &key, money(1, 41), tuesday);
    assert_eq!(month, Refusal { kind: RefusalKind::MonthBudget, retry_after: soon });
    drop(third);
    keys.admit(&key, "m", money(1, 41), time(tuesday)).expect("it was given back").settle(1, cents(0));
}

#[test]
fn budgets_survive_a_restart_and_end_with_their_day_and_month() {
    let place = Place::new();
    let limits = KeyLimits { day_budget: budget(100), month_budget: budget(150), ..KeyLimits::default() };
    let issued = place.issue(&new_key("one", limits));
    let evidence = place.evidence();
    let keys = evidence.keys();
    let key = keys.authenticate(issued.text.expose()).expect("the key is good");
    keys.admit(&key, "m", money(1, 90), time(NOON)).expect("it is admitted").settle(1, cents(80));
    drop((keys, key, evidence));

    let evidence = place.evidence();
    let keys = evidence.keys();
    let key = keys.authenticate(issued.text.expose()).expect("the key is good");
    let later = refused(&keys, &key, money(1, 21), NOON);
    assert_eq!(
        later,
        Refusal { kind: RefusalKind::DayBudget, retry_after: Some(Duration::from_secs(12 * 3600)) }
    );
    let tuesday = "2026-11-17T00:00:00Z";
    keys.admit(&key, "m", money(1, 60), time(tuesday)).expect("a new day").settle(1, cents(60));
    let month = refused(&keys, &key, money(1, 20), tuesday);
    assert_eq!(
        month,
        Refusal { kind: RefusalKind::MonthBudget, retry_after: Some(Duration::from_secs(14 * 86_400)) }
    );
    keys.admit(&key, "m", money(1, 100), time("2026-12-01T00:00:00Z"))
        .expect("a new month")
        .settle(1, cents(1));
    evidence.flush();
    let listed = place.store().list(time(tuesday)).expect("listed");
    assert_eq!((listed[0].spent_today, listed[0].spent_this_month), (cents(60), cents(140)));
}

#[test]
fn a_key_with_a_budget_asks_for_nothing_that_has_no_price() {
    let place = Place::new();
    let issued = place.issue(&new_key("one", KeyLimits { month_budget: budget(1), ..KeyLimits::default() }));
    let keys = place.evidence().keys();
    let key = keys.authenticate(issued.text.expose()).expect("the key is good");
    assert_eq!(
        refused(&keys, &key, 5.into(), NOON),
        Refusal { kind: RefusalKind::Unpriced, retry_after: None }
    );
}

#[test]
fn two_gateways_on_one_file_see_each_others_spending() {
    let place = Place::new();
    let issued = place.issue(&new_key("one", KeyLimits { day_budget: budget(100), ..KeyLimits::default() }));
    let (first, second) = (place.evidence(), place.evidence());
    let (one, other) = (first.keys(), second.keys());
    let key = one.authenticate(issued.text.expose()).expect("the key is good");
    one.admit(&key, "m", money(1, 90), time(NOON)).expect("it is admitted").settle(1, cents(90));
    first.flush();
    for _ in 0..400 {
        let key = other.authenticate(issued.text.expose()).expect("the key is good");
        if other.admit(&key, "m", money(1, 11), time(NOON)).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the second gateway did not see the change");
}
