//! What is none of the envelopes: something else that is known, or why it is nothing.

use std::collections::BTreeMap;

use mesh_core::json::RawJson;
use mesh_core::mx::{DecodeError, DecodeProblem};
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::capture::Capture;
use super::guards::Edge;
use super::{Explained, event, fault, internal};

/// The members of an object at its top.
pub(super) type Members = BTreeMap<String, Box<RawValue>>;

pub(super) fn explain(capture: &Capture<'_>, error: DecodeError, edge: &mut Edge) -> Explained {
    let members = members(capture);
    if let (DecodeProblem::Shape, Some(members)) = (error.problem, &members) {
        let has = |key: &str| members.contains_key(key);
        if has("id") && has("source") && has("data") {
            return event::explain_structured(capture);
        }
        let inside = has("_mx") || has("replyTo") && has("params");
        if let Some(explained) = inside.then(|| internal::explain(capture)).flatten() {
            return explained;
        }
    }
    let why = match (error.problem, &members) {
        (DecodeProblem::Shape, Some(members)) => tells(members),
        (DecodeProblem::Shape, None) => "it is JSON, and no object".to_owned(),
        (DecodeProblem::Json(_), _) => "it is read as one JSON document, strictly".to_owned(),
        _ => format!("by its shape it is an envelope, and its field {} is wrong", error.field),
    };
    let fault = fault::of_decode(capture, error, members.as_ref());
    let mut explained = Explained::refused(capture, why, fault);
    edge.judge_undecodable(&error, &mut explained);
    explained
}

fn members(capture: &Capture<'_>) -> Option<Members> {
    serde_json::from_slice::<IgnoredAny>(&capture.body).ok()?;
    serde_json::from_slice(&capture.body).ok()
}

/// What of the signs by which profiles are known is there, and what is not.
fn tells(members: &Members) -> String {
    let signs = ["msgType", "to", "toPath", "fromRealm", "ok", "correlationId"];
    let found = signs.iter().map(|sign| match members.get(*sign) {
        None => format!("no {sign}"),
        Some(value) => format!("{sign} is {}", kind(value)),
    });
    let found: Vec<String> = found.collect();
    format!("{}; that is none of the profiles", found.join(", "))
}

/// What a value is, with its article.
pub(super) fn kind(value: &RawValue) -> &'static str {
    use mesh_core::json::JsonKind::{Array, Bool, Null, Number, Object, String};
    match RawJson::new(value.get()).map(|value| value.kind()) {
        Ok(Null) => "null",
        Ok(Bool) => "a boolean",
        Ok(Number) => "a number",
        Ok(String) => "a string",
        Ok(Array) => "an array",
        Ok(Object) => "an object",
        Err(_) => "nothing that can be read",
    }
}
