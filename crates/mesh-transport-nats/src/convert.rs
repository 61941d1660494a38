//! Messages of the ports and of the client library, one into the other.

use async_nats::HeaderMap;
use async_nats::message::OutboundMessage;
use mesh_core::message::{HeaderName, HeaderValue, Headers, Message, MessageParts, is_reserved};
use mesh_core::subject::{Filter, Subject};

/// The headers as the client library wants them.
///
/// Names and values were checked when they were made, so none of them makes the library panic, and what
/// is sent names none twice.
pub(crate) fn headers_out(headers: &Headers) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in headers.entries() {
        match name.as_static() {
            Some(name) => map.insert(async_nats::HeaderName::from_static(name), value.as_str()),
            None => map.insert(name.as_str(), value.as_str()),
        }
    }
    map
}

/// The message as the client library sends it.
pub(crate) fn message_out(
    message: &Message,
    subject: &async_nats::Subject,
    reply: Option<async_nats::Subject>,
) -> OutboundMessage {
    let headers = message.headers();
    OutboundMessage {
        subject: subject.clone(),
        reply,
        payload: message.payload().clone(),
        headers: (!headers.is_empty()).then(|| headers_out(headers)),
    }
}

/// The subject that came last. Many messages come with the same, and share it then.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    last: Option<Subject>,
    filter: Option<Filter>,
}

impl Recent {
    /// One for what was subscribed to with this filter. The client library hands on what matches it not: it
    /// takes spaces for the end of a subject that are none to the server, and what follows for the number
    /// of a subscription.
    pub(crate) fn of(filter: &Filter) -> Self {
        Self { last: None, filter: Some(filter.clone()) }
    }

    /// The text as a subject, if it is one that can be here.
    pub(crate) fn subject(&mut self, text: &str) -> Option<Subject> {
        match &self.last {
            Some(last) if last.as_str() == text => {}
            _ => {
                let subject = Subject::new(text).ok()?;
                if self.filter.as_ref().is_some_and(|filter| !filter.matches(&subject)) {
                    return None;
                }
                self.last = Some(subject);
            }
        }
        self.last.clone()
    }
}

/// The message as the ports know it, without what belongs to the broker; its subject alone if that or
/// the reply address can't be represented.
pub(crate) fn message_in(
    message: async_nats::Message,
    with_reply: bool,
    recent: &mut Recent,
) -> Result<Message, async_nats::Subject> {
    let Some(subject) = recent.subject(&message.subject) else { return Err(message.subject) };
    let reply = match message.reply.filter(|_| with_reply).map(|reply| Subject::new(&*reply)) {
        Some(Ok(reply)) => Some(reply),
        Some(Err(_)) => return Err(message.subject),
        None => None,
    };
    let headers = match message.headers {
        Some(map) => headers_in(&map),
        None => Headers::default(),
    };
    Ok(MessageParts { subject, reply, headers, payload: message.payload }.into())
}

/// Headers that arrived, without the broker's, and without those that no header of the ports can be: a
/// stranger's header must not keep a message from being read. The library keeps no order.
fn headers_in(map: &HeaderMap) -> Headers {
    let mut headers = Headers::with_capacity(map.len());
    for (name, values) in map.iter() {
        let text: &str = name.as_ref();
        let name = match HeaderName::known(text) {
            Some(name) => Ok(name),
            None if is_reserved(text) => continue,
            None => HeaderName::new(text.to_owned()),
        };
        for value in values {
            match (&name, HeaderValue::new(value.as_str().to_owned())) {
                (Ok(name), Ok(value)) => headers.append(name.clone(), value),
                (Err(error), _) => tracing::debug!(%error, "a header was passed over"),
                (_, Err(error)) => tracing::debug!(%error, "a header was passed over"),
            }
        }
    }
    headers
}
