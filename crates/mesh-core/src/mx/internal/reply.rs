use std::borrow::Cow;

use super::super::{EdgeCode, Fault};
use crate::json::{JsonError, JsonKind, JsonProblem, RawJson, Scanner, Value};

/// Reads what a component published to the reply topic: the body, or why there is none.
///
/// 1. not JSON → the raw text, as a string;
/// 2. not an object → the value;
/// 3. a boolean `ok` → `body`, else `result`, else `null`; or the failure in `error`;
/// 4. an object `error` with a string `code` → that failure;
/// 5. `result` → its value;
/// 6. `body` and no key but `correlationId body result error ok` → its value;
/// 7. anything else → the whole object.
///
/// Its `correlationId` is not looked at: the request's always wins. A reply that no envelope may
/// carry, over `max_bytes`, nested too deep, with half a surrogate pair, or saying one of these
/// keys twice, is a failure `MX.EDGE.HANDLER_ERROR`. An `ok: false` without a usable `error` has
/// that code too, with the body as its details.
///
/// # Errors
/// The component's failure, to be passed on.
pub fn decode_reply(bytes: &[u8], max_bytes: usize) -> Result<RawJson<'_>, Fault<'_>> {
    let too_deep = || handler_error("reply: too deep for the envelope that carries it");
    match read(bytes, max_bytes) {
        // `{"body": …}`, and `{"error": {"details": …}}`.
        Ok(body) if !body.fits_inside(1) => Err(too_deep()),
        Err(Fault { details: Some(details), .. }) if !details.fits_inside(2) => Err(too_deep()),
        reply => reply,
    }
}

fn read(bytes: &[u8], max_bytes: usize) -> Result<RawJson<'_>, Fault<'_>> {
    let value = match RawJson::from_slice(bytes, max_bytes) {
        Ok(value) => value,
        Err(error) => match error.problem {
            JsonProblem::TooLarge { .. } | JsonProblem::TooDeep | JsonProblem::LoneSurrogate => {
                return Err(unusable(error));
            }
            _ => return Ok(RawJson::string(&String::from_utf8_lossy(bytes))),
        },
    };
    if value.kind() != JsonKind::Object {
        return Ok(value);
    }
    let reply = Reply::read(bytes, max_bytes).map_err(unusable)?;
    let fault = match reply.error.map(Fault::read_lenient) {
        None => None,
        Some(Ok(fault)) => fault,
        Some(Err(error)) => return Err(handler_error(format!("reply: {error}"))),
    };
    match reply.ok.map(|ok| ok.text) {
        Some("true") => {
            let body = reply.body.or(reply.result);
            return Ok(body.map_or(RawJson::NULL, Value::raw));
        }
        Some("false") => return Err(fault.unwrap_or_else(|| reply.vague_fault())),
        _ => {}
    }
    if let Some(fault) = fault {
        return Err(fault);
    }
    match (reply.result, reply.body) {
        (Some(result), _) => Ok(result.raw()),
        (None, Some(body)) if !reply.more => Ok(body.raw()),
        _ => Ok(value),
    }
}

/// The keys of a reply that mean something.
#[derive(Debug, Default)]
struct Reply<'a> {
    ok: Option<Value<'a>>,
    body: Option<Value<'a>>,
    result: Option<Value<'a>>,
    error: Option<Value<'a>>,
    correlation_id: Option<Value<'a>>,
    /// Whether there are other keys.
    more: bool,
}

impl<'a> Reply<'a> {
    fn read(bytes: &'a [u8], max_bytes: usize) -> Result<Self, JsonError> {
        let mut reply = Self::default();
        Scanner::new(bytes, max_bytes)?.object(|key, offset, value| {
            let place = match &*key {
                "ok" => &mut reply.ok,
                "body" => &mut reply.body,
                "result" => &mut reply.result,
                "error" => &mut reply.error,
                "correlationId" => &mut reply.correlation_id,
                _ => {
                    reply.more = true;
                    return Ok(());
                }
            };
            match place.replace(value) {
                None => Ok(()),
                Some(_) => Err(JsonError::new(JsonProblem::DuplicateKey, offset)),
            }
        })?;
        Ok(reply)
    }

    /// The failure of a reply that says `ok: false` and no code.
    fn vague_fault(&self) -> Fault<'a> {
        let message = self.error.and_then(Value::as_string);
        let mut fault = handler_error(message.unwrap_or_default());
        fault.details = self.body.or(self.result).map(Value::raw);
        fault
    }
}

fn handler_error<'a>(message: impl Into<Cow<'a, str>>) -> Fault<'a> {
    Fault::edge(EdgeCode::HandlerError, message)
}

fn unusable<'a>(error: JsonError) -> Fault<'a> {
    handler_error(format!("reply: {error}"))
}
