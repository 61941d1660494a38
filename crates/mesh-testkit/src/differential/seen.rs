use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::pin::pin;

use futures_util::FutureExt as _;
use mesh_core::port::{Incoming, ReceiveError, TransportError};

/// What can be seen of a broker, each thing under its name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Seen(BTreeMap<String, String>);

impl Seen {
    pub(super) fn note(&mut self, what: impl Display, is: impl Display) {
        self.0.insert(what.to_string(), is.to_string());
    }

    /// The same as a list.
    pub(super) fn list(&mut self, what: impl Display, items: &[impl Display]) {
        let items: Vec<_> = items.iter().map(ToString::to_string).collect();
        self.note(what, format_args!("[{}]", items.join(", ")));
    }
}

/// A broker as it looks.
pub(super) struct Look {
    pub(super) seen: Seen,
    /// What it is about to do, if it has not come to rest.
    pub(super) waits_for: Option<String>,
}

/// What two brokers show differently; nothing if they look the same.
pub(super) struct Apart<'a>(pub(super) &'a Seen, pub(super) &'a Seen);

impl Display for Apart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(Seen(first), Seen(second)) = self;
        let mut names: Vec<_> = first.keys().chain(second.keys()).collect();
        names.sort_unstable();
        names.dedup();
        let mut joint = "";
        for name in names {
            let (one, other) = (first.get(name), second.get(name));
            if one != other {
                let [one, other] = [one, other].map(|is| is.map_or("nothing", String::as_str));
                write!(f, "{joint}{name}: the first {one}, the second {other}")?;
                joint = "; ";
            }
        }
        Ok(())
    }
}

/// What a call came to. Of an error, all that the contract says of errors.
pub(super) fn outcome<T>(
    result: Result<T, TransportError>,
    say: impl FnOnce(T) -> String,
) -> String {
    match result {
        Ok(value) => say(value),
        Err(error) => said(&error),
    }
}

pub(super) fn said(error: &TransportError) -> String {
    let about = masked(error.subject().unwrap_or("nothing"));
    let again = if error.may_retry() { ", may pass" } else { "" };
    format!("{} of {about}: {}{again}", error.operation(), error.kind())
}

/// A subject; an inbox address without what is random in it.
pub(super) fn masked(subject: &str) -> String {
    match subject.rsplit_once('.') {
        Some((inbox, _)) if inbox.starts_with("_INBOX.") => format!("{inbox}.*"),
        _ => subject.to_owned(),
    }
}

pub(super) fn done<T>(result: Result<T, TransportError>) -> String {
    outcome(result, |_| "done".to_owned())
}

/// What has arrived by now, and the end if it ended. Of a broker that never stops, enough to see that.
pub(super) fn arrived<T>(incoming: &mut Incoming<T>) -> Vec<Option<Result<T, ReceiveError>>> {
    const ENOUGH: usize = 1000;
    let (mut all, mut over) = (Vec::new(), false);
    while all.len() < ENOUGH
        && !over
        && let Some(item) = pin!(incoming.next()).now_or_never()
    {
        over = match &item {
            Some(Err(word)) => word.is_terminal(),
            Some(Ok(_)) => false,
            None => true,
        };
        all.push(item);
    }
    all
}

/// What a reader was told beside arrivals.
pub(super) fn told(word: &ReceiveError) -> String {
    match word {
        ReceiveError::Ended(error) => format!("ended: {}", said(error)),
        other => other.to_string(),
    }
}
