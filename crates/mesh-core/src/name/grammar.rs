//! The grammars that names are made of: one function a grammar, each telling what is wrong and where.

use super::NameProblem;

/// `[a-z0-9][a-z0-9-]{0,62}`: nodes, modules, people.
pub(super) fn label(text: &str) -> Result<(), NameProblem> {
    token(text, |c, first| c.is_ascii_lowercase() || c.is_ascii_digit() || (!first && c == '-'))
}

/// `[A-Za-z0-9][A-Za-z0-9_-]{0,62}`: tools, commands, and the tokens of an event.
pub(super) fn word(text: &str) -> Result<(), NameProblem> {
    token(text, |c, first| c.is_ascii_alphanumeric() || (!first && matches!(c, '-' | '_')))
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
/// At most 210 bytes verbatim, so that `mx/1/<realm>/_reply.<32 digits>` stays within 255; the escaped
/// legacy mailbox is held to the same limit by [`RealmName`](super::RealmName).
pub(crate) fn realm(text: &str) -> Result<(), NameProblem> {
    let mut label = 0;
    let mut ascii = true;
    for (offset, byte) in text.bytes().enumerate() {
        if byte == b'.' {
            if offset == label {
                return Err(NameProblem::Empty { offset });
            }
            label = offset + 1;
        } else if byte == b'/' || is_barred(byte) {
            let found = byte.into();
            return Err(NameProblem::Character { found, offset });
        }
        ascii &= byte.is_ascii();
    }
    if !ascii {
        printable(text)?;
    }
    if label == text.len() {
        return Err(NameProblem::Empty { offset: label });
    }
    // The longest topics of a realm: its internal replies, and "public.ingress." + mxesc1(realm).
    const TOPIC: usize = crate::subject::MAX_SUBJECT_BYTES;
    at_most(text, TOPIC - "mx/1//_reply.".len() - 32)?;
    let max = TOPIC - "public.ingress.".len();
    // No byte is escaped to more than three.
    if text.len() <= max / 3 {
        return Ok(());
    }
    let found = crate::mx::escape::encoded_len(text);
    if found > max {
        return Err(NameProblem::TooLong { max, found });
    }
    Ok(())
}

/// The ASCII bytes that no realm and no part of a path holds: `* > # %`, white space, controls.
pub(crate) const fn is_barred(byte: u8) -> bool {
    const BARRED: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = 0;
        while byte <= 0x7f {
            table[byte] = matches!(byte as u8, b'*' | b'>' | b'#' | b'%' | 0..=b' ' | 0x7f);
            byte += 1;
        }
        table
    };
    BARRED[byte as usize]
}

/// Refuses white space and control characters, those outside ASCII too.
pub(crate) fn printable(text: &str) -> Result<(), NameProblem> {
    let odd = |&(_, c): &(usize, char)| c.is_whitespace() || c.is_control();
    match text.char_indices().find(odd) {
        Some((offset, found)) => Err(NameProblem::Character { found, offset }),
        None => Ok(()),
    }
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
        return Err(NameProblem::TooLong { max, found: text.len() });
    }
    Ok(())
}

fn shifted(problem: NameProblem, by: usize) -> NameProblem {
    match problem {
        NameProblem::Empty { offset } => NameProblem::Empty { offset: offset + by },
        NameProblem::Character { found, offset } => {
            NameProblem::Character { found, offset: offset + by }
        }
        other => other,
    }
}
