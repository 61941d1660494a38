//! What came of each attack, as the table of the documentation holds it: a run compares with it, and
//! writes it when told to.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use crate::attack::{Attack, Outcome};
use crate::split::{Answers, Isolation, Mode, Started};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/security.md");
const BEGIN: &str = "<!-- begin: written by the attack bed -->\n";
const END: &str = "<!-- end: written by the attack bed -->\n";
const HEAD: &str =
    "\n| attack | by | what it tries | split | one account |\n|---|---|---|---|---|\n";
const DIFFERS: &str = "; with `allow_responses` ";

/// How to write the table anew.
pub const HOW: &str = "if that is right, `MESH_WRITE_TABLE=1 cargo test -p mesh-tests --test nats_attacks` \
                       tries everything and writes docs/security.md anew";

/// One line of the table.
struct Row {
    by: String,
    tries: String,
    outcomes: [Outcome; 4],
}

/// The documentation, with the table taken apart.
pub struct Table {
    text: String,
    rows: Vec<(String, Row)>,
}

/// Where a mode's outcome stands in a row.
fn place(mode: Mode) -> usize {
    let isolation = usize::from(mode.isolation == Isolation::OneAccount);
    isolation * 2 + usize::from(mode.answers == Answers::AllowResponses)
}

impl Table {
    /// As the documentation has it.
    pub fn read() -> Started<Self> {
        let text = fs::read_to_string(FILE)?;
        let (_, rest) = text.split_once(BEGIN).ok_or("the table's begin is not marked")?;
        let (table, _) = rest.split_once(END).ok_or("the table's end is not marked")?;
        let lines = table.strip_prefix(HEAD).unwrap_or_default().lines();
        let rows = lines.take_while(|line| !line.is_empty()).map(|line| {
            row(line)
                .ok_or_else(|| format!("no row of the table in docs/security.md: {line}").into())
        });
        let rows = rows.collect::<Started<Vec<_>>>()?;
        Ok(Self { rows, text })
    }

    /// What must come of the attack of that name.
    pub fn expected(&self, name: &str, mode: Mode) -> Option<Outcome> {
        let (_, row) = self.rows.iter().find(|(of, _)| of == name)?;
        row.outcomes.get(place(mode)).copied()
    }

    /// The rows are those of the attacks, and one whose outcome depends on the answer mode is always
    /// tried in both.
    pub fn is_of(&self, attacks: &[Attack]) -> Started<()> {
        let said = self.rows.iter().map(|(name, row)| (name.as_str(), &*row.by, &*row.tries));
        let tried = attacks.iter().map(|attack| (attack.name, attack.by, attack.tries));
        if !said.clone().eq(tried.clone()) {
            let first = said.zip(tried).find(|(said, tried)| said != tried);
            return Err(
                format!("not the table of the attacks, first here: {first:?}; {HOW}").into()
            );
        }
        for Attack { name, answers, .. } in attacks {
            let alike = [Isolation::Split, Isolation::OneAccount].into_iter().all(|isolation| {
                let of = |answers| self.expected(name, Mode { isolation, answers });
                of(Answers::Scoped) == of(Answers::AllowResponses)
            });
            if !answers && !alike {
                return Err(format!("{name} depends on the answer mode: mark it `answers`").into());
            }
        }
        let count = counts(self.rows.iter().map(|(_, row)| row.outcomes));
        if self.text.contains(&count) { Ok(()) } else { Err(format!("{count:?}; {HOW}").into()) }
    }

    /// What succeeds is explained where the documentation says so, and nothing else is.
    pub fn explains_what_succeeds(&self) -> Started<()> {
        let split = |answers| Mode { isolation: Isolation::Split, answers };
        let (scoped, anywhere) = (split(Answers::Scoped), split(Answers::AllowResponses));
        let succeeds = |name: &str, mode| self.expected(name, mode) == Some(Outcome::Succeeds);
        let names = || self.rows.iter().map(|(name, _)| name.as_str());
        let mut always: Vec<_> = names().filter(|name| succeeds(name, scoped)).collect();
        let mut more: Vec<_> =
            names().filter(|name| succeeds(name, anywhere) && !succeeds(name, scoped)).collect();
        always.sort_unstable();
        more.sort_unstable();
        for (heading, names) in
            [("What succeeds in the split layout", always), ("What `allow_responses` adds", more)]
        {
            let explained = self.explained(heading)?;
            if explained != names {
                return Err(
                    format!("{heading:?} explains {explained:?}, and it is {names:?}").into()
                );
            }
        }
        Ok(())
    }

