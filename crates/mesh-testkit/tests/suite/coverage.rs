//! The contract and the suite say the same: each bullet is a case, with the same capability in its
//! brackets, and each case is a bullet.

use std::collections::BTreeMap;

use mesh_testkit::suite::{self, Case};

const PORTS: [&str; 4] = [
    include_str!("../../../mesh-core/src/port/transport.rs"),
    include_str!("../../../mesh-core/src/port/streams.rs"),
    include_str!("../../../mesh-core/src/port/requests.rs"),
    include_str!("../../../mesh-core/src/port/administration.rs"),
];

/// The bullets: name and text.
fn bullets() -> BTreeMap<String, String> {
    let mut bullets: BTreeMap<String, String> = BTreeMap::new();
    let mut last: Option<String> = None;
    for line in PORTS.iter().flat_map(|port| port.lines()) {
        let Some(doc) = line.trim().strip_prefix("///") else {
            last = None;
            continue;
        };
        if let Some(bullet) = doc.trim().strip_prefix("- `") {
            let (name, text) = bullet.split_once('`').unwrap();
            let before = bullets.insert(name.to_owned(), text.to_owned());
            assert!(before.is_none(), "{name} stands twice");
            last = Some(name.to_owned());
        } else if let Some(name) = &last {
            // A bullet goes on in indented lines.
            match doc.strip_prefix("   ") {
                Some(more) => *bullets.get_mut(name).unwrap() += &format!(" {more}"),
                None => last = None,
            }
        }
    }
    bullets
}

/// What stands in a bullet's brackets: the capability, and whether something holds without it.
fn brackets(text: &str) -> Option<(String, bool)> {
    let (_, rest) = text.split_once("\\[`")?;
    let (inside, _) = rest.split_once(']')?;
    let (capability, rest) = inside.split_once('`')?;
    Some((capability.to_owned(), rest.contains("else")))
}

#[test]
fn every_bullet_is_a_case_and_every_case_a_bullet() {
    let bullets: Vec<_> = bullets().into_keys().collect();
    let mut cases: Vec<_> = suite::cases().map(|case| case.name().to_owned()).collect();
    cases.sort_unstable();
    assert_eq!(cases, bullets);
}

#[test]
fn each_case_needs_what_its_bullet_says() {
    let bullets = bullets();
    for case in suite::cases() {
        let said = brackets(&bullets[case.name()]);
        // The one case that proves a whole port absent says so in its bullet too.
        let needs = case.needs().or(case.port().filter(|_| Case::has_otherwise(&case)));
        let needed = needs.map(|needs| (format!("{needs:?}"), case.has_otherwise()));
        assert_eq!(said, needed, "{}", case.name());
        let hooked = bullets[case.name()].contains("where the harness can change");
        assert_eq!(hooked, case.hook().is_some(), "{}", case.name());
    }
}
