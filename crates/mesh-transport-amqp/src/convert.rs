//! Messages of the ports and of the client library, one into the other (protocol §3).

#[cfg(test)]
mod tests;

use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable, LongString, ShortString};
use mesh_core::message::{
    HeaderName, HeaderValue, Headers, Message, MessageParts, is_reserved, names,
};
use mesh_core::subject::Subject;

/// The headers as AMQP has them: the content type is a property, everything else stands in the table.
pub(crate) fn headers_out(headers: &Headers) -> BasicProperties {
    let mut properties = BasicProperties::default();
    let mut table = FieldTable::default();
    for (name, value) in headers.entries() {
        if *name == names::CONTENT_TYPE
            && let Ok(value) = ShortString::try_new(value.as_str())
        {
            properties = properties.with_content_type(value);
        } else if let Ok(name) = ShortString::try_new(name.as_str()) {
            table.insert(name, AMQPValue::LongString(LongString::from(value.as_str())));
        }
    }
    if table.inner().is_empty() { properties } else { properties.with_headers(table) }
}

/// The properties of `message` as `user` sends it; `persistent` asks the broker to write it to disk.
pub(crate) fn properties(
    message: &Message,
    user: &ShortString,
    persistent: bool,
) -> BasicProperties {
    let properties = headers_out(message.headers())
        .with_user_id(user.clone())
        .with_delivery_mode(if persistent { 2 } else { 1 });
    match message.reply().map(|reply| ShortString::try_new(reply.as_str())) {
        Some(Ok(reply)) => properties.with_reply_to(reply),
        _ => properties,
    }
}

/// A message that arrived on `subject`, without what belongs to the broker; nothing if its reply address
/// can't be represented and `with_reply` asks for it.
pub(crate) fn message_in(
    subject: Subject,
    properties: &BasicProperties,
    payload: Vec<u8>,
    with_reply: bool,
) -> Option<Message> {
    let reply = match properties.reply_to().as_ref().filter(|_| with_reply) {
        Some(reply) => Some(Subject::new(reply.as_str()).ok()?),
        None => None,
    };
    let headers = headers_in(properties);
    Some(MessageParts { subject, reply, headers, payload: payload.into() }.into())
}

/// Headers that arrived, without the broker's, and without those that no header of the ports can be: a
/// stranger's header must not keep a message from being read.
pub(crate) fn headers_in(properties: &BasicProperties) -> Headers {
    let table = properties.headers().as_ref().map(FieldTable::inner);
    let mut headers = Headers::with_capacity(table.map_or(0, |table| table.len()) + 1);
    let content_type = properties.content_type().as_ref();
    if let Some(value) = content_type.and_then(|text| HeaderValue::new(text.to_string()).ok()) {
        headers.append(names::CONTENT_TYPE, value);
    }
    for (name, value) in table.into_iter().flatten() {
        let name = match HeaderName::known(name.as_str()) {
            // The property is the one that counts.
            Some(name) if name == names::CONTENT_TYPE && content_type.is_some() => continue,
            Some(name) => Ok(name),
            None if is_reserved(name.as_str()) => continue,
            None => HeaderName::new(name.to_string()),
        };
        match (name, text(value).map(HeaderValue::new)) {
            (Ok(name), Some(Ok(value))) => headers.append(name, value),
            (Err(error), _) | (_, Some(Err(error))) => {
                tracing::debug!(%error, "a header was passed over");
            }
            (Ok(_), None) => tracing::debug!("a header that is no text was passed over"),
        }
    }
    headers
}

/// A value as text, if it is one or a number.
fn text(value: &AMQPValue) -> Option<String> {
    match value {
        AMQPValue::LongString(text) => String::from_utf8(text.as_bytes().to_vec()).ok(),
        AMQPValue::ShortString(text) => Some(text.to_string()),
        AMQPValue::Boolean(value) => Some(value.to_string()),
        AMQPValue::ShortShortInt(value) => Some(value.to_string()),
        AMQPValue::ShortShortUInt(value) => Some(value.to_string()),
        AMQPValue::ShortInt(value) => Some(value.to_string()),
        AMQPValue::ShortUInt(value) => Some(value.to_string()),
        AMQPValue::LongInt(value) => Some(value.to_string()),
        AMQPValue::LongUInt(value) => Some(value.to_string()),
        AMQPValue::LongLongInt(value) => Some(value.to_string()),
        _ => None,
    }
}
