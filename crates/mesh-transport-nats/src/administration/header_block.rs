//! Headers as the server stores them: `NATS/1.0`, lines `name: value`, an empty line.

use mesh_core::message::{HeaderError, HeaderName, HeaderValue, Headers};

/// Why a block of headers can't be read. Nothing of it is left out: what a header of ours can't hold is
/// an error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum HeaderBlockError {
    /// It does not begin with the line `NATS/1.0`, or that line says more.
    #[error("headers do not begin with the line NATS/1.0")]
    Version,
    /// Not UTF-8 from here on.
    #[error("headers: no UTF-8 at offset {offset}")]
    Encoding { offset: usize },
    /// A line without `:`.
    #[error("headers: a line without `:` at offset {offset}")]
    Colon { offset: usize },
    /// A name or value that a header can't have.
    #[error("header at offset {offset}: {problem}")]
    Header { offset: usize, problem: HeaderError },
    /// Something after the empty line that ends them.
    #[error("headers: something after their end at offset {offset}")]
    Trailing { offset: usize },
}

/// Reads a block. White space around a value is not part of it.
pub(super) fn parse(block: &[u8]) -> Result<Headers, HeaderBlockError> {
    let text = std::str::from_utf8(block)
        .map_err(|error| HeaderBlockError::Encoding { offset: error.valid_up_to() })?;
    let mut lines = Lines { text, at: 0 };
    if lines.next().is_none_or(|(_, line)| line.trim_end() != "NATS/1.0") {
        return Err(HeaderBlockError::Version);
    }
    let mut headers = Headers::default();
    for (offset, line) in lines.by_ref() {
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or(HeaderBlockError::Colon { offset })?;
        let value = value.trim_matches([' ', '\t']);
        let refused = |problem| HeaderBlockError::Header { offset, problem };
        headers.append(
            HeaderName::new(name.to_owned()).map_err(refused)?,
            HeaderValue::new(value.to_owned()).map_err(refused)?,
        );
    }
    if lines.at < text.len() {
        return Err(HeaderBlockError::Trailing { offset: lines.at });
    }
    Ok(headers)
}

/// Lines that end with CR LF, each with its offset.
struct Lines<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let (line, ended) = rest.split_once("\r\n").map_or((rest, 0), |(line, _)| (line, 2));
        let offset = self.at;
        self.at += line.len() + ended;
        Some((offset, line))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(block: &str) -> Result<Vec<(String, String)>, HeaderBlockError> {
        let headers = parse(block.as_bytes())?;
        Ok(headers.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    #[test]
    fn headers_are_read_in_order_with_their_case_and_their_repeats() {
        let block = "NATS/1.0\r\nX-One: 1\r\nx-one:2\r\na: k=v, \"é\"; %20\r\nempty:\r\nx-one: \t3 \r\n\r\n";
        let found = read(block).unwrap();
        let found: Vec<_> = found.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(
            found,
            [
                ("X-One", "1"),
                ("x-one", "2"),
                ("a", "k=v, \"é\"; %20"),
                ("empty", ""),
                ("x-one", "3")
            ]
        );
        assert_eq!(read("NATS/1.0\r\n\r\n").unwrap(), []);
    }

    #[test]
    fn what_a_header_can_not_hold_is_an_error_that_says_where() {
        let header = |name: &str, value: &str| {
            HeaderName::new(name.to_owned())
                .err()
                .or_else(|| HeaderValue::new(value.to_owned()).err())
        };
        let refused = |offset, name, value| HeaderBlockError::Header {
            offset,
            problem: header(name, value).unwrap(),
        };
        for (block, problem) in [
            ("", HeaderBlockError::Version),
            ("NATS/1.0 503\r\n\r\n", HeaderBlockError::Version),
            ("NATS/2.0\r\na: b\r\n\r\n", HeaderBlockError::Version),
            ("a: b\r\n\r\n", HeaderBlockError::Version),
            ("NATS/1.0\r\na: b\r\nc\r\n\r\n", HeaderBlockError::Colon { offset: 16 }),
            ("NATS/1.0\r\na b: c\r\n\r\n", refused(10, "a b", "c")),
            ("NATS/1.0\r\n: c\r\n\r\n", refused(10, "", "c")),
            ("NATS/1.0\r\na: b\u{7}c\r\n\r\n", refused(10, "a", "b\u{7}c")),
            ("NATS/1.0\r\na: b\nc: d\r\n\r\n", refused(10, "a", "b\nc: d")),
            ("NATS/1.0\r\na: b\r\n c: d\r\n\r\n", refused(16, " c", "d")),
            ("NATS/1.0\r\na: b\r\n\r\nc: d\r\n", HeaderBlockError::Trailing { offset: 18 }),
        ] {
            assert_eq!(read(block), Err(problem), "{block:?}");
        }
        let block = b"NATS/1.0\r\na: \xff\r\n\r\n";
        assert_eq!(parse(block), Err(HeaderBlockError::Encoding { offset: 13 }));
    }

    proptest! {
        #[test]
        fn whatever_stands_there_is_read_or_refused(block in "(NATS/1.0\r\n)?([a: \r\né\u{0}]|\r\n){0,40}") {
            if let Ok(headers) = parse(block.as_bytes()) {
                let again: String = headers.iter().map(|(n, v)| format!("{n}: {v}\r\n")).collect();
                let again = parse(format!("NATS/1.0\r\n{again}\r\n").as_bytes());
                prop_assert_eq!(again, Ok(headers));
            }
        }
    }
}
