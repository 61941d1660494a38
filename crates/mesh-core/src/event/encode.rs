use std::borrow::Cow;

use bytes::Bytes;

use super::value::encode_header;
use super::{
    CAUSATION_ID, CONTENT_TYPE, EVENT_ID, Event, JSON, NODE, SCHEMA, SOURCE, STRUCTURED, TIME,
};
use crate::json::ObjectWriter;

/// Names and values of headers, ready to send.
type Pairs = Vec<(Cow<'static, str>, String)>;

impl Event {
    /// The headers of header mode; the body is [`data`](Self::data).
    #[must_use]
    pub fn headers(&self) -> Pairs {
        let mut headers: Pairs = vec![
            (EVENT_ID.into(), encode_header(self.id().as_str())),
            (SOURCE.into(), self.source().to_string()),
            (NODE.into(), self.node().to_string()),
            (TIME.into(), self.time().to_string()),
            (CONTENT_TYPE.into(), JSON.into()),
        ];
        if let Some(cause) = self.causation() {
            headers.push((CAUSATION_ID.into(), encode_header(cause.as_str())));
        }
        if let Some(schema) = self.schema() {
            headers.push((SCHEMA.into(), encode_header(schema)));
        }
        self.others(headers)
    }

    /// The headers and the body of structured mode, for a receiver that asks for it.
    #[must_use]
    pub fn structured(&self) -> (Pairs, Bytes) {
        let mut body = Vec::new();
        ObjectWriter::write(&mut body, |object| {
            object.string("id", self.id().as_str());
            object.string("source", self.source().as_str());
            object.string("node", self.node().as_str());
            object.string("time", &self.time().to_string());
            object.string("contentType", JSON);
            if let Some(cause) = self.causation() {
                object.string("causationId", cause.as_str());
            }
            if let Some(schema) = self.schema() {
                object.string("schema", schema);
            }
            object.raw("data", &self.data().raw());
        });
        let headers = vec![(CONTENT_TYPE.into(), STRUCTURED.into())];
        (self.others(headers), body.into())
    }

    fn others(&self, mut headers: Pairs) -> Pairs {
        let trace = self.trace().headers();
        headers.extend(trace.map(|(name, value)| (name.into(), value.to_owned())));
        let extra = self.extra().iter();
        headers.extend(extra.map(|(name, value)| (name.to_owned().into(), value.to_owned())));
        headers
    }
}
