//! The federation's wire: names, topics, URIs and envelopes between realms (protocol §8).
//!
//! Nothing here sends or waits. A gateway reads what a mailbox brings with [`decode`], looks at it
//! as an [`Envelope`] whatever profile it came in, passes an [`InternalRequest`] to its realm,
//! reads the component's answer with [`decode_reply`], and sends that back along an
//! [`AnswerRoute`].
//!
//! `fromRealm` is a claim of the sender's, unless the backbone or a signature proves it.
//!
//! ```
//! use mesh_core::json::RawJson;
//! use mesh_core::mx::{AnswerRoute, DEFAULT_MAX_BYTES, Stamp, decode};
//! use mesh_core::name::RealmName;
//!
//! let bytes = br#"{"fromRealm":"shop","toPath":"stock.accepts.count","correlationId":"c-1"}"#;
//! let local = RealmName::new("acme.com")?;
//!
//! let decoded = decode(bytes, DEFAULT_MAX_BYTES)?;
//! let profile = decoded.profile();
//! let request = decoded.into_envelope(&local).expect("a request");
//! assert_eq!(request.replay_key().expect("an id").id, "c-1");
//!
//! let route = AnswerRoute::of(&request, profile).expect("a request is answered");
//! let answer = route.ok(&Stamp::new("m-2", 1_700_000_000_000), &RawJson::new("[1]")?);
//! assert_eq!(route.realm().as_str(), "shop");
//! assert_eq!(
//!     String::from_utf8(answer)?,
//!     r#"{"correlationId":"c-1","ok":true,"fromRealm":"acme.com","body":[1],"timestamp":1700000000000}"#
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod code;
mod envelope;
pub mod escape;
mod internal;
mod path;
mod principal;
mod profile;
mod realm;
mod topic;
mod uri;

#[cfg(test)]
mod tests;

pub use answer::{Answer, AnswerRoute, Stamp};
pub use code::EdgeCode;
pub use envelope::{
    Address, DEFAULT_MAX_BYTES, DecodeError, DecodeProblem, Decoded, EncodeError, Envelope, Fault,
    LegacyReply, LegacyRequest, MsgType, Party, Passage, ReplayKey, decode,
};
pub use internal::{InternalRequest, LocalMeta, decode_reply, without_mx};
pub use path::{MxPath, PathError, Plane};
pub use principal::principal_key;
pub use profile::Profile;
pub use realm::MxRealm;
pub use topic::{MailboxKind, ReplyId, Shard, Topic, TopicError};
pub use uri::{MxUri, UriError, UriProblem};
