//! Charts: every number is drawn inside its frame, and no text leaves its place.

use proptest::prelude::*;
use stave_picture::chart::{Bar, ChartTone, Series, Timeline, bars, columns, lines};

fn drawn(
    names: &[String],
    first: &[Option<f64>],
    second: &[Option<f64>],
    draw: fn(&Timeline<'_>) -> String,
) -> String {
    let series = [
        Series { name: "<one>", tone: ChartTone::Main, values: first.to_vec() },
        Series { name: "two", tone: ChartTone::Bad, values: second.to_vec() },
    ];
    draw(&Timeline {
        title: "a \"title\" & more",
        moments: names,
        ticks: &[(0, "0".to_owned())],
        series: &series,
        shown: &|value| format!("{value:.2}"),
        top: None,
    })
}

/// The value of an attribute wherever it occurs.
fn numbers(svg: &str, attribute: &str) -> Vec<f64> {
    let mark = format!(" {attribute}=\"");
    svg.split(&mark).skip(1).filter_map(|rest| rest.split('"').next()?.parse().ok()).collect()
}

fn value() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![Just(None), Just(Some(0.0)), (-1e6..1e6).prop_map(Some), (0.0..1e-6).prop_map(Some)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everything_stays_in_its_place(
        rows in prop::collection::vec((".*", value(), value()), 0..20),
    ) {
        let names: Vec<String> = rows.iter().map(|(name, ..)| name.clone()).collect();
        let first: Vec<Option<f64>> = rows.iter().map(|(_, first, _)| *first).collect();
        let second: Vec<Option<f64>> = rows.iter().map(|(.., second)| *second).collect();
        let up: Vec<Option<f64>> = first.iter().map(|value| value.map(f64::abs)).collect();
        let rows: Vec<Bar> = rows
            .iter()
            .map(|(name, value, _)| Bar {
                name: name.clone(),
                value: value.unwrap_or(0.0),
                shown: name.clone(),
                tone: ChartTone::Good,
            })
            .collect();
        let pictures = [drawn(&names, &first, &second, columns), drawn(&names, &up, &up, lines), bars("bars", &rows)];
        for svg in pictures {
            prop_assert_eq!(svg.matches('<').count(), svg.matches('>').count());
            prop_assert!(!svg.contains("NaN") && !svg.contains("inf,") && !svg.contains("\"inf"), "{}", svg);
            prop_assert!(!svg.contains("<one>"));
            let sizes = numbers(&svg, "height").into_iter().chain(numbers(&svg, "width"));
            prop_assert!(sizes.into_iter().all(|size| size >= 0.0), "{}", svg);
            for (top, height) in numbers(&svg, "y").into_iter().zip(numbers(&svg, "height")) {
                prop_assert!(top >= 0.0 && height <= 600.0, "{} {} in {}", top, height, svg);
            }
        }
    }
}

#[test]
fn a_scale_has_round_steps_and_holds_what_is_below_zero() {
    let names = vec!["a".to_owned(), "b".to_owned()];
    let svg = drawn(&names, &[Some(41.4), Some(3.0)], &[Some(-8.0), None], columns);
    for label in ["-10.00", "0.00", "10.00", "50.00"] {
        assert!(svg.contains(&format!(">{label}<")), "{label} in {svg}");
    }
}
