//! `stave gateway stats`: the totals of recorded requests.

use std::sync::Arc;
use std::time::Duration;

use stave_canon::{FixedClock, Timestamp, Value};
use stave_gateway::database::{Evidence, EvidenceSettings, FILE};
use stave_gateway::records::{Miss, Money, RequestOutcome, RequestRecord};
use stave_llm::Usage;
use stave_llm::prices::Cost;

use crate::folder::Folder;
use crate::json::{items, text};
use crate::process::stave;

/// A folder with the records of ten requests, an hour apart, the last one an hour ago.
fn recorded() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path().join(".stave")).expect("a folder");
    let now = Timestamp::now();
    let clock = Arc::new(FixedClock(now));
    let path = folder.path().join(".stave").join(FILE);
    let evidence = Evidence::open(&path, clock, EvidenceSettings::default()).expect("the file can be opened");
    for index in 0..10_u64 {
        let ago = Duration::from_secs(3600 * (10 - index));
        let mut record = RequestRecord::new(now.checked_sub(ago).expect("a time"), format!("req_{index}"));
        record.tenant = Arc::from("acme");
        record.session = Some(format!("session{}", index % 2));
        record.model_asked = "<b>model</b>".to_owned();
        record.outcome = RequestOutcome::Answered;
        record.status = 200;
        record.usage = Usage { input: 1000, output: 50, cache_read: 500, ..Usage::default() };
        record.money =
            Money { spent: Some(Cost::from_micros(10_000)), as_sent: Some(Cost::from_micros(30_000)) };
        record.miss = Some(Miss {
            place: "system[0]".into(),
            variable: Some("clock"),
            common_tokens: 7,
            lost_tokens: 100,
            block: None,
            block_before: None,
        });
        evidence.sink().append(record);
    }
    folder
}

#[tokio::test]
async fn machines_get_sums_groups_a_series_and_misses() {
    let folder = recorded();
    let stats =
        stave(&folder, ["gateway", "stats", "--by", "session", "--json"]).finish().await.exits(0).json();
    let total = stats.get("total").expect("totals");
    assert_eq!(
        (text(total, "spent_usd"), text(total, "saved_usd")),
        (Some("0.100000000"), Some("0.200000000"))
    );
    assert_eq!(total.get("hit_rate"), Some(&0.5.into()));
    let groups: Vec<Option<&str>> =
        items(&stats, "groups").iter().map(|group| text(group, "session")).collect();
    assert_eq!(groups, [Some("session0"), Some("session1")]);
    assert_eq!(text(&items(&stats, "misses")[0], "place"), Some("system[0]"));
    assert!(!items(&stats, "series").is_empty());

    let later =
        stave(&folder, ["gateway", "stats", "--since", "150m", "--json"]).finish().await.exits(0).json();
    assert_eq!(later.get("total").and_then(|total| total.get("requests")), Some(&2.into()));
}

