//! What a wire carried.

use std::collections::BTreeMap;

/// A message, without where it came from and what the transport added for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Captured {
    what: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Captured {
    /// A message on `what`: a subject, or an answer, whose address is the transport's affair.
    pub(crate) fn new(
        what: impl Into<String>,
        headers: impl IntoIterator<Item = (String, String)>,
        body: Vec<u8>,
    ) -> Self {
        let mut all = BTreeMap::new();
        for (name, value) in headers {
            let twice = all.insert(name.clone(), value);
            assert_eq!(twice, None, "{name} came twice");
        }
        Self { what: what.into(), headers: all, body }
    }

    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub(crate) fn body(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

/// Events first, then calls with their answers: what comes over several lines is told apart by nobody.
pub(crate) fn sorted(
    events: Vec<Captured>,
    calls: Vec<Captured>,
    answers: Vec<Captured>,
) -> Vec<Captured> {
    assert_eq!(calls.len(), answers.len(), "{calls:?} {answers:?}");
    let pairs = calls.into_iter().zip(answers).flat_map(|(call, answer)| [call, answer]);
    events.into_iter().chain(pairs).collect()
}
