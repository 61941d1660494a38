//! The attacks as a table of the documentation, which a test compares with this one.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::attack::{Attack, Outcome};
use crate::split::Started;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/nats-attacks.md");
const BEGIN: &str = "<!-- begin: written by the tests -->\n";
const END: &str = "<!-- end: written by the tests -->\n";

fn table(attacks: &[Attack]) -> String {
    let mut text = String::from(
        "\n| attack | by | what it tries | split | one account |\n|---|---|---|---|---|\n",
    );
    for Attack { name, by, tries, split, one_account, .. } in attacks {
        _ = writeln!(
            text,
            "| `{name}` | {by} | {tries} | {} | {} |",
            split.as_str(),
            one_account.as_str()
        );
    }
    let count = |of: fn(&Attack) -> Outcome, outcome| {
        attacks.iter().filter(|attack| of(attack) == outcome).count()
    };
    _ = writeln!(
        text,
        "\n{} attacks; {} succeed in the split layout, {} in one account.",
        attacks.len(),
        count(|attack| attack.split, Outcome::Succeeds),
        count(|attack| attack.one_account, Outcome::Succeeds)
    );
    text
}

/// The documentation's table is that of the attacks. With `MESH_WRITE_TABLE` set it is made so.
pub fn is_current(attacks: &[Attack]) -> Started<()> {
    let names: BTreeSet<_> = attacks.iter().map(|attack| attack.name).collect();
    if names.len() != attacks.len() {
        return Err("two attacks have one name".into());
    }
    let text = fs::read_to_string(Path::new(FILE))?;
    let (head, rest) = text.split_once(BEGIN).ok_or("the table's begin is not marked")?;
    let (found, tail) = rest.split_once(END).ok_or("the table's end is not marked")?;
    let expected = table(attacks);
    if found == expected {
        return Ok(());
    }
    if std::env::var_os("MESH_WRITE_TABLE").is_some() {
        return Ok(fs::write(FILE, format!("{head}{BEGIN}{expected}{END}{tail}"))?);
    }
    let differs = |(found, expected): &(&str, &str)| found != expected;
    let first = found.lines().zip(expected.lines()).find(differs);
    Err(format!(
        "docs/nats-attacks.md is not that of the tests, first here: {first:?}; \
         MESH_WRITE_TABLE=1 cargo test -p mesh-tests --test nats_attacks table writes it"
    )
    .into())
}
