use std::fmt;

/// Why a message does not prove its realm. The sender is told nothing: the message is dropped and counted by
/// this reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refused {
    /// It has no `auth`.
    NoToken,
    /// It came in the legacy profile, which has no place for a token.
    Legacy,
    /// `auth` is no JSON string, or its text no token: three parts in base64url, a header and claims as the
    /// protocol wants them.
    Malformed,
    /// The token is longer than 4 KiB.
    TooLong,
    /// `alg` is neither `EdDSA` nor `ES256`.
    Algorithm,
    /// `typ` is not `mx+jwt`: it was made for something else.
    Type,
    /// `kid` is missing, empty or longer than 128 bytes.
    KeyId,
    /// The header brings or names a key: `jwk`, `jku` or one of `x5u`, `x5c`, `x5t`, `x5t#S256`.
    ForeignKey,
    /// The header asks for what this version does not do: `crit`, `b64`, `enc`, `zip`.
    Critical,
    /// `iss` is not the sending realm.
    Issuer,
    /// `aud` is not the receiving realm.
    Audience,
    /// `jti` is not the `msgId`.
    MessageId,
    /// `exp` has passed.
    Expired,
    /// `nbf` or `iat` is still to come.
    NotYet,
    /// It would be good for longer than a token may be.
    Lifetime,
    /// `mx.type` is not the `msgType`.
    Kind,
    /// `mx.to` or `mx.from` is not the path.
    Path,
    /// `mx.replyTo` is not where the answer would go.
    ReplyTo,
    /// `mx.correlationId` is not the `correlationId`.
    CorrelationId,
    /// `mx.principal` is not the principal's hash.
    Principal,
    /// `mx.body` or `mx.error` is not the hash of the body or error.
    Body,
    /// The realm's keys can't be had.
    NoKeys,
    /// The realm has no key of that id.
    UnknownKey,
    /// The key of that id is for the other algorithm.
    KeyType,
    /// The signature is not by that key, or not over these claims.
    Signature,
}

impl Refused {
    /// All reasons.
    pub const ALL: &[Self] = &[
        Self::NoToken,
        Self::Legacy,
        Self::Malformed,
        Self::TooLong,
        Self::Algorithm,
        Self::Type,
        Self::KeyId,
        Self::ForeignKey,
        Self::Critical,
        Self::Issuer,
        Self::Audience,
        Self::MessageId,
        Self::Expired,
        Self::NotYet,
        Self::Lifetime,
        Self::Kind,
        Self::Path,
        Self::ReplyTo,
        Self::CorrelationId,
        Self::Principal,
        Self::Body,
        Self::NoKeys,
        Self::UnknownKey,
        Self::KeyType,
        Self::Signature,
    ];

    /// The name it is counted by.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.texts().0
    }

    /// In words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.texts().1
    }

    const fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::NoToken => ("no_token", "no token, and this realm has to prove itself"),
            Self::Legacy => ("legacy", "a legacy envelope can't prove its realm"),
            Self::Malformed => ("malformed", "`auth` is no token"),
            Self::TooLong => ("too_long", "the token is too long"),
            Self::Algorithm => ("algorithm", "the token's algorithm is not allowed"),
            Self::Type => ("type", "the token is of another type"),
            Self::KeyId => ("key_id", "the token names no key"),
            Self::ForeignKey => ("foreign_key", "the token brings a key of its own"),
            Self::Critical => ("critical", "the token's header asks for more than is understood"),
            Self::Issuer => ("issuer", "the token is of another realm"),
            Self::Audience => ("audience", "the token is for another realm"),
            Self::MessageId => ("message_id", "the token is for another message"),
            Self::Expired => ("expired", "the token has expired"),
            Self::NotYet => ("not_yet", "the token is not valid yet"),
            Self::Lifetime => ("lifetime", "the token is valid for too long"),
            Self::Kind => ("kind", "the token is for another type of message"),
            Self::Path => ("path", "the token is for another path"),
            Self::ReplyTo => ("reply_to", "the token is for another way back"),
            Self::CorrelationId => ("correlation_id", "the token is for another correlation"),
            Self::Principal => ("principal", "the token is for another principal"),
            Self::Body => ("body", "the token is for another body"),
            Self::NoKeys => ("no_keys", "the realm's keys can't be had"),
            Self::UnknownKey => ("unknown_key", "the realm has no such key"),
            Self::KeyType => ("key_type", "the realm's key is for another algorithm"),
            Self::Signature => ("signature", "the token's signature is wrong"),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl std::error::Error for Refused {}