    /// The text under a heading.
    pub fn section(&self, heading: &str) -> Started<&str> {
        let start = format!("## {heading}\n");
        let (_, section) = self.text.split_once(&start).ok_or_else(|| format!("no {heading:?}"))?;
        Ok(section.split("\n## ").next().unwrap_or_default())
    }

    /// The names that a section's list begins its items with, sorted.
    fn explained(&self, heading: &str) -> Started<Vec<&str>> {
        let mut names = Vec::new();
        for item in self.section(heading)?.lines().filter_map(|line| line.strip_prefix("- ")) {
            let named = item.split(". ").next().unwrap_or_default();
            names.extend(named.split('`').skip(1).step_by(2));
        }
        names.sort_unstable();
        Ok(names)
    }

    /// The same with what was found, and written.
    pub fn write(
        &self,
        attacks: &[Attack],
        found: &BTreeMap<(&str, usize), Outcome>,
        version: &str,
    ) -> Started<()> {
        let mut lines = String::new();
        let mut all = Vec::new();
        for Attack { name, by, tries, .. } in attacks {
            let mut outcomes = [Outcome::Succeeds; 4];
            for mode in Mode::ALL {
                let known = found.get(&(*name, place(mode))).copied();
                outcomes[place(mode)] = known
                    .or_else(|| self.expected(name, mode))
                    .ok_or_else(|| format!("{name} was not tried in {mode:?}"))?;
            }
            let [split, one] = [&outcomes[..2], &outcomes[2..]].map(cell);
            _ = writeln!(lines, "| `{name}` | {by} | {tries} | {split} | {one} |");
            all.push(outcomes);
        }
        let (head, rest) = self.text.split_once(BEGIN).ok_or("no begin")?;
        let (_, tail) = rest.split_once(END).ok_or("no end")?;
        let count = counts(all.into_iter());
        let text = format!(
            "{head}{BEGIN}{HEAD}{lines}\n{count} Tried on nats-server {version}.\n{END}{tail}"
        );
        Ok(fs::write(FILE, text)?)
    }
}

/// What was found in a mode, to be kept by.
pub fn key(name: &'static str, mode: Mode) -> (&'static str, usize) {
    (name, place(mode))
}

fn row(line: &str) -> Option<(String, Row)> {
    let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
    let [name, by, tries, split, one] = cells.as_slice() else { return None };
    let ([a, b], [c, d]) = (outcomes(split)?, outcomes(one)?);
    let row = Row { by: (*by).to_owned(), tries: (*tries).to_owned(), outcomes: [a, b, c, d] };
    Some((name.trim_matches('`').to_owned(), row))
}

/// A layout's outcomes, with scoped answers and with others.
fn outcomes(cell: &str) -> Option<[Outcome; 2]> {
    let (scoped, others) = cell.split_once(DIFFERS).unwrap_or((cell, cell));
    Some([Outcome::parse(scoped)?, Outcome::parse(others)?])
}

fn cell(outcomes: &[Outcome]) -> String {
    match outcomes {
        [scoped, others] if scoped != others => {
            format!("{}{DIFFERS}{}", scoped.as_str(), others.as_str())
        }
        _ => outcomes.first().map_or("", |outcome| outcome.as_str()).to_owned(),
    }
}

fn counts(rows: impl Iterator<Item = [Outcome; 4]>) -> String {
    let (mut all, mut succeed) = (0, [0; 4]);
    for outcomes in rows {
        all += 1;
        for (count, outcome) in succeed.iter_mut().zip(outcomes) {
            *count += usize::from(outcome == Outcome::Succeeds);
        }
    }
    let [split, split_more, one, one_more] = succeed;
    format!(
        "{all} attacks. In the split layout {split} succeed, with `allow_responses` {split_more}; in one \
         account {one}, with `allow_responses` {one_more}."
    )
}
