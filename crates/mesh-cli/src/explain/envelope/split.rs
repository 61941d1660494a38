//! From a capture's bytes to its messages.
//!
//! | form | how it is known |
//! |---|---|
//! | what `nats sub` prints | a line `[#1] Received on "subject"` |
//! | what `nats sub --dump` writes | a JSON object with `Subject` and `Data`; one each, or parted by NUL |
//! | headers, an empty line, the body | it begins with `name: value` |
//! | a JSON document a line | the first line is one, or each line begins with `{` |
//! | one document | anything else |
//!
//! What `nats sub` prints doesn't say where headers end if there are none: a body that begins with
//! `name: value` is taken for headers. What it dumps is exact.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mesh_core::json::RawJson;
use serde::Deserialize;

use super::capture::{Capture, Header, HeaderLine};

/// The messages; none, where there is nothing but white space.
pub(super) fn split(bytes: &[u8]) -> Vec<Capture<'_>> {
    let mut captures = Vec::new();
    for part in parts(bytes) {
        for capture in messages(bytes, part) {
            captures.push(Capture { number: captures.len() + 1, ..capture });
        }
    }
    captures
}

/// A stretch of the capture.
#[derive(Debug, Clone, Copy)]
struct Part {
    from: usize,
    to: usize,
    /// At which it begins, from 1.
    line: usize,
}

impl Part {
    fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.from..self.to).unwrap_or_default()
    }

    /// Without white space around it.
    fn trimmed(self, bytes: &[u8]) -> Self {
        let text = self.of(bytes);
        let cut = text.len() - text.trim_ascii_start().len();
        let to = self.to - (text.len() - text.trim_ascii_end().len());
        let line = self.line + newlines(text.get(..cut).unwrap_or_default());
        let from = self.from + cut;
        Self { from, to: to.max(from), line }
    }

    fn is_blank(self, bytes: &[u8]) -> bool {
        self.of(bytes).trim_ascii().is_empty()
    }

    /// What `at` parts it into.
    fn cut(self, bytes: &[u8], at: u8) -> Vec<Self> {
        let (mut from, mut line) = (self.from, self.line);
        let mut found = Vec::new();
        for part in self.of(bytes).split(|b| *b == at) {
            found.push(Self { from, to: from + part.len(), line });
            from += part.len() + 1;
            line += newlines(part) + usize::from(at == b'\n');
        }
        found
    }
}

fn newlines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|b| **b == b'\n').count()
}

/// What NULs part; all of it, where there are none.
fn parts(bytes: &[u8]) -> Vec<Part> {
    let whole = Part { from: 0, to: bytes.len(), line: 1 };
    whole.cut(bytes, b'\0').into_iter().filter(|part| !part.is_blank(bytes)).collect()
}

fn messages(bytes: &[u8], part: Part) -> Vec<Capture<'_>> {
    let lines = part.cut(bytes, b'\n');
    let is_start = |line: &Part| received(line.of(bytes)).is_some();
    if let Some(first) = lines.iter().position(is_start) {
        // Before the first stands what the program says of itself.
        let blocks = lines.get(first..).unwrap_or_default().chunk_by(|_, next| !is_start(next));
        return blocks.map(|block| printed(bytes, block)).collect();
    }
    let first = lines.iter().position(|line| !line.is_blank(bytes)).unwrap_or_default();
    if lines.get(first).and_then(|line| header(line.of(bytes))).is_some() {
        let lines = lines.get(first..).unwrap_or_default();
        return vec![with_headers(bytes, lines, Capture::default())];
    }
    let whole = part.trimmed(bytes);
    if is_json(whole.of(bytes)) {
        return vec![document(bytes, whole)];
    }
    let filled: Vec<Part> =
        lines.iter().filter(|line| !line.is_blank(bytes)).map(|line| line.trimmed(bytes)).collect();
    let first_is_json = filled.first().is_some_and(|line| is_json(line.of(bytes)));
    let all_begin = || filled.iter().all(|line| line.of(bytes).starts_with(b"{"));
    if filled.len() > 1 && (first_is_json || all_begin()) {
        return filled.into_iter().map(|line| document(bytes, line)).collect();
    }
    // A byte-order mark or a control character stays, to be told of.
    vec![document(bytes, whole)]
}

fn is_json(bytes: &[u8]) -> bool {
    RawJson::from_slice(bytes, usize::MAX).is_ok()
}

