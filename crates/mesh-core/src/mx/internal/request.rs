use std::borrow::Cow;

use super::super::envelope::Entry;
use super::super::{DecodeError, DecodeProblem, Envelope, MxRealm, Profile, principal_key};
use super::without_mx;
use crate::json::{Fields, ObjectWriter, RawJson, Scanner, Value};
use crate::subject::Subject;

/// A request to a component, as it goes to `mx/1/<local>/<toPath>`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct InternalRequest<'a> {
    /// Tells the answers to different requests apart.
    pub correlation_id: Cow<'a, str>,
    /// Where the component publishes its answer.
    pub reply_to: Subject,
    /// The body of the envelope, as its exact text; `null` where there was none.
    pub params: RawJson<'a>,
    /// What the gateway vouches for.
    pub mx: Option<LocalMeta<'a>>,
    /// The whole envelope that came in, for adapters and for finding faults.
    pub envelope: Option<RawJson<'a>>,
}

/// `_mx`: what the gateway says about a request. Only a gateway of one's own realm writes it; from
/// a remote it is stripped.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LocalMeta<'a> {
    /// The realm that the request came from.
    pub from_realm: MxRealm<'a>,
    /// The profile it came in.
    pub incoming_profile: Profile,
    /// Its `msgId`.
    pub msg_id: Option<Cow<'a, str>>,
    /// The key of its principal ([`principal_key`]).
    pub principal_key: Option<Cow<'a, str>>,
    /// Its `traceId`.
    pub trace_id: Option<Cow<'a, str>>,
}

impl<'a> InternalRequest<'a> {
    /// A request from inside the realm: nothing vouches for another realm.
    #[must_use]
    pub fn new(
        correlation_id: impl Into<Cow<'a, str>>,
        reply_to: Subject,
        params: RawJson<'a>,
    ) -> Self {
        let correlation_id = correlation_id.into();
        Self { correlation_id, reply_to, params, mx: None, envelope: None }
    }

    /// The request for what `envelope` asks, which came in `profile`.
    #[must_use]
    pub fn of(
        envelope: &'a Envelope<'_>,
        profile: Profile,
        correlation_id: impl Into<Cow<'a, str>>,
        reply_to: Subject,
    ) -> Self {
        Self {
            correlation_id: correlation_id.into(),
            reply_to,
            params: envelope.body.as_ref().map_or(RawJson::NULL, RawJson::borrowed),
            mx: Some(LocalMeta::of(envelope, profile)),
            envelope: None,
        }
    }

    /// Writes the request. `_mx` inside [`envelope`](Self::envelope) is left out, and so is an
    /// envelope too deep to stand inside a request.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(512 + self.params.as_str().len());
        ObjectWriter::write(&mut out, |out| {
            out.string("correlationId", &self.correlation_id);
            out.string("replyTo", self.reply_to.as_str());
            out.raw("params", &self.params);
            if let Some(mx) = &self.mx {
                out.object("_mx", |out| mx.write(out));
            }
            if let Some(envelope) = self.envelope.as_ref().filter(|e| e.fits_inside(1)) {
                out.raw("envelope", &without_mx(envelope));
            }
        });
        out
    }

    /// Reads a request as a component gets it. Unknown fields are passed over.
    ///
    /// # Errors
    /// [`DecodeError`] with the field and the byte offset.
    pub fn decode(bytes: &'a [u8], max_bytes: usize) -> Result<Self, DecodeError> {
        let refused = DecodeError::json("request");
        let mut scanner = Scanner::new(bytes, max_bytes).map_err(&refused)?;
        let names = ["correlationId", "replyTo", "params", "_mx", "envelope"];
        let fields = Fields::read(&mut scanner, |key| names.iter().position(|n| *n == key));
        let ([id, reply_to, params, mx, envelope], _) = fields.map_err(&refused)?.into_parts();
        scanner.end().map_err(&refused)?;
        let id = Entry::new("correlationId", id);
        let reply_to = Entry::new("replyTo", reply_to);
        let subject = reply_to.required(reply_to.string()?, 0)?;
        Ok(Self {
            correlation_id: id.required(id.id()?, 0)?,
            reply_to: Subject::new(subject.as_ref())
                .map_err(|_| reply_to.refused(DecodeProblem::Subject))?,
            params: params.map_or(RawJson::NULL, Value::raw),
            mx: LocalMeta::read(Entry::new("_mx", mx))?,
            envelope: Entry::new("envelope", envelope).raw(),
        })
    }
}

impl<'a> LocalMeta<'a> {
    /// What is known of `envelope`, which came in `profile`.
    #[must_use]
    pub fn of(envelope: &'a Envelope<'_>, profile: Profile) -> Self {
        Self {
            from_realm: envelope.from.realm.borrowed(),
            incoming_profile: profile,
            msg_id: envelope.msg_id.as_deref().map(Cow::Borrowed),
            principal_key: envelope.principal.as_ref().and_then(principal_key),
            trace_id: envelope.trace_id.as_deref().map(Cow::Borrowed),
        }
    }

    fn write(&self, out: &mut ObjectWriter<'_>) {
        out.string("fromRealm", self.from_realm.as_str());
        out.string("incomingProfile", self.incoming_profile.name());
        out.opt_string("msgId", self.msg_id.as_deref());
        out.opt_string("principalKey", self.principal_key.as_deref());
        out.opt_string("traceId", self.trace_id.as_deref());
    }

    fn read(entry: Entry<'a>) -> Result<Option<Self>, DecodeError> {
        let Some((mut scanner, at)) = entry.object()? else {
            return Ok(None);
        };
        let names = ["fromRealm", "incomingProfile", "msgId", "principalKey", "traceId"];
        let fields = Fields::read(&mut scanner, |key| names.iter().position(|n| *n == key));
        let ([realm, profile, msg_id, key, trace_id], _) =
            fields.map_err(DecodeError::json("_mx"))?.into_parts();
        let realm = Entry::new("_mx.fromRealm", realm);
        let profile = Entry::new("_mx.incomingProfile", profile);
        let name = profile.required(profile.string()?, at)?;
        let unknown = DecodeProblem::Type { expected: "a profile's name" };
        Ok(Some(Self {
            from_realm: realm.required(realm.realm()?, at)?,
            incoming_profile: Profile::from_name(&name).ok_or_else(|| profile.refused(unknown))?,
            msg_id: Entry::new("_mx.msgId", msg_id).string()?,
            principal_key: Entry::new("_mx.principalKey", key).string()?,
            trace_id: Entry::new("_mx.traceId", trace_id).string()?,
        }))
    }
}
