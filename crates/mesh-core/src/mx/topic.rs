use std::fmt;

use super::escape::{self, EscapeError};
use super::{MxPath, PathError};
use crate::name::{NameError, RealmName};
use crate::subject::{Filter, MAX_SUBJECT_BYTES, Subject};

/// A topic of the federation, typed (protocol §8).
///
/// ```text
/// public.ingress.<mxesc1(realm)>      Mailbox, Legacy
/// public.ingress.<realm>              Mailbox, LegacyRaw
/// mx/in/1/<realm>/<shard>             Mailbox, Mx
/// mx/1/<realm>/<path>                 Internal
/// mx/1/<realm>/_reply.<32 hex digits> InternalReply
/// mx/route/1/<realm>/<shard>          RouteInbox
/// ```
///
/// ```
/// use mesh_core::mx::{MailboxKind, Topic};
///
/// let topic: Topic = "public.ingress.acme%2Ecom".parse()?;
/// let Topic::Mailbox(MailboxKind::Legacy, realm) = topic else { unreachable!() };
/// assert_eq!(realm.as_str(), "acme.com");
/// assert_eq!(MailboxKind::default().subject(&realm).as_str(), "mx/in/1/acme.com/00");
/// # Ok::<(), mesh_core::mx::TopicError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Topic {
    /// Where other realms put what is for this realm.
    Mailbox(MailboxKind, RealmName),
    /// Where a component of the realm takes commands or says events.
    Internal(RealmName, MxPath<'static>),
    /// Where the answer to one internal request goes.
    InternalReply(RealmName, ReplyId),
    /// Where a router takes envelopes to pass on.
    RouteInbox(RealmName, Shard),
}

/// Which of a realm's mailboxes: an answer goes to the kind that the request came in by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MailboxKind {
    /// `public.ingress.<mxesc1(realm)>`
    Legacy,
    /// `public.ingress.<realm>`, unescaped. For a realm that mxesc1 leaves as it is, this is the
    /// same topic as [`Legacy`](Self::Legacy), and is read as that.
    LegacyRaw,
    /// `mx/in/1/<realm>/<shard>`
    Mx(Shard),
}

/// A part of a realm's mailbox: two lower-case hex digits, `00` unless told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Shard(pub u8);

/// What tells one internal reply topic from all others: 128 random bits, passed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReplyId(pub [u8; 16]);

