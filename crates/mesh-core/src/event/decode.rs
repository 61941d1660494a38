use std::borrow::Cow;

use bytes::Bytes;

use super::headers::{Headers, KNOWN};
use super::{
    CAUSATION_ID, CONTENT_TYPE, EVENT_ID, Event, EventError, EventId, EventProblem, ExtraHeaders,
    ExtraProblem, JSON, NODE, SCHEMA, SOURCE, STRUCTURED, TIME, TraceContext, value,
};
use crate::json::{JsonText, Members};
use crate::message::belongs_to_broker;
use crate::name::NameError;

impl Event {
    /// Reads a message in header mode or, by its content type, in structured mode.
    ///
    /// A header counts in lower case first, else in any case. Headers without a meaning here are
    /// kept as [`ExtraHeaders`]; the broker's own (`Nats-*`, `Status`) are left out.
    ///
    /// # Errors
    /// [`EventError`], naming the header or key and the offset.
    pub fn decode<'a>(
        headers: impl IntoIterator<Item = (&'a str, &'a str)>,
        body: Bytes,
    ) -> Result<Self, EventError> {
        let headers = Headers(headers.into_iter().collect());
        let Some(content_type) = headers.one(CONTENT_TYPE)? else {
            return Err(EventError::new(CONTENT_TYPE, EventProblem::Missing));
        };
        if is_type(content_type, STRUCTURED) {
            return structured(&headers, &body);
        }
        if !is_type(content_type, JSON) {
            return Err(EventError::new(CONTENT_TYPE, EventProblem::ContentType));
        }
        let data = JsonText::new(body)
            .map_err(|error| EventError::new("body", EventProblem::Json(error)))?;
        let text = |name| match headers.one(name)? {
            None => Ok(None),
            Some(found) => value::decode(name, found).map(Some),
        };
        let facts = [EVENT_ID, SOURCE, NODE, TIME, CAUSATION_ID, SCHEMA];
        event(facts, text, &headers, data)
    }
}

/// The facts are keys of the body. A header that says otherwise than its key is refused.
fn structured(headers: &Headers<'_>, body: &Bytes) -> Result<Event, EventError> {
    let json = |error| EventError::new("body", EventProblem::Json(error));
    let fields = Members::parse(body).map_err(json)?;
    let text = |key: &'static str| {
        let found = fields.text(key).map_err(|error| {
            let offset = error.offset;
            EventError::new(key, EventProblem::NotText { offset })
        })?;
        let header = match key {
            "id" => EVENT_ID,
            "source" => SOURCE,
            "node" => NODE,
            "time" => TIME,
            "causationId" => CAUSATION_ID,
            _ => SCHEMA,
        };
        match headers.one(header)? {
            Some(said) if Some(value::decode(header, said)?) != found => {
                Err(EventError::new(header, EventProblem::Conflict))
            }
            _ => Ok(found),
        }
    };
    match fields.text("contentType") {
        Ok(None) => {}
        Ok(Some(found)) if is_type(&found, JSON) => {}
        _ => return Err(EventError::new("contentType", EventProblem::ContentType)),
    }
    // Not `value`: the data may well be `null`.
    let Some(data) = fields.any("data") else {
        return Err(EventError::new("data", EventProblem::Missing));
    };
    let data = JsonText::new(body.slice_ref(data.text.as_bytes())).map_err(json)?;
    let facts = ["id", "source", "node", "time", "causationId", "schema"];
    event(facts, text, headers, data)
}

fn event<'a>(
    [id, source, node, time, causation, schema]: [&'static str; 6],
    text: impl Fn(&'static str) -> Result<Option<Cow<'a, str>>, EventError>,
    headers: &Headers<'_>,
    data: JsonText,
) -> Result<Event, EventError> {
    let required =
        |field| text(field)?.ok_or_else(|| EventError::new(field, EventProblem::Missing));
    let event_id = |field, found: Cow<'_, str>| {
        EventId::new(found).map_err(|error| EventError::new(field, EventProblem::Id(error)))
    };
    let moment = required(time)?
        .parse()
        .map_err(|error| EventError::new(time, EventProblem::Time(error)))?;
    let mut read = Event::new(
        event_id(id, required(id)?)?,
        name(source, &required(source)?)?,
        name(node, &required(node)?)?,
        moment,
        data,
    );
    if let Some(found) = text(causation)? {
        read = read.caused_by(event_id(causation, found)?);
    }
    if let Some(found) = text(schema)? {
        read = read.with_schema(found);
    }
    let trace = TraceContext::of(headers);
    Ok(read.with_trace(trace)?.with_extra(extra(headers)?))
}

fn name<'a, T>(field: &'static str, text: &'a str) -> Result<T, EventError>
where
    T: TryFrom<&'a str, Error = NameError>,
{
    T::try_from(text).map_err(|error| EventError::new(field, EventProblem::Name(error)))
}

fn extra(headers: &Headers<'_>) -> Result<ExtraHeaders, EventError> {
    let mut extra = ExtraHeaders::default();
    for &(name, value) in &headers.0 {
        if belongs_to_broker(name) || KNOWN.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            continue;
        }
        extra.keep(name, value).map_err(|problem| {
            let problem = match problem {
                ExtraProblem::LineBreak { offset } => EventProblem::LineBreak { offset },
                ExtraProblem::Name { offset } => EventProblem::HeaderName { offset },
                ExtraProblem::Reserved => EventProblem::Conflict,
            };
            EventError::new(name.to_owned(), problem)
        })?;
    }
    Ok(extra)
}

/// Whether a content type is `wanted`, with any parameters.
fn is_type(found: &str, wanted: &str) -> bool {
    let bare = found.split(';').next().unwrap_or_default();
    bare.trim_ascii().eq_ignore_ascii_case(wanted)
}
