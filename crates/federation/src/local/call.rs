use mesh_core::json::RawJson;
use mesh_core::mx::{InternalRequest, LocalMeta, MxPath, Profile};
use mesh_core::name::RealmName;

/// One command that a component is to handle.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Call {
    /// What is asked, as it was registered.
    pub path: MxPath<'static>,
    /// What is given, as its exact text; `null` where nothing was.
    pub params: RawJson<'static>,
    /// The realm that asks, where it is another; `None` for a call from inside the realm.
    ///
    /// It is the realm's own gateway that writes this, and only what passed its guards has it. Whoever
    /// may publish on the local bus can write it as well: a realm trusts its inside. And what stands in
    /// it is no more than the gateway knows: the realm is a claim of the sender's, unless the backbone or
    /// MXSEC proves it.
    pub remote: Option<Remote>,
    /// Ties the answer to the request; the host sees to that.
    pub correlation_id: String,
}

/// What the gateway says about a request of another realm: `_mx` on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Remote {
    /// The realm that the request came from.
    pub realm: RealmName,
    /// The profile it came in.
    pub profile: Profile,
    /// Its `msgId`.
    pub msg_id: Option<String>,
    /// Who it is sent for ([`principal_key`](mesh_core::mx::principal_key)).
    pub principal_key: Option<String>,
    /// Its `traceId`.
    pub trace_id: Option<String>,
}

impl Call {
    /// A call of `path` from inside the realm. For tests of a handler.
    #[must_use]
    pub fn new(path: MxPath<'static>, params: RawJson<'static>) -> Self {
        Self { path, params, remote: None, correlation_id: String::new() }
    }

    /// Whether it comes from inside the realm: nothing says that a gateway let it in.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.remote.is_none()
    }

    pub(super) fn of(path: &MxPath<'static>, request: InternalRequest<'_>) -> Self {
        Self {
            path: path.clone(),
            params: request.params.into_owned(),
            remote: request.mx.map(Remote::of),
            correlation_id: request.correlation_id.into_owned(),
        }
    }
}

impl Remote {
    /// A request of this realm, of which nothing else is known. For tests of a handler.
    #[must_use]
    pub fn new(realm: RealmName, profile: Profile) -> Self {
        Self { realm, profile, msg_id: None, principal_key: None, trace_id: None }
    }

    fn of(meta: LocalMeta<'_>) -> Self {
        Self {
            realm: meta.from_realm.to_name(),
            profile: meta.incoming_profile,
            msg_id: meta.msg_id.map(Into::into),
            principal_key: meta.principal_key.map(Into::into),
            trace_id: meta.trace_id.map(Into::into),
        }
    }
}