/// Why a text is not a topic of the federation, or a topic can't be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopicError {
    /// It begins like none of them.
    #[error("topic: not one of the federation's")]
    Unknown,
    /// The realm is not one; offsets count from the realm's first byte.
    #[error("topic: {0}")]
    Realm(#[from] NameError),
    /// The realm of a legacy mailbox is not canonical mxesc1.
    #[error("topic: {0}")]
    Escape(#[from] EscapeError),
    /// The path is not one; offsets count from the path's first byte.
    #[error("topic: {0}")]
    Path(#[from] PathError),
    /// The shard is not two lower-case hex digits.
    #[error("topic: shard is not two lower-case hex digits")]
    Shard,
    /// What follows `_reply.` is not 32 lower-case hex digits.
    #[error("topic: reply id is not 32 lower-case hex digits")]
    ReplyId,
    /// Realm and path together are too long for a subject.
    #[error("topic: {found} bytes long, at most {MAX_SUBJECT_BYTES} are allowed")]
    TooLong {
        /// The bytes found.
        found: usize,
    },
}

impl TopicError {
    /// Byte offset in `text`, which was refused with this error, of what is wrong.
    #[must_use]
    pub fn offset_in(&self, text: &str) -> usize {
        let realm = [LEGACY, MAILBOX, ROUTE, INTERNAL].iter().find(|p| text.starts_with(**p));
        let realm = realm.map_or(0, |prefix| prefix.len());
        let rest = text.get(realm..).unwrap_or_default();
        let path = rest.find('/').map_or(text.len(), |slash| realm + slash + 1);
        match self {
            // A prefix that stands, and nothing behind the realm.
            Self::Unknown if realm > 0 => text.len(),
            Self::Unknown => 0,
            Self::Realm(error) => realm + error.problem.offset(),
            Self::Escape(error) => realm + error.offset(),
            Self::Path(error) => path + error.offset(),
            Self::Shard => path,
            Self::ReplyId => path + REPLY.len(),
            Self::TooLong { .. } => MAX_SUBJECT_BYTES,
        }
    }
}

const LEGACY: &str = "public.ingress.";
const MAILBOX: &str = "mx/in/1/";
const ROUTE: &str = "mx/route/1/";
const INTERNAL: &str = "mx/1/";
const REPLY: &str = "_reply.";

impl MailboxKind {
    /// The topic of `realm`'s mailbox of this kind. A [`RealmName`] is short enough for each.
    #[must_use]
    pub fn subject(self, realm: &RealmName) -> Subject {
        Subject::from_checked(match self {
            Self::Legacy => format!("{LEGACY}{}", escape::encode(realm.as_str())),
            Self::LegacyRaw => format!("{LEGACY}{realm}"),
            Self::Mx(shard) => format!("{MAILBOX}{realm}/{shard}"),
        })
    }
}

impl Default for MailboxKind {
    fn default() -> Self {
        Self::Mx(Shard::default())
    }
}

impl Topic {
    /// The topic `mx/1/<realm>/<path>`.
    ///
    /// # Errors
    /// [`TopicError::TooLong`] where realm and path together don't fit a subject.
    pub fn internal(realm: &RealmName, path: &MxPath<'_>) -> Result<Subject, TopicError> {
        fitting(format!("{INTERNAL}{realm}/{path}"))
    }

    /// The topic `mx/1/<realm>/_reply.<id>`.
    #[must_use]
    pub fn internal_reply(realm: &RealmName, id: ReplyId) -> Subject {
        Subject::from_checked(format!("{INTERNAL}{realm}/{REPLY}{id}"))
    }

    /// All topics of answers inside `realm`, `mx/1/<realm>/_reply.*`: for rights, and for a bus that has
    /// wildcards.
    #[must_use]
    pub fn internal_replies(realm: &RealmName) -> Filter {
        Filter::from_checked(format!("{INTERNAL}{realm}/{REPLY}*"))
    }

    /// All topics inside `realm` that what is watched in other realms comes to,
    /// `mx/1/<realm>/watch.<random>.emits.*`.
    #[must_use]
    pub fn internal_watches(realm: &RealmName) -> Filter {
        Filter::from_checked(format!("{INTERNAL}{realm}/watch.*.emits.*"))
    }

    /// The topic `mx/route/1/<realm>/<shard>`.
    #[must_use]
    pub fn route_inbox(realm: &RealmName, shard: Shard) -> Subject {
        Subject::from_checked(format!("{ROUTE}{realm}/{shard}"))
    }

    /// The topic as a subject.
    ///
    /// # Errors
    /// [`TopicError::TooLong`] for an internal topic that does not fit.
    pub fn subject(&self) -> Result<Subject, TopicError> {
        match self {
            Self::Mailbox(kind, realm) => Ok(kind.subject(realm)),
            Self::Internal(realm, path) => Self::internal(realm, path),
            Self::InternalReply(realm, id) => Ok(Self::internal_reply(realm, *id)),
            Self::RouteInbox(realm, shard) => Ok(Self::route_inbox(realm, *shard)),
        }
    }
}

impl std::str::FromStr for Topic {
    type Err = TopicError;

    fn from_str(text: &str) -> Result<Self, TopicError> {
        if text.len() > MAX_SUBJECT_BYTES {
            return Err(TopicError::TooLong { found: text.len() });
        }
        if let Some(realm) = text.strip_prefix(LEGACY) {
            return legacy(realm);
        }
        if let Some(rest) = text.strip_prefix(MAILBOX) {
            let (realm, shard) = sharded(rest)?;
            return Ok(Self::Mailbox(MailboxKind::Mx(shard), realm));
        }
        if let Some(rest) = text.strip_prefix(ROUTE) {
            let (realm, shard) = sharded(rest)?;
            return Ok(Self::RouteInbox(realm, shard));
        }
        let rest = text.strip_prefix(INTERNAL).ok_or(TopicError::Unknown)?;
        let (realm, path) = rest.split_once('/').ok_or(TopicError::Unknown)?;
        let realm = RealmName::new(realm)?;
        match path.strip_prefix(REPLY) {
            // A component may be called `_reply` too: that has more than one dot.
            Some(id) if !id.contains('.') => Ok(Self::InternalReply(realm, reply_id(id)?)),
            _ => Ok(Self::Internal(realm, path.parse()?)),
        }
    }
}

/// Escaped where it is canonical; else unescaped, where it is a realm that would need an escape.
fn legacy(text: &str) -> Result<Topic, TopicError> {
    match escape::decode_canonical(text) {
        Ok(realm) => Ok(Topic::Mailbox(MailboxKind::Legacy, RealmName::new(realm)?)),
        Err(error) if text.contains('%') => Err(error.into()),
        Err(_) => Ok(Topic::Mailbox(MailboxKind::LegacyRaw, RealmName::new(text)?)),
    }
}

fn sharded(text: &str) -> Result<(RealmName, Shard), TopicError> {
    let (realm, shard) = text.split_once('/').ok_or(TopicError::Unknown)?;
    let [shard] = hex(shard).ok_or(TopicError::Shard)?;
    Ok((RealmName::new(realm)?, Shard(shard)))
}

fn reply_id(text: &str) -> Result<ReplyId, TopicError> {
    hex(text).map(ReplyId).ok_or(TopicError::ReplyId)
}

/// Exactly `N` bytes as lower-case hex.
fn hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |b: u8| match b {
        b'0'..=b'9' => Some(b - b'0'),
        b'a'..=b'f' => Some(b - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else {
        return None;
    };
    if pairs.len() != N {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(bytes)
}

fn fitting(text: String) -> Result<Subject, TopicError> {
    if text.len() > MAX_SUBJECT_BYTES {
        return Err(TopicError::TooLong { found: text.len() });
    }
    Ok(Subject::from_checked(text))
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02x}", self.0)
    }
}

impl fmt::Display for ReplyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}
