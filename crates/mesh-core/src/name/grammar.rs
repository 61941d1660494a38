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
    realm_before::<false>(text).map(|_| ())
}

/// The realm that a URI's authority spells as it is, without escapes: how many bytes stand before
/// the `/` that ends it. `None`: no such realm, or something else is said there.
#[inline]
pub(crate) fn realm_in_uri(authority: &str) -> Option<usize> {
    realm_before::<true>(authority).ok().filter(|&end| end < authority.len())
}

/// `URI`: a `/` ends the realm, and what means something else in an authority is refused.
#[inline]
fn realm_before<const URI: bool>(text: &str) -> Result<usize, NameProblem> {
    let bytes = text.as_bytes();
    let mut end = bytes.len();
    let mut label = 0;
    let mut ascii = true;
    let mut next = 0;
    while let Some((offset, byte, class)) = special(bytes, next) {
        next = offset + 1;
        match class {
            Class::Plain => {}
            Class::Dot if offset == label => return Err(NameProblem::Empty { offset }),
            Class::Dot => label = next,
            Class::Wide => ascii = false,
            Class::Mark if !URI => {}
            Class::Slash if URI => {
                end = offset;
                break;
            }
            Class::Slash | Class::Mark | Class::Barred => {
                return Err(NameProblem::Character { found: byte.into(), offset });
            }
        }
    }
    let text = &text[..end];
    if !ascii {
        printable(text)?;
    }
    if label == end {
        return Err(NameProblem::Empty { offset: label });
    }
    // The longest topics of a realm: its internal replies, and "public.ingress." + mxesc1(realm).
    const TOPIC: usize = crate::subject::MAX_SUBJECT_BYTES;
    at_most(text, TOPIC - "mx/1//_reply.".len() - 32)?;
    let max = TOPIC - "public.ingress.".len();
    // No byte is escaped to more than three.
    if end <= max / 3 {
        return Ok(end);
    }
    let found = crate::mx::escape::encoded_len(text);
    if found > max {
        return Err(NameProblem::TooLong { max, found });
    }
    Ok(end)
}

/// What a byte means to realms and paths.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Plain,
    /// `.`
    Dot,
    /// `/`
    Slash,
    /// `@ : ?`, plain but for a URI.
    Mark,
    /// What no realm and no part of a path holds: `* > # %`, white space, controls.
    Barred,
    /// Part of a character outside ASCII.
    Wide,
}

/// The first byte from `from` on that is not plain, with its offset.
#[inline]
pub(crate) fn special(bytes: &[u8], from: usize) -> Option<(usize, u8, Class)> {
    const CLASSES: [Class; 256] = {
        let mut table = [Class::Plain; 256];
        let mut byte = 0;
        while byte < 256 {
            table[byte] = match byte as u8 {
                b'.' => Class::Dot,
                b'/' => Class::Slash,
                b'@' | b':' | b'?' => Class::Mark,
                b'*' | b'>' | b'#' | b'%' | 0..=b' ' | 0x7f => Class::Barred,
                0x80.. => Class::Wide,
                _ => Class::Plain,
            };
            byte += 1;
        }
        table
    };
    for (offset, &byte) in bytes.iter().enumerate().skip(from) {
        let class = CLASSES[usize::from(byte)];
        if class != Class::Plain {
            return Some((offset, byte, class));
        }
    }
    None
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
