//! Calls that reach outside the program, found in source text.

/// What may not be named, comments aside. Addresses of `std::net` are plain values; what opens one
/// is not.
const IMPURE: &[&str] = &[
    "SystemTime::now",
    "Instant::now",
    "Timestamp::now(",
    "Zoned::now",
    "Uuid::new_v4",
    "Uuid::now_v7",
    "rand::",
    "getrandom::",
    "std::env",
    "std::fs",
    "TcpStream",
    "TcpListener",
    "UdpSocket",
    "ToSocketAddrs",
    "std::os",
    "std::process",
    "std::thread",
    "io::stdin",
    "io::stdout",
    "io::stderr",
];

/// Modules of `std` that may not stand in a group: `use std::{fs, fmt}`.
const IMPURE_MODULES: &[&str] = &["env", "fs", "os", "process", "thread"];

/// Each with the line it stands on, from 1.
pub(super) fn impure_calls(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_group = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("//") {
            continue;
        }
        for call in IMPURE {
            if stands_in(line, call) {
                found.push((index + 1, (*call).to_owned()));
            }
        }
        let group = match line.find("std::{") {
            Some(start) => {
                in_group = true;
                &line[start..]
            }
            None => line,
        };
        if in_group {
            let words = group.split(|c: char| !is_word(c));
            for module in words.filter(|word| IMPURE_MODULES.contains(word)) {
                found.push((index + 1, format!("std::{module}")));
            }
            in_group = !group.contains(';');
        }
    }
    found
}

/// Whether `call` stands in `line` as whole words.
fn stands_in(line: &str, call: &str) -> bool {
    line.match_indices(call).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + call.len()..].chars().next();
        let open_ended = !call.ends_with(is_word);
        !before.is_some_and(is_word) && (open_ended || !after.is_some_and(is_word))
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
