//! The names of all fields at an envelope's top, of every profile.

macro_rules! fields {
    ($($field:ident = $name:literal,)*) => {
        /// A known field at an envelope's top.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Field {
            $($field,)*
        }

        impl Field {
            pub(super) const ALL: &[Self] = &[$(Self::$field,)*];

            pub(super) const fn name(self) -> &'static str {
                match self {
                    $(Self::$field => $name,)*
                }
            }

            pub(super) fn of(key: &str) -> Option<Self> {
                match key {
                    $($name => Some(Self::$field),)*
                    _ => None,
                }
            }
        }
    };
}

fields! {
    MsgType = "msgType",
    To = "to",
    From = "from",
    ReplyTo = "replyTo",
    MsgId = "msgId",
    CorrelationId = "correlationId",
    Ttl = "ttl",
    Timestamp = "timestamp",
    TraceId = "traceId",
    Principal = "principal",
    Auth = "auth",
    Body = "body",
    Error = "error",
    FromRealm = "fromRealm",
    ToRealm = "toRealm",
    FromPath = "fromPath",
    ToPath = "toPath",
    ReplyToRealm = "replyToRealm",
    ReplyToPath = "replyToPath",
    TtlMs = "ttlMs",
    Params = "params",
    Payload = "payload",
    Ok = "ok",
    Result = "result",
}

impl Field {
    pub(super) const COUNT: usize = Self::ALL.len();

    /// The fields that MXENV/1 writes itself: those up to `error` in the list above.
    pub(super) fn is_mxenv(self) -> bool {
        (self as usize) <= (Self::Error as usize)
    }
}
