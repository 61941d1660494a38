//! The grammars that names are made of: one function a grammar, each telling what is wrong and where.

use super::NameProblem;

/// `[a-z0-9][a-z0-9-]{0,62}`: nodes, modules, people.
pub(super) fn label(text: &str) -> Result<(), NameProblem> {
    token(text, |c, first| {
        c.is_ascii_lowercase() || c.is_ascii_digit() || (!first && c == '-')
    })
}

/// `[A-Za-z0-9][A-Za-z0-9_-]{0,62}`: tools, commands, and the tokens of an event.
pub(super) fn word(text: &str) -> Result<(), NameProblem> {
    token(text, |c, first| {
        c.is_ascii_alphanumeric() || (!first && matches!(c, '-' | '_'))
    })
}

/// One or more words joined by `.`, at most 200 bytes.
pub(super) fn words(text: &str) -> Result<(), NameProblem> {
    const MAX: usize = 200;
    let mut start = 0;
    for part in text.split('.') {
        word(part).map_err(|problem| shifted(problem, start))?;
        start += part.len() + 1;
    }
    at_most(text, MAX)
}

/// A realm: UTF-8 labels joined by `.`, without white space, control characters or `/ * > # %`.
///
/// At most 237 bytes verbatim, so that `mx/route/1/<realm>/00` stays within 255; the escaped
/// legacy mailbox is held to the same limit by [`RealmName`](super::RealmName).
pub(super) fn realm(text: &str) -> Result<(), NameProblem> {
    let mut empty = true;
    for (offset, c) in text.char_indices() {
        match c {
            '.' if empty => return Err(NameProblem::Empty { offset }),
            '.' => empty = true,
            '/' | '*' | '>' | '#' | '%' => return Err(NameProblem::Character { found: c, offset }),
            c if c.is_whitespace() || c.is_control() => {
                return Err(NameProblem::Character { found: c, offset });
            }
            _ => empty = false,
        }
    }
    if empty {
        return Err(NameProblem::Empty { offset: text.len() });
    }
    // The longest topics of a realm: "mx/route/1/" + realm + "/00", "public.ingress." + mxesc1(realm).
    const TOPIC: usize = crate::subject::MAX_SUBJECT_BYTES;
    at_most(text, TOPIC - "mx/route/1//00".len())?;
    let escaped: usize = text
        .bytes()
        .map(|b| if is_unescaped(b) { 1 } else { 3 })
        .sum();
    let max = TOPIC - "public.ingress.".len();
    if escaped > max {
        return Err(NameProblem::TooLong {
            max,
            found: escaped,
        });
    }
    Ok(())
}

/// The bytes that mxesc1 keeps as they are (protocol §8).
fn is_unescaped(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~')
}

fn token(text: &str, allowed: impl Fn(char, bool) -> bool) -> Result<(), NameProblem> {
    const MAX: usize = 63;
    if text.is_empty() {
        return Err(NameProblem::Empty { offset: 0 });
    }
    for (offset, found) in text.char_indices() {
        if !allowed(found, offset == 0) {
            return Err(NameProblem::Character { found, offset });
        }
    }
    at_most(text, MAX)
}

fn at_most(text: &str, max: usize) -> Result<(), NameProblem> {
    if text.len() > max {
        return Err(NameProblem::TooLong {
            max,
            found: text.len(),
        });
    }
    Ok(())
}

fn shifted(problem: NameProblem, by: usize) -> NameProblem {
    match problem {
        NameProblem::Empty { offset } => NameProblem::Empty {
            offset: offset + by,
        },
        NameProblem::Character { found, offset } => NameProblem::Character {
            found,
            offset: offset + by,
        },
        other => other,
    }
}