#[tokio::test]
async fn people_get_a_table_or_a_page_that_runs_nothing() {
    let folder = recorded();
    let told = stave(&folder, ["gateway", "stats"]).finish().await.exits(0);
    for part in ["<b>model</b>", "total", "50 %", "$0.10", "$0.20", "system[0]", "clock"] {
        assert!(told.stdout.contains(part), "{part} in {told}");
    }
    stave(&folder, ["gateway", "stats", "--html", "page.html"]).finish().await.exits(0);
    let page = folder.read("page.html");
    assert!(page.contains("&lt;b&gt;model&lt;/b&gt;") && !page.contains("<b>model"), "{page}");
    for outside in ["<script", "<link", "<img", "src=", "href=", "url(", "@import", "onload"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[tokio::test]
async fn a_folder_without_records_and_a_time_that_is_none_are_told() {
    let folder = Folder::new();
    let none = stave(&folder, ["gateway", "stats"]).finish().await.exits(2);
    assert!(none.stderr.contains("--state-dir"), "{none}");
    let folder = recorded();
    let bad = stave(&folder, ["gateway", "stats", "--since", "yesterday"]).finish().await.exits(2);
    assert!(bad.stderr.contains("24h"), "{bad}");
}

#[tokio::test]
async fn requests_without_a_price_and_refused_ones_are_told_apart() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path().join(".stave")).expect("a folder");
    let now = Timestamp::now();
    let path = folder.path().join(".stave").join(FILE);
    let settings = EvidenceSettings::default();
    let evidence =
        Evidence::open(&path, Arc::new(FixedClock(now)), settings).expect("the file can be opened");
    for (index, (model, outcome, micros)) in [
        ("house", RequestOutcome::Answered, None),
        ("house", RequestOutcome::Answered, None),
        ("mixed", RequestOutcome::Answered, None),
        ("mixed", RequestOutcome::Answered, Some(250_000)),
        ("mixed", RequestOutcome::Refused, None),
    ]
    .into_iter()
    .enumerate()
    {
        let mut record = RequestRecord::new(now, format!("req_{index}"));
        record.tenant = Arc::from("acme");
        record.model_asked = model.to_owned();
        record.outcome = outcome;
        let cost = micros.map(Cost::from_micros);
        record.money = Money { spent: cost, as_sent: cost };
        evidence.sink().append(record);
    }
    drop(evidence);
    let told = stave(&folder, ["gateway", "stats"]).finish().await.exits(0);
    let line = |name: &str| {
        let line = told.stdout.lines().find(|line| line.trim_start_matches(['│', ' ']).starts_with(name));
        line.unwrap_or_else(|| panic!("{name} in {told}")).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(told.stdout.contains("refused"), "{told}");
    assert!(line("house").contains("unpriced") && !line("house").contains('$'), "{told}");
    assert!(line("mixed").contains("$0.25 + 1 unpriced"), "{told}");
    let stats = stave(&folder, ["gateway", "stats", "--json"]).finish().await.exits(0).json();
    for group in items(&stats, "groups") {
        let (spent, refused) = match text(group, "model") {
            Some("house") => (None, 0),
            _ => (Some("0.250000000"), 1),
        };
        assert_eq!(text(group, "spent_usd"), spent, "{group}");
        assert_eq!(group.get("spent_usd").is_some_and(Value::is_null), spent.is_none());
        assert_eq!(group.get("refused"), Some(&refused.into()), "{group}");
    }
}

/// The status line, the headers and the body that the gateway answers with.
async fn get(address: &str, path: &str, key: Option<&str>) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut socket = tokio::net::TcpStream::connect(address).await.expect("the gateway accepts");
    let key = key.map(|key| format!("authorization: Bearer {key}\r\n")).unwrap_or_default();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n{key}connection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.expect("the gateway reads");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.expect("the gateway answers");
    answer
}

#[tokio::test]
async fn the_gateway_shows_page_and_metrics_to_an_admin_and_to_nobody_else() {
    let folder = recorded();
    let mut keys = Vec::new();
    for arguments in [&["keys", "issue", "ada"][..], &["keys", "issue", "ops", "--admin"]] {
        keys.push(stave(&folder, arguments).finish().await.exits(0).stdout.trim().to_owned());
    }
    let mut gateway = stave(&folder, ["gateway", "--listen", "127.0.0.1:0"]).start();
    let said = gateway.wait_for_stderr("http://").await;
    let address = said.split("http://").nth(1).and_then(|rest| rest.split_whitespace().next());
    let address = address.expect("an address").to_owned();
    let status = |answer: &str| answer.get(9..12).unwrap_or_default().to_owned();
    for path in ["/stats", "/metrics"] {
        let nobody = get(&address, path, None).await;
        assert_eq!(status(&nobody), "401", "{nobody}");
        assert!(nobody.to_ascii_lowercase().contains("www-authenticate: basic"), "{nobody}");
        let other = get(&address, path, Some(&keys[0])).await;
        assert_eq!(status(&other), "403", "{other}");
    }
    let metrics = get(&address, "/metrics", Some(&keys[1])).await;
    assert!(status(&metrics) == "200" && metrics.contains("stave_gateway_requests_total"), "{metrics}");
    let page = get(&address, "/stats?hours=24&by=session", Some(&keys[1])).await;
    assert_eq!(status(&page), "200", "{page}");
    assert!(page.contains("text/html") && page.contains("By session") && page.contains("<svg"), "{page}");
    let json = get(&address, "/stats?format=json", Some(&keys[1])).await;
    assert!(json.contains("\"spent_usd\":\"0.100000000\""), "{json}");
    let wrong = get(&address, "/stats?day=1", Some(&keys[1])).await;
    assert_eq!(status(&wrong), "400", "{wrong}");
}