fn document(bytes: &[u8], part: Part) -> Capture<'_> {
    let body = part.of(bytes);
    let (offset, line) = (part.from, part.line);
    match dumped(body) {
        Some(dumped) => Capture { offset, line, ..dumped },
        None => Capture { offset, line, body: Cow::Borrowed(body), ..Capture::default() },
    }
}

/// `nats sub --dump`: Go's JSON of a message, the body in base64.
#[derive(Deserialize)]
struct Dumped {
    #[serde(rename = "Subject")]
    subject: String,
    #[serde(rename = "Reply", default)]
    reply: Option<String>,
    #[serde(rename = "Header", default)]
    header: Option<BTreeMap<String, Vec<String>>>,
    #[serde(rename = "Data")]
    data: Option<String>,
}

fn dumped(body: &[u8]) -> Option<Capture<'static>> {
    let message: Dumped = serde_json::from_slice(body).ok()?;
    let data = STANDARD.decode(message.data.unwrap_or_default()).ok()?;
    let headers = message.header.unwrap_or_default().into_iter();
    let headers = headers.flat_map(|(name, values)| {
        values.into_iter().map(move |value| Header { name: name.clone(), value, line: None })
    });
    Some(Capture {
        encoded: true,
        subject: Some(message.subject),
        reply: message.reply.filter(|reply| !reply.is_empty()),
        headers: headers.collect(),
        body: Cow::Owned(data),
        ..Capture::default()
    })
}

/// What `[#1] Received on "subject" with reply "reply"` says, and its forms for JetStream.
fn received(line: &[u8]) -> Option<(String, Option<String>)> {
    let line = std::str::from_utf8(line).ok()?.trim_end();
    let (number, rest) = line.strip_prefix("[#")?.split_once("] ")?;
    number.parse::<u64>().ok()?;
    let rest = rest.strip_prefix("Received ").or_else(|| rest.strip_prefix("Matched reply "))?;
    if let Some(quoted) = rest.strip_prefix("on ") {
        let (subject, reply) = match quoted.split_once("\" with reply \"") {
            Some((subject, reply)) => (subject, Some(reply)),
            None => (quoted, None),
        };
        let unquoted = |text: &str| text.trim_matches('"').to_owned();
        return Some((unquoted(subject), reply.map(unquoted)));
    }
    let (_, subject) = rest.strip_prefix("JetStream message: ")?.split_once("/ subject: ")?;
    let subject = subject.split_once(" /").map_or(subject, |(subject, _)| subject);
    Some((subject.to_owned(), None))
}

/// One that was printed below its line.
fn printed<'a>(bytes: &'a [u8], lines: &[Part]) -> Capture<'a> {
    let Some((first, rest)) = lines.split_first() else {
        return Capture::default();
    };
    let (subject, reply) = received(first.of(bytes)).unwrap_or_default();
    let (offset, line) = (first.to, first.line);
    let told = Capture { subject: Some(subject), reply, offset, line, ..Capture::default() };
    with_headers(bytes, rest, told)
}

/// Headers, if the first line is one, then an empty line, then the body.
fn with_headers<'a>(bytes: &'a [u8], lines: &[Part], mut capture: Capture<'a>) -> Capture<'a> {
    let named: Vec<Header> = lines.iter().map_while(|line| header_at(bytes, *line)).collect();
    let rest = lines.get(named.len()..).unwrap_or_default();
    let skipped = usize::from(!named.is_empty() && rest.first().is_some_and(|l| l.is_blank(bytes)));
    for header in named {
        if header.is("subject") {
            capture.subject = Some(header.value);
        } else if header.is("reply") {
            capture.reply = Some(header.value);
        } else {
            capture.headers.push(header);
        }
    }
    let body = rest.get(skipped..).unwrap_or_default();
    if let (Some(first), Some(last)) = (body.first(), body.last()) {
        let body = Part { to: last.to, ..*first }.trimmed(bytes);
        capture.offset = body.from;
        capture.line = body.line;
        capture.body = Cow::Borrowed(body.of(bytes));
    }
    capture
}

fn header_at(bytes: &[u8], line: Part) -> Option<Header> {
    let (name, value) = header(line.of(bytes))?;
    let text = String::from_utf8_lossy(line.of(bytes)).into_owned();
    let behind = text.get(name.len() + 1..).unwrap_or_default();
    let start = name.len() + 1 + (behind.len() - behind.trim_start().len());
    Some(Header {
        name: name.to_owned(),
        value: value.to_owned(),
        line: Some(HeaderLine { text, offset: line.from, number: line.line, value: start }),
    })
}

