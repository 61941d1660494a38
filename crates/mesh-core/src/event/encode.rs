use std::borrow::Cow;

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;

use super::value::encode;
use super::{
    CAUSATION_ID, CONTENT_TYPE, EVENT_ID, Event, EventError, EventProblem, JSON, NODE, SCHEMA,
    SOURCE, STRUCTURED, TIME,
};
use crate::json::{JsonError, JsonProblem};

/// Names and values of headers, ready to send.
type Pairs = Vec<(Cow<'static, str>, String)>;

impl Event {
    /// The headers of header mode; the body is [`data`](Self::data).
    #[must_use]
    pub fn headers(&self) -> Pairs {
        let mut headers: Pairs = vec![
            (EVENT_ID.into(), encode(self.id().as_str())),
            (SOURCE.into(), self.source().to_string()),
            (NODE.into(), self.node().to_string()),
            (TIME.into(), self.time().to_string()),
            (CONTENT_TYPE.into(), JSON.into()),
        ];
        if let Some(cause) = self.causation() {
            headers.push((CAUSATION_ID.into(), encode(cause.as_str())));
        }
        if let Some(schema) = self.schema() {
            headers.push((SCHEMA.into(), encode(schema)));
        }
        self.others(headers)
    }

    /// The headers and the body of structured mode, for a receiver that asks for it. The data's
    /// text is kept, except white space around the whole of it.
    ///
    /// # Errors
    /// [`EventProblem::Json`] only where memory's text could not be written.
    pub fn structured(&self) -> Result<(Pairs, Bytes), EventError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Body<'a> {
            id: &'a str,
            source: &'a str,
            node: &'a str,
            time: String,
            content_type: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            causation_id: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            schema: Option<&'a str>,
            data: &'a RawValue,
        }
        let failed = |_| {
            let problem = JsonProblem::Unserialisable;
            EventError::new("body", EventProblem::Json(JsonError { problem, offset: 0 }))
        };
        let body = Body {
            id: self.id().as_str(),
            source: self.source().as_str(),
            node: self.node().as_str(),
            time: self.time().to_string(),
            content_type: JSON,
            causation_id: self.causation().map(super::EventId::as_str),
            schema: self.schema(),
            data: serde_json::from_str(self.data().as_str()).map_err(failed)?,
        };
        let body = serde_json::to_vec(&body).map_err(failed)?;
        let headers = vec![(CONTENT_TYPE.into(), STRUCTURED.into())];
        Ok((self.others(headers), body.into()))
    }

    fn others(&self, mut headers: Pairs) -> Pairs {
        let trace = self.trace().headers();
        headers.extend(trace.map(|(name, value)| (name.into(), value.to_owned())));
        let extra = self.extra().iter();
        headers.extend(extra.map(|(name, value)| (name.to_owned().into(), value.to_owned())));
        headers
    }
}
