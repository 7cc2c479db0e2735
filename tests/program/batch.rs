//! Many cases in one test, a few at a time, with everything that is wrong reported at once.

use std::collections::BTreeMap;
use std::future::Future;

use tokio::task::JoinSet;

/// How many cases are under way at the same time.
const AT_ONCE: usize = 3;

/// What is wrong with each case, by its name. A case that passes has nothing.
pub(crate) type Problems = BTreeMap<String, Vec<String>>;

/// Runs the cases and gives what is wrong with each.
pub(crate) async fn run<F>(cases: impl IntoIterator<Item = (String, F)>) -> Problems
where
    F: Future<Output = Vec<String>> + Send + 'static,
{
    let mut found = Problems::new();
    let mut under_way = JoinSet::new();
    let mut keep = |(name, problems): (String, Vec<String>)| {
        assert!(!found.contains_key(&name), "two cases are called {name}");
        found.insert(name, problems);
    };
    for (name, case) in cases {
        if under_way.len() >= AT_ONCE {
            keep(under_way.join_next().await.expect("a case is under way").expect("a case ends"));
        }
        under_way.spawn(async move { (name, case.await) });
    }
    while let Some(ended) = under_way.join_next().await {
        keep(ended.expect("a case ends"));
    }
    found
}

/// Fails when a case fails that the list does not name, and when a listed one passes or is not there. The
/// list has a name a line, and lines that begin with `#` say why.
pub(crate) fn assert_only_listed_fail(found: &Problems, list: &str, file: &str) {
    let report = differences(found, list, file);
    assert!(report.is_empty(), "\n{report}");
}

fn differences(found: &Problems, list: &str, file: &str) -> String {
    let listed: Vec<&str> =
        list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let mut report = String::new();
    for (name, problems) in found.iter().filter(|(_, problems)| !problems.is_empty()) {
        if !listed.contains(&name.as_str()) {
            report.push_str(&format!("{name} does not pass:\n    {}\n", problems.join("\n    ")));
        }
    }
    for name in listed {
        match found.get(name) {
            None => report.push_str(&format!("there is no {name}; remove it from {file}\n")),
            Some(problems) if problems.is_empty() => {
                report.push_str(&format!("{name} passes; remove it from {file}\n"));
            }
            Some(_) => {}
        }
    }
    report
}

#[test]
fn a_list_is_compared_exactly() {
    let found = Problems::from([("a".to_owned(), vec!["wrong".to_owned()]), ("b".to_owned(), Vec::new())]);
    assert_eq!(differences(&found, "# why\na\n", "list.txt"), "");
    assert_eq!(differences(&found, "", "list.txt"), "a does not pass:\n    wrong\n");
    assert_eq!(differences(&found, "a\nb\n", "list.txt"), "b passes; remove it from list.txt\n");
    assert_eq!(differences(&found, "a\nc\n", "list.txt"), "there is no c; remove it from list.txt\n");
}
