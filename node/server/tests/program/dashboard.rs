//! The dashboard and the alert rules name metrics that exist, and the dashboard shows all of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use milepost_practice::{Practice, Settings};
use milepost_testing::feed::{Feed, FeedChain, FeedServer};
use serde_json::Value;

use crate::support::Server;

/// The names of metrics in a text
fn metrics(text: &str) -> BTreeSet<String> {
    let is_part = |symbol: char| symbol.is_ascii_alphanumeric() || symbol == '_';
    let words = text.split(|symbol: char| !is_part(symbol));
    words
        .filter(|word| word.starts_with("milepost_") || word.starts_with("process_"))
        .map(str::to_owned)
        .collect()
}

/// The names without what a histogram adds to them
fn families(names: &BTreeSet<String>) -> BTreeSet<&str> {
    let suffixes = ["_bucket", "_sum", "_count"];
    names
        .iter()
        .map(|name| suffixes.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name))
        .collect()
}

fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// An upstream that does not answer
const CLOSED: &str = "http://127.0.0.1:1";

#[test]
fn the_dashboard_and_the_alerts_name_metrics_that_exist() {
    let practice = Settings::demo(1);
    let first = practice.genesis_height;
    let mut chain = Practice::new(practice);
    let messages: Vec<_> = (0..40).map(|_| chain.next_message()).collect();
    let chain = FeedChain::new(messages.into_iter(), first, 1_000);
    let feed = FeedServer::start(Feed::new(chain, Default::default())).expect("a port");
    let (url, from) = (feed.url(), first.to_string());
    let server = Server::start(&[
        "--follow",
        &url,
        "--from",
        &from,
        "--upstream",
        CLOSED,
        "--forward",
        "--archive",
        "memory",
    ]);
    server.until("a final block", || server.metric("milepost_final_height").is_some());
    let exported = metrics(&server.get("/metrics").text());

    let handbook = document("OPERATING.md");
    let table = handbook.split("| about | metrics |\n").nth(1).expect("a table of all metrics");
    let table = table.split("\n\n").next().unwrap_or_default();
    let is_missing = |family: &&&str| {
        let name = family.strip_prefix("milepost_").unwrap_or(family);
        !table.contains(&format!("`{name}`"))
    };
    let exported_families = families(&exported);
    let unexplained: Vec<_> = exported_families.iter().filter(is_missing).collect();
    assert!(unexplained.is_empty(), "the table of docs/OPERATING.md leaves out {unexplained:?}");

    // Where there is a `/proc`, all of them are there.
    #[cfg(target_os = "linux")]
    for name in ["start_time_seconds", "resident_memory_bytes", "open_fds"] {
        let value = server.get("/metrics").text();
        let name = format!("\nprocess_{name} ");
        let value = value.split(&name).nth(1).and_then(|rest| rest.lines().next()).expect(&name);
        assert!(value.parse::<f64>().unwrap() > 1.0, "{name}{value}");
    }

    let dashboard: Value = serde_json::from_str(&document("grafana.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let expressions: Vec<&str> = targets.map(|target| target["expr"].as_str().unwrap()).collect();
    let shown = metrics(&expressions.join(" "));
    let unknown: Vec<_> = shown.difference(&exported).collect();
    assert!(unknown.is_empty(), "the dashboard shows what does not exist: {unknown:?}");
    let (exported_families, shown_families) = (families(&exported), families(&shown));
    let missing: Vec<_> = exported_families.difference(&shown_families).collect();
    assert!(missing.is_empty(), "the dashboard leaves out {missing:?}");
    let variables = metrics(&dashboard["templating"].to_string());
    assert!(variables.is_subset(&exported), "{variables:?}");

    let rules = document("alerts.yml");
    let names = rules.lines().filter_map(|line| line.trim_start().strip_prefix("- alert: "));
    let unexplained: Vec<&str> =
        names.filter(|name| !handbook.contains(&format!("\n| `{name}` | "))).collect();
    assert!(unexplained.is_empty(), "docs/OPERATING.md does not explain {unexplained:?}");
    // The age is not known of a head that was imported without a check.
    let of_behind = rules.split("- alert: MilepostBehind\n").nth(1).expect("the rule");
    let of_behind = metrics(of_behind.lines().next().unwrap_or_default());
    for name in ["milepost_feed_block_age_seconds", "milepost_feed_frozen"] {
        assert!(of_behind.contains(name), "{of_behind:?}");
    }
    let alerts = metrics(&rules);
    let unknown: Vec<_> = alerts
        .difference(&exported)
        .filter(|it| !exported_families.contains(it.as_str()))
        .collect();
    assert!(alerts.len() > 5 && unknown.is_empty(), "the alerts name {unknown:?}");
}
