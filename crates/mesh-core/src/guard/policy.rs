use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::{Guard, Inbound, Now, Refusal, Stage, Verdict};
use crate::mx::EdgeCode;

/// A rule of one's own about what other realms may do.
///
/// A policy sees messages whose sender is a claim, unless a security guard stands before it and the
/// message is [`proven`](Inbound::proven): allow by realm only what anybody may do, or what is proven.
pub trait Policy: Send + Sync + fmt::Debug {
    /// Whether the message is allowed.
    fn rule(&self, inbound: &Inbound<'_>) -> Ruling;
}

impl<P: Policy + ?Sized> Policy for Arc<P> {
    fn rule(&self, inbound: &Inbound<'_>) -> Ruling {
        (**self).rule(inbound)
    }
}

/// What a [`Policy`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "allowed or not")]
pub enum Ruling {
    /// It is allowed.
    Allow,
    /// It is not; the text is told to a sender that waits for an answer.
    Deny(Cow<'static, str>),
}

/// Asks a [`Policy`], and answers a denial with [`EdgeCode::PolicyDenied`](crate::mx::EdgeCode::PolicyDenied).
#[derive(Debug, Clone)]
pub struct PolicyGuard<P> {
    policy: P,
}

impl<P: Policy> PolicyGuard<P> {
    /// A guard that asks `policy`.
    #[must_use]
    pub const fn new(policy: P) -> Self {
        Self { policy }
    }
}

impl<P: Policy> Guard for PolicyGuard<P> {
    fn name(&self) -> &'static str {
        "policy"
    }

    fn stage(&self) -> Stage {
        Stage::Policy
    }

    fn check(&self, inbound: &Inbound<'_>, _now: Now) -> Verdict {
        match self.policy.rule(inbound) {
            Ruling::Allow => Verdict::Pass,
            Ruling::Deny(message) => {
                Verdict::Refuse(Refusal::answered(EdgeCode::PolicyDenied.as_str(), message))
            }
        }
    }
}

/// Denies paths that begin with one of some prefixes, and allows all others.
///
/// A prefix ends where a part of the path ends: `admin` denies `admin`, `admin.accepts.stop` and
/// `admin/users.accepts.list`, not `administration.accepts.list`. An empty prefix denies all.
///
/// ```
/// use mesh_core::guard::{Inbound, Policy, PrefixDeny, Ruling};
/// use mesh_core::mx::MsgType;
///
/// let policy = PrefixDeny::new(["admin"]);
/// let mut inbound = Inbound::new(MsgType::Cmd);
/// inbound.to_path = Some("admin.accepts.stop");
/// assert!(matches!(policy.rule(&inbound), Ruling::Deny(_)));
/// inbound.to_path = Some("mail.accepts.send");
/// assert_eq!(policy.rule(&inbound), Ruling::Allow);
/// ```
#[derive(Debug, Clone)]
pub struct PrefixDeny {
    prefixes: Vec<String>,
}

impl PrefixDeny {
    /// Denies these prefixes.
    #[must_use]
    pub fn new(prefixes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { prefixes: prefixes.into_iter().map(Into::into).collect() }
    }
}

impl Policy for PrefixDeny {
    fn rule(&self, inbound: &Inbound<'_>) -> Ruling {
        let path = inbound.to_path.unwrap_or("");
        let denied = self.prefixes.iter().any(|prefix| {
            path.strip_prefix(prefix.as_str()).is_some_and(|rest| {
                rest.is_empty()
                    || rest.starts_with(['.', '/'])
                    || prefix.is_empty()
                    || prefix.ends_with(['.', '/'])
            })
        });
        if denied {
            Ruling::Deny(Cow::Borrowed("this path is closed to other realms"))
        } else {
            Ruling::Allow
        }
    }
}
