//! What `docs/security.md` says besides the table's outcomes, held to what there is.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use libtest_mimic::{Failed, Trial};

use crate::attack::Attack;
use crate::split::Started;
use crate::table::Table;

type Check = fn(&Table, &[Attack]) -> Started<()>;

const CHECKS: &[(&str, Check)] = &[
    ("the_documentations_table_is_that_of_the_attacks", |table, attacks| table.is_of(attacks)),
    ("what_succeeds_is_explained_and_nothing_else", |table, _| table.explains_what_succeeds()),
    ("each_test_that_the_documentation_names_is_there", |table, _| names_tests_that_are(table)),
];

pub fn trials(table: &Arc<Table>, attacks: &[Attack]) -> Vec<Trial> {
    let trials = CHECKS.iter().map(|(name, check)| {
        let (table, attacks) = (Arc::clone(table), attacks.to_vec());
        Trial::test(*name, move || {
            check(&table, &attacks).map_err(|error| Failed::from(error.to_string()))
        })
    });
    trials.collect()
}

/// Each test of another bed that the documentation names is in the file that it names.
fn names_tests_that_are(table: &Table) -> Started<()> {
    let mut named = 0;
    for line in table.section("On RabbitMQ")?.lines().filter(|line| line.starts_with("| ")) {
        let Some((_, proof)) = line.trim_end_matches(" |").rsplit_once(" | ") else { continue };
        let words: Vec<&str> = proof.split('`').skip(1).step_by(2).collect();
        let Some((file, tests)) = words.split_first() else { continue };
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
        let source = fs::read_to_string(&path).map_err(|error| format!("{file}: {error}"))?;
        for test in tests {
            if !source.contains(&format!("fn {test}(")) {
                return Err(format!("docs/security.md names {test}, which is not in {file}").into());
            }
            named += 1;
        }
    }
    if named < 5 { Err(format!("only {named} tests are named").into()) } else { Ok(()) }
}