/// `name: value`, with a name that a header may have.
fn header(line: &[u8]) -> Option<(&str, &str)> {
    let (name, value) = std::str::from_utf8(line).ok()?.trim_end_matches('\r').split_once(':')?;
    let good = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    (!name.is_empty() && name.bytes().all(good)).then(|| (name, value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(text: &str) -> Vec<(usize, String)> {
        let captures = split(text.as_bytes());
        let read = |capture: &Capture<'_>| String::from_utf8(capture.body.to_vec()).unwrap();
        captures.iter().map(|capture| (capture.line, read(capture))).collect()
    }

    #[test]
    fn a_document_may_have_lines_and_lines_may_be_documents() {
        let whole = |text: &str| vec![(1, text.to_owned())];
        assert_eq!(bodies(" \n\n"), []);
        assert_eq!(bodies("{\n  \"a\": 1\n}\n"), whole("{\n  \"a\": 1\n}"));
        assert_eq!(
            bodies("{\"a\":1}\n\n{\"b\":2}\n"),
            [(1, "{\"a\":1}".into()), (3, "{\"b\":2}".into())]
        );
        assert_eq!(
            bodies("{\"a\":1}\nnonsense"),
            [(1, "{\"a\":1}".into()), (2, "nonsense".into())]
        );
        assert_eq!(bodies("{\"a\":\n{\"b\":2}"), [(1, "{\"a\":".into()), (2, "{\"b\":2}".into())]);
        assert_eq!(bodies("{\"a\":{}\n \"b\":2}"), whole("{\"a\":{}\n \"b\":2}"));
    }

    #[test]
    fn headers_come_before_an_empty_line() {
        let text = "subject: mesh.events.mail.sent\r\nX-Event-Id: e:1\r\n\r\n{\"a\":\r\n1}\r\n";
        let captures = split(text.as_bytes());
        let [capture] = captures.as_slice() else { panic!("{captures:?}") };
        assert_eq!(capture.subject.as_deref(), Some("mesh.events.mail.sent"));
        assert_eq!(capture.pairs().collect::<Vec<_>>(), [("X-Event-Id", "e:1")]);
        let place = capture.headers[0].place(1);
        assert_eq!((place.offset, place.line, place.column), (45, 2, 14));
        assert_eq!((capture.line, &*capture.body), (4, &b"{\"a\":\r\n1}"[..]));
    }

    #[test]
    fn what_nats_sub_prints_is_read() {
        let text = "12:00:00 Subscribing on mesh.>\n[#1] Received on \"mesh.events.mail.sent\"\n\
                    x-event-id: e-1\nx-source: mail\n\n{\"to\":\"bob\"}\n\n\
                    [#2] Received on \"mesh.tools.mail.send\" with reply \"_INBOX.a.b\"\n{}\n\n\
                    [#3] Received JetStream message: stream: EVENTS seq 7 / subject: a.b / time: 2026\nx\n\n\
                    [#4] Received on \"empty\"\n";
        let captures = split(text.as_bytes());
        let told: Vec<_> = captures
            .iter()
            .map(|c| (c.number, c.line, c.subject.as_deref().unwrap(), c.headers.len(), &*c.body))
            .collect();
        assert_eq!(
            told,
            [
                (1, 6, "mesh.events.mail.sent", 2, &b"{\"to\":\"bob\"}"[..]),
                (2, 9, "mesh.tools.mail.send", 0, b"{}"),
                (3, 12, "a.b", 0, b"x"),
                (4, 15, "empty", 0, b""),
            ]
        );
        assert_eq!(captures[1].reply.as_deref(), Some("_INBOX.a.b"));
    }

    #[test]
    fn what_nats_sub_dumps_is_read_with_its_bytes() {
        let one =
            r#"{"Subject":"a.b","Reply":"","Header":{"X-A":["1","2"]},"Data":"eyI=","Sub":null}"#;
        let text = format!("{one}\0{{\"Subject\":\"c\",\"Data\":null}}\0");
        let captures = split(text.as_bytes());
        assert_eq!(captures.len(), 2);
        assert_eq!((&*captures[0].body, captures[0].headers.len()), (&b"{\""[..], 2));
        assert_eq!((captures[0].encoded, captures[0].reply.as_deref()), (true, None));
        assert_eq!((captures[1].number, captures[1].offset), (2, one.len() + 1));
    }
}
