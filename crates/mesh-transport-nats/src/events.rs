//! What the server says outside any call: the texts of its `-ERR`.

use std::borrow::Cow;

mod quoted;

#[cfg(test)]
mod tests;

/// A `-ERR` of the server, without the quotes around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Notice<'a> {
    /// Something that this account may not do. The connection stays.
    Denied(Denial<'a>),
    /// A subject or filter that the server can't read. The connection stays.
    InvalidSubject,
    /// A message above the server's limit. The connection ends.
    MaximumPayload,
    /// The account has all the subscriptions that it may have. The connection stays.
    MaximumSubscriptions,
    /// The account or the server has all the connections that it may have. The connection ends.
    MaximumConnections,
    /// The user or its password is gone from the server's configuration. The connection ends.
    Revoked,
    /// The log-in's time is over. The connection ends.
    Expired,
    /// The log-in was refused. The connection ends.
    Unauthorised,
    /// The log-in was not finished in the time that the server gives. The connection ends.
    TooLate,
    /// The server had no answer to its pings. The connection ends.
    Stale,
    /// Anything else.
    Other(&'a str),
}

/// What the server does not let this account do. Texts after the names are passed over: servers put
/// more there than one knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Denial<'a> {
    /// Publish there.
    Publish(Cow<'a, str>),
    /// Name this reply address in a publish.
    Reply(Cow<'a, str>),
    /// Subscribe there.
    Subscription {
        subject: Cow<'a, str>,
        queue: Option<Cow<'a, str>>,
        /// It was allowed and delivered, until the server's configuration changed.
        revoked: bool,
    },
}

impl<'a> Notice<'a> {
    /// Reads any text.
    pub(crate) fn parse(text: &'a str) -> Self {
        if let Some(denial) = Denial::parse(text) {
            return Self::Denied(denial);
        }
        let starts = |start: &str| without(text, start).is_some();
        match text {
            _ if starts("Invalid Subject") || starts("Invalid Publish Subject") => {
                Self::InvalidSubject
            }
            _ if starts("Maximum Payload Violation") => Self::MaximumPayload,
            _ if starts("Maximum Subscriptions Exceeded") => Self::MaximumSubscriptions,
            _ if starts("Maximum Connections Exceeded")
                || starts("Maximum Account Active Connections Exceeded") =>
            {
                Self::MaximumConnections
            }
            _ if starts("User Authentication Revoked") => Self::Revoked,
            _ if starts("User Authentication Expired")
                || starts("Account Authentication Expired") =>
            {
                Self::Expired
            }
            _ if starts("Authorization Violation") => Self::Unauthorised,
            _ if starts("Authentication Timeout") => Self::TooLate,
            _ if starts("Stale Connection") => Self::Stale,
            _ => Self::Other(text),
        }
    }
}

impl<'a> Denial<'a> {
    /// `Permissions Violation for …`, or `None` for any other text.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let what = without(text, "Permissions Violation for ")?;
        if let Some(subject) = without(what, "Publish to ") {
            return quoted::read(subject).map(|(subject, _)| Self::Publish(subject));
        }
        if let Some(reply) = without(what, "Publish with Reply of ") {
            return quoted::read(reply).map(|(reply, _)| Self::Reply(reply));
        }
        let (subject, rest) = quoted::read(without(what, "Subscription to ")?)?;
        let (queue, rest) = match without(rest, " using queue ").and_then(quoted::read) {
            Some((queue, rest)) => (Some(queue), rest),
            None => (None, rest),
        };
        let revoked = without(rest, " (sid ").is_some();
        Some(Self::Subscription { subject, queue, revoked })
    }
}

/// What follows `start`, whose letters may be of either case.
fn without<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    let (found, rest) = text.split_at_checked(start.len())?;
    found.eq_ignore_ascii_case(start).then_some(rest)
}
