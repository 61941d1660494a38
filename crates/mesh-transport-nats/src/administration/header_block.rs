//! Headers as the server stores them: `NATS/1.0`, lines `name: value`, an empty line.

use mesh_core::message::{HeaderError, HeaderName, HeaderValue, Headers, is_reserved};

/// Why a block is none of headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum HeaderBlockError {
    /// It does not begin with the line `NATS/1.0`, or that line says more.
    #[error("headers do not begin with the line NATS/1.0")]
    Version,
    /// A line without `:`.
    #[error("headers: a line without `:` at offset {offset}")]
    Colon { offset: usize },
    /// Something after the empty line that ends them.
    #[error("headers: something after their end at offset {offset}")]
    Trailing { offset: usize },
}

/// Reads a block, in order, as an arrival's headers are read: without those that belong to the broker,
/// and without those that no header of the ports can be, which is logged. A stranger's header must not
/// keep a message from being read. White space around a value is not part of it.
pub(super) fn parse(block: &[u8]) -> Result<Headers, HeaderBlockError> {
    let mut lines = Lines { block, at: 0 };
    if lines.next().is_none_or(|(_, line)| line.trim_ascii_end() != b"NATS/1.0") {
        return Err(HeaderBlockError::Version);
    }
    let mut headers = Headers::default();
    for (offset, line) in lines.by_ref() {
        if line.is_empty() {
            break;
        }
        let colon = line.iter().position(|&byte| byte == b':');
        let (name, value) = colon
            .and_then(|at| Some((line.get(..at)?, line.get(at + 1..)?)))
            .ok_or(HeaderBlockError::Colon { offset })?;
        match header(name, value) {
            Ok((name, _)) if is_reserved(name.as_str()) => {}
            Ok((name, value)) => headers.append(name, value),
            Err(error) => tracing::debug!(%error, "a stored header was passed over"),
        }
    }
    if lines.at < block.len() {
        return Err(HeaderBlockError::Trailing { offset: lines.at });
    }
    Ok(headers)
}

#[derive(Debug, thiserror::Error)]
enum NoHeader {
    #[error(transparent)]
    Encoding(#[from] std::str::Utf8Error),
    #[error(transparent)]
    Header(#[from] HeaderError),
}

fn header(name: &[u8], value: &[u8]) -> Result<(HeaderName, HeaderValue), NoHeader> {
    let name = HeaderName::new(std::str::from_utf8(name)?.to_owned())?;
    let value = std::str::from_utf8(value)?.trim_matches([' ', '\t']);
    Ok((name, HeaderValue::new(value.to_owned())?))
}

/// Lines that end with CR LF, each with its offset.
struct Lines<'a> {
    block: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = (usize, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.block.get(self.at..).filter(|rest| !rest.is_empty())?;
        let end = rest.windows(2).position(|pair| pair == b"\r\n");
        let line = rest.get(..end.unwrap_or(rest.len()))?;
        let offset = self.at;
        self.at += line.len() + if end.is_some() { 2 } else { 0 };
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
        let expected = [
            ("X-One", "1"),
            ("x-one", "2"),
            ("a", "k=v, \"é\"; %20"),
            ("empty", ""),
            ("x-one", "3"),
        ];
        assert_eq!(found, expected);
        assert_eq!(read("NATS/1.0\r\n\r\n").unwrap(), []);
    }

    #[test]
    fn the_broker_s_and_those_that_no_header_can_be_are_passed_over_and_no_other() {
        let others = [
            "Nats-Msg-Id: 7",
            "nats-rollup: sub",
            "Nats-Expected-Last-Sequence: 1",
            "a b: c",
            ": c",
            "b: c\u{7}d",
            "b: c\nd: e",
            " b: c",
            "é: c",
            "b: \u{a0}",
        ];
        for other in others {
            let block = format!("NATS/1.0\r\nx: 1\r\n{other}\r\ny: 2\r\n\r\n");
            let found = read(&block).unwrap();
            let expected = [("x", "1"), ("y", "2")].map(|(n, v)| (n.to_owned(), v.to_owned()));
            assert_eq!(found, expected, "{other:?}");
        }
        let headers = parse(b"NATS/1.0\r\nx: \xff\r\n\xff: 1\r\ny: 2\r\n\r\n").unwrap();
        assert_eq!(headers.iter().collect::<Vec<_>>(), [("y", "2")]);
    }

    #[test]
    fn what_is_no_block_is_an_error_that_says_where() {
        for (block, problem) in [
            ("", HeaderBlockError::Version),
            ("NATS/1.0 503\r\n\r\n", HeaderBlockError::Version),
            ("NATS/2.0\r\na: b\r\n\r\n", HeaderBlockError::Version),
            ("a: b\r\n\r\n", HeaderBlockError::Version),
            ("NATS/1.0\r\na: b\r\nc\r\n\r\n", HeaderBlockError::Colon { offset: 16 }),
            ("NATS/1.0\r\na: b\r\n\r\nc: d\r\n", HeaderBlockError::Trailing { offset: 18 }),
        ] {
            assert_eq!(read(block), Err(problem), "{block:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_stands_there_is_read_or_refused(
            block in "(NATS/1.0\r\n)?([a: \r\né\u{0}]|\r\n){0,40}",
        ) {
            if let Ok(headers) = parse(block.as_bytes()) {
                let again: String = headers.iter().map(|(n, v)| format!("{n}: {v}\r\n")).collect();
                let again = parse(format!("NATS/1.0\r\n{again}\r\n").as_bytes());
                prop_assert_eq!(again, Ok(headers));
            }
        }
    }
}
