//! Messages of the ports and of the client library, one into the other.

use std::borrow::Cow;

use async_nats::HeaderMap;
use mesh_core::message::{HeaderName, HeaderValue, Headers, Message, MessageParts, is_reserved};
use mesh_core::subject::Subject;

/// The headers as the client library wants them, with these of the broker's own besides.
///
/// Names and values were checked when they were made, so none of them makes the library panic.
pub(crate) fn headers_out(headers: &Headers, own: &[(&'static str, &str)]) -> Option<HeaderMap> {
    if headers.is_empty() && own.is_empty() {
        return None;
    }
    let mut map = HeaderMap::new();
    for (name, value) in headers.iter().chain(own.iter().copied()) {
        map.append(name, value);
    }
    Some(map)
}

/// The message as the ports know it, without what belongs to the broker; nothing if a subject or a
/// header can't be represented.
pub(crate) fn message_in(message: async_nats::Message, with_reply: bool) -> Option<Message> {
    let subject = Subject::new(message.subject.as_str()).ok()?;
    let reply = match message.reply {
        Some(reply) if with_reply => Some(Subject::new(reply.as_str()).ok()?),
        _ => None,
    };
    let headers = match message.headers {
        Some(map) => headers_in(&map),
        None => Headers::default(),
    };
    Some(MessageParts { subject, reply, headers, payload: message.payload }.into())
}

/// Headers that arrived, without the broker's, and without those that no header of the ports can be: a
/// stranger's header must not keep a message from being read. The library keeps no order.
fn headers_in(map: &HeaderMap) -> Headers {
    let mut headers = Headers::default();
    for (name, values) in map.iter() {
        let text: &str = name.as_ref();
        if is_reserved(text) {
            continue;
        }
        for value in values {
            let name = HeaderName::new(Cow::Owned(text.to_owned()));
            match (name, HeaderValue::new(Cow::Owned(value.as_str().to_owned()))) {
                (Ok(name), Ok(value)) => headers.append(name, value),
                (Err(error), _) | (_, Err(error)) => {
                    tracing::debug!(%error, "a header was passed over");
                }
            }
        }
    }
    headers
}
