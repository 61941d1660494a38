use mesh_core::guard::Now;
use mesh_core::json::RawJson;
use mesh_core::mx::{EdgeCode, Fault};
use serde::{Deserialize, Serialize};

use super::{Session, SessionRefusal};
use crate::Call;
use crate::lease::bad_request;

/// Codes of answers to what is asked about sessions.
pub mod codes {
    /// The principal has no session in the realm that asks (protocol §8).
    pub const NOT_FOUND: &str = "MX.DIR.NOT_FOUND";
    /// There are as many sessions as there may be: of the principal, of the realm, or in all.
    pub const LIMIT: &str = "MX.DIR.LIMIT";
    /// The shared store can't be reached now. Trying again may help.
    pub const UNAVAILABLE: &str = "MX.DIR.UNAVAILABLE";
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Lookup {
    principal_key: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tab<'s> {
    tab_realm: &'s str,
    expires_at_ms: i64,
}

#[derive(Serialize)]
struct Tabs<'s> {
    tabs: Vec<Tab<'s>>,
}

type Refused = Fault<'static>;

/// Whose tab is meant by `register` and `heartbeat`: what the gateway says of the request.
pub(super) fn present(call: &Call) -> Result<(&crate::Remote, &str), Refused> {
    let remote = call.remote.as_ref().ok_or_else(|| bad_request("only another realm is a tab"))?;
    let principal = remote.principal_key.as_deref();
    Ok((remote, principal.ok_or_else(|| bad_request("the request names no principal"))?))
}

/// Whose tabs are looked up. Another realm is told of its own principal's alone; inside the realm the body
/// says whose.
pub(super) fn looked_up(call: &Call) -> Result<String, Refused> {
    let asked = match call.params.kind() {
        mesh_core::json::JsonKind::Null => None,
        _ => call.params.to::<Lookup>().map_err(bad_request)?.principal_key,
    };
    let own = call.remote.as_ref().map(|remote| remote.principal_key.clone());
    match (own, asked) {
        (Some(Some(own)), Some(asked)) if own != asked => {
            Err(Fault::edge(EdgeCode::PolicyDenied, "another principal's sessions"))
        }
        (Some(Some(own)), _) => Ok(own),
        (None, Some(asked)) => Ok(asked),
        (Some(None), _) => Err(bad_request("the request names no principal")),
        (None, None) => Err(bad_request("principalKey is missing")),
    }
}

/// The answer to `register` and `heartbeat`.
pub(super) fn noted(session: &Session, now: Now) -> RawJson<'static> {
    write(&tab(session, now))
}

/// The answer to `lookup`.
pub(super) fn tabs(sessions: &[Session], now: Now) -> RawJson<'static> {
    write(&Tabs { tabs: sessions.iter().map(|session| tab(session, now)).collect() })
}

fn tab(session: &Session, now: Now) -> Tab<'_> {
    Tab {
        tab_realm: session.tab_realm.as_str(),
        expires_at_ms: session.expires_at(now).as_millis(),
    }
}

fn write(value: &impl Serialize) -> RawJson<'static> {
    // Texts and numbers are always JSON.
    RawJson::from_serialize(value).unwrap_or(RawJson::NULL)
}

pub(super) fn refused(refusal: SessionRefusal) -> Refused {
    let code = match refusal {
        SessionRefusal::NotFound => codes::NOT_FOUND,
        SessionRefusal::PrincipalTooLong => EdgeCode::BadRequest.as_str(),
        _ => codes::LIMIT,
    };
    Fault::new(code, refusal.to_string())
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
pub(super) fn unavailable(why: impl ToString) -> Refused {
    Fault::new(codes::UNAVAILABLE, why.to_string())
}
