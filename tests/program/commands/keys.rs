//! `stave keys issue|list|revoke|rotate`: keys for clients of the gateway.

use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::stave;

#[tokio::test]
async fn a_key_is_shown_once_listed_without_its_text_and_ends_when_revoked() {
    let folder = Folder::new();
    folder.write("stave.toml", "[project]\ntenant = \"acme\"\n");
    let arguments = [
        "keys",
        "issue",
        "ada",
        "--models",
        "claude-*,gpt-4o",
        "--budget-day",
        "2.50",
        "--budget-month",
        "50",
        "--requests-per-minute",
        "60",
        "--tokens-per-minute",
        "200000",
        "--expires",
        "90d",
        "--json",
    ];
    let issued = stave(&folder, arguments).finish().await.exits(0).json();
    let key = text(&issued, "key").expect("the key's text").to_owned();
    assert!(key.starts_with("stave_"), "{key}");

    let listed = stave(&folder, ["keys", "list", "--json"]).finish().await.exits(0);
    assert!(!listed.stdout.contains(&key));
    let listed = listed.json();
    let [one] = items(&listed, "keys") else { panic!("one key: {listed}") };
    let told = ["id", "name", "tenant", "budget_day_usd", "budget_month_usd", "spent_today_usd", "state"]
        .map(|member| text(one, member));
    let expected = [
        text(&issued, "id"),
        Some("ada"),
        Some("acme"),
        Some("2.500000"),
        Some("50.000000"),
        Some("0.000000"),
        Some("good"),
    ];
    assert_eq!(told, expected);
    let people = stave(&folder, ["keys", "list"]).finish().await.exits(0);
    for part in ["ada", "claude-* gpt-4o", "60 requests, 200000 tokens", "$0.00 of $2.50", "good"] {
        assert!(people.stdout.contains(part), "{part} in {people}");
    }

    let again = stave(&folder, ["keys", "issue", "ada"]).finish().await.exits(2);
    assert!(again.stderr.contains("stave keys rotate ada"), "{again}");
    let rotated =
        stave(&folder, ["keys", "rotate", "ada", "--grace", "1h", "--json"]).finish().await.exits(0).json();
    assert_eq!(text(&rotated, "id"), text(&issued, "id"));
    assert_ne!(text(&rotated, "key"), Some(key.as_str()));
    let listed = stave(&folder, ["keys", "list", "--json"]).finish().await.exits(0).json();
    assert_eq!(text(&items(&listed, "keys")[0], "state"), Some("rotating"));

    stave(&folder, ["keys", "revoke", "ada"]).finish().await.exits(0);
    let listed = stave(&folder, ["keys", "list", "--json"]).finish().await.exits(0).json();
    assert!(items(&listed, "keys").is_empty(), "{listed}");
    let all = stave(&folder, ["keys", "list", "--all", "--json"]).finish().await.exits(0).json();
    assert_eq!(text(&items(&all, "keys")[0], "state"), Some("revoked"));
    stave(&folder, ["keys", "revoke", "ada"]).finish().await.exits(2);
}

#[tokio::test]
async fn small_budgets_are_shown_as_they_are() {
    let folder = Folder::new();
    let issue = ["keys", "issue", "ada", "--budget-day", "0.004", "--budget-month", "0.000125"];
    stave(&folder, issue).finish().await.exits(0);
    let people = stave(&folder, ["keys", "list"]).finish().await.exits(0);
    for part in ["$0.00 of $0.004", "$0.00 of $0.000125"] {
        assert!(people.stdout.contains(part), "{part} in {people}");
    }
    let help = stave(&folder, ["keys", "issue", "--help"]).finish().await.exits(0);
    assert!(help.stdout.contains("--state-dir") && !help.stdout.contains("restate"), "{help}");
}

#[tokio::test]
async fn people_get_the_key_alone_on_stdout() {
    let folder = Folder::new();
    let issued = stave(&folder, ["keys", "issue", "ada"]).finish().await.exits(0);
    assert_eq!(issued.stdout.lines().count(), 1, "{issued}");
    assert!(!issued.stderr.contains(issued.stdout.trim()), "{issued}");
}

#[tokio::test]
async fn what_is_no_key_is_refused_with_a_cure() {
    let folder = Folder::new();
    let none = stave(&folder, ["keys", "rotate", "nobody"]).finish().await.exits(2);
    assert!(none.stderr.contains("there is no key `nobody`"), "{none}");
    for arguments in [
        &["keys", "issue", "a\nb"][..],
        &["keys", "issue", "ada", "--models", "gpt 4"],
        &["keys", "issue", "ada", "--budget-day", "-1"],
        &["keys", "issue", "ada", "--budget-day", "0.0000001"],
        &["keys", "issue", "ada", "--expires", "soon"],
        &["keys", "issue", "ada", "--requests-per-minute", "0"],
    ] {
        stave(&folder, arguments).finish().await.exits(2);
    }
    let empty = stave(&folder, ["keys", "list"]).finish().await.exits(0);
    assert!(empty.stderr.contains("stave keys issue"), "{empty}");
}
