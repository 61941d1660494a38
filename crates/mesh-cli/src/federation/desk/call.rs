use std::time::Duration;

use mesh_core::json::RawJson;
use mesh_core::mx::{EdgeCode, Fault, MxUri, Profile};
use mesh_federation::{Call, CallOptions, RealmClient};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Answer, Failed, answer, body};

/// The longest that a call may be waited for.
pub(crate) const LONGEST: Duration = Duration::from_secs(600);

/// A call that the gateway makes for its operator.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Calling {
    pub(crate) uri: String,
    #[serde(default)]
    pub(crate) body: Option<Box<RawValue>>,
    #[serde(default)]
    pub(crate) deadline_ms: Option<u64>,
    #[serde(default)]
    pub(crate) profile: Option<String>,
}

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Called {
    Answer(Box<RawValue>),
    Failed(Failed),
}

pub(super) async fn call(client: &RealmClient, call: &Call) -> Answer {
    let asked: Calling = body(call)?;
    let bad = |why: String| Fault::edge(EdgeCode::BadRequest, why);
    let uri = MxUri::parse(&asked.uri).map_err(|error| bad(error.to_string()))?;
    let profile = match &asked.profile {
        None => None,
        Some(name) => {
            let known = Profile::from_name(name);
            Some(known.ok_or_else(|| bad(format!("no profile is called {name:?}")))?)
        }
    };
    let deadline = asked.deadline_ms.map(|span| Duration::from_millis(span).min(LONGEST));
    let options = CallOptions { deadline, profile, ..CallOptions::default() };
    let text = asked.body.as_deref().map_or("null", RawValue::get);
    let params = RawJson::new(text).map_err(|error| bad(error.to_string()))?;
    let called = match client.call_with(&uri, &params, &options).await {
        Ok(answer) => match RawValue::from_string(answer.as_str().to_owned()) {
            Ok(raw) => Called::Answer(raw),
            Err(error) => return Err(Fault::edge(EdgeCode::HandlerError, error.to_string())),
        },
        Err(error) => Called::Failed(Failed::of(&error)),
    };
    answer(&called)
}
