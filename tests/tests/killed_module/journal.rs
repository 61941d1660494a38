//! What the handlers wrote down, life after life, and what is wrong with it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read as _;

/// A line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Which life of the module, from 1.
    pub(crate) life: u64,
    /// Which event.
    pub(crate) number: u64,
    pub(crate) what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// A handler began with it.
    Run { interrupted: bool },
    /// It will not end.
    Stuck,
    /// It did its work.
    Done,
    /// The module left in an orderly way; the number is of what its health says was interrupted.
    Closed,
}

impl Entry {
    pub(crate) fn line(&self) -> String {
        let what = match self.what {
            What::Run { interrupted: false } => "run",
            What::Run { interrupted: true } => "again",
            What::Stuck => "stuck",
            What::Done => "done",
            What::Closed => "closed",
        };
        format!("{} {} {what}\n", self.life, self.number)
    }

    fn read(line: &str) -> Self {
        let words: Vec<&str> = line.split(' ').collect();
        let [life, number, what] = words[..] else { panic!("{line}") };
        let what = match what {
            "run" => What::Run { interrupted: false },
            "again" => What::Run { interrupted: true },
            "stuck" => What::Stuck,
            "done" => What::Done,
            "closed" => What::Closed,
            _ => panic!("{line}"),
        };
        Self { life: life.parse().unwrap(), number: number.parse().unwrap(), what }
    }
}

/// The journal as far as it was read.
pub(crate) struct Journal {
    file: File,
    rest: String,
    pub(crate) entries: Vec<Entry>,
}

impl Journal {
    pub(crate) fn of(file: File) -> Self {
        Self { file, rest: String::new(), entries: Vec::new() }
    }

    /// Reads what is new.
    pub(crate) fn read(&mut self) -> &[Entry] {
        self.file.read_to_string(&mut self.rest).unwrap();
        let whole = self.rest.rfind('\n').map_or(0, |end| end + 1);
        let lines: String = self.rest.drain(..whole).collect();
        self.entries.extend(lines.lines().map(Entry::read));
        &self.entries
    }

    /// How many events had their work done.
    pub(crate) fn done(&self) -> u64 {
        let done = self.entries.iter().filter(|entry| entry.what == What::Done);
        done.map(|entry| entry.number).collect::<BTreeSet<_>>().len() as u64
    }

    pub(crate) fn runs(&self) -> usize {
        self.entries.iter().filter(|entry| matches!(entry.what, What::Run { .. })).count()
    }
}

/// Everything that is wrong, where these lives were killed.
pub(crate) fn judge(entries: &[Entry], events: u64, kills: u64, concurrency: usize) -> Vec<String> {
    let mut wrong = Vec::new();
    // Of each event, its runs, and whether its work was done.
    let mut runs: BTreeMap<u64, Vec<(u64, bool)>> = BTreeMap::new();
    let mut done: BTreeMap<u64, u64> = BTreeMap::new();
    let mut stuck = Vec::new();
    for entry in entries {
        match entry.what {
            What::Run { interrupted } => {
                runs.entry(entry.number).or_default().push((entry.life, interrupted));
            }
            What::Done => *done.entry(entry.number).or_default() += 1,
            What::Stuck => stuck.push(entry.number),
            What::Closed => {}
        }
    }
    for event in 0..events {
        if !done.contains_key(&event) {
            wrong.push(format!("event {event} is lost"));
        }
    }
    let mut cut_off: BTreeMap<u64, usize> = BTreeMap::new();
    let mut told: BTreeMap<u64, usize> = BTreeMap::new();
    for (event, runs) in &runs {
        for pair in runs.windows(2) {
            let ((before, _), (life, interrupted)) = (pair[0], pair[1]);
            *cut_off.entry(before).or_default() += 1;
            if !interrupted {
                wrong.push(format!("event {event} ran in life {before} and {life} without a word"));
            }
            if before == life || before > kills {
                wrong.push(format!("event {event} ran again after life {before}, in life {life}"));
            }
        }
        for (life, _) in runs.iter().filter(|(_, interrupted)| *interrupted) {
            *told.entry(*life).or_default() += 1;
        }
    }
    for (life, count) in &cut_off {
        if *count > concurrency {
            wrong.push(format!("{count} events ran again that ran in life {life}"));
        }
    }
    let all: usize = told.values().sum();
    if all > concurrency * usize::try_from(kills).unwrap() {
        wrong.push(format!("{all} runs were told that they are interrupted"));
    }
    for event in stuck {
        if !runs[&event].iter().any(|(_, interrupted)| *interrupted) {
            wrong.push(format!("event {event} never ended, and was not called interrupted"));
        }
    }
    for entry in entries.iter().filter(|entry| entry.what == What::Closed) {
        let told = told.get(&entry.life).copied().unwrap_or_default();
        if entry.number != told as u64 {
            wrong.push(format!(
                "life {} told of {told}, and its health of {}",
                entry.life, entry.number
            ));
        }
    }
    wrong
}
