//! `docs/bus.md` says what is so.

use std::collections::BTreeSet;

use mesh_control::genesis::{Care, Of, RULES};
use serde_json::Value;

use crate::ground::Ground;

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/bus.md");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_page_has_every_row_of_the_table_and_no_other() {
    let rows: BTreeSet<String> = RULES
        .iter()
        .map(|rule| {
            let of = match rule.of {
                Of::Stream => "stream",
                Of::Consumer => "consumer",
            };
            let care = match rule.care {
                Care::Safe { .. } => "put right",
                Care::NotBelow(_) => "above what is stored",
                Care::Ask { .. } => "asked",
                Care::Fixed { .. } => "never",
            };
            format!("| {of} | `{}` | {care} |", rule.field)
        })
        .collect();
    let page = page();
    let told = page
        .lines()
        .filter(|line| line.starts_with("| stream | `") || line.starts_with("| consumer | `"));
    let told: Vec<String> = told.map(str::to_owned).collect();
    assert_eq!(told.len(), rows.len());
    assert_eq!(told.into_iter().collect::<BTreeSet<_>>(), rows);
}

/// The keys that a table of the page lists behind a schema's name.
fn listed(schema: &str) -> BTreeSet<String> {
    let page = page();
    let (_, rest) = page.split_once(&format!("`{schema}`:\n")).unwrap();
    let rows = rest
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'));
    let first = rows.filter_map(|row| row.split('|').nth(1)).map(str::to_owned).collect::<Vec<_>>();
    first
        .iter()
        .flat_map(|cell| cell.split(','))
        .filter_map(|key| key.trim().strip_prefix('`')?.strip_suffix('`').map(str::to_owned))
        .collect()
}

fn keys(answer: &Value) -> BTreeSet<String> {
    let keys = answer.as_object().unwrap().keys();
    keys.filter(|key| *key != "schema").cloned().collect()
}

#[tokio::test]
async fn the_page_lists_every_key_of_the_answers_and_shows_what_a_raising_says() {
    let mut ground = Ground::new();
    ground.compose(0);
    ground.run().await;
    let output = ground.mesh(&[
        "bus",
        "genesis",
        "--mesh",
        "mesh.toml",
        "--credential",
        "credentials/controller.json",
    ]);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, shown) = page()
        .split_once("    made EVENTS_DEAD\n")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    let mut lines = told.lines();
    assert_eq!(lines.next(), Some("made EVENTS_DEAD"));
    for line in shown.lines().take_while(|line| line.starts_with("    made")) {
        assert_eq!(lines.next(), Some(line.trim()), "{told}");
    }
    assert!(
        told.contains("\ngood: 12 made, 0 there before, 0 missing, 0 different; epoch "),
        "{told}"
    );
    assert_eq!(keys(&ground.genesis(&[], 0)), listed("mesh.bus.genesis/1"));
    let status = ground.status(&["--dir", "bus"], 0);
    assert_eq!(keys(&status), listed("mesh.bus.status/1"));
    for of in ["server", "dead_letters"] {
        for key in status[of].as_object().unwrap().keys() {
            assert!(page().contains(key.as_str()), "{of}.{key}");
        }
    }
    for (of, shape) in [("streams", "`{stream, is_there"), ("consumers", "`{consumer, is_there")] {
        let page = page();
        let (_, row) = page.split_once(shape).unwrap();
        let row = row.lines().next().unwrap();
        for key in
            status[of][0].as_object().unwrap().keys().filter(|key| !shape.contains(key.as_str()))
        {
            assert!(row.contains(key.as_str()), "{of}.{key}");
        }
    }
}
