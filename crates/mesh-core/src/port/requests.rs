use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::{Incoming, ServeOptions, TransportError};
use crate::identity::{Principal, Responder};
use crate::message::{Headers, Message};
use crate::subject::Filter;

/// Calls that arrive where one serves.
pub type Calls = Incoming<Call>;

/// Questions with one answer.
#[async_trait]
pub trait Requests: Send + Sync + fmt::Debug {
    /// Asks, and waits for the first answer. The transport makes the reply address; one that the
    /// message brings is `Invalid`.
    ///
    /// - `request_is_answered`: payload and headers both ways, byte for byte. \[`Requests`, else
    ///   `Unsupported`]
    /// - `request_reply_address_names_caller_and_responder`:
    ///   `_INBOX.<caller>.<its node or name>.<responder>.<random>`, another for each request.
    ///   \[`ScopedReplies`]
    /// - `request_to_nobody_is_no_responders`: at once, not at the end of the time given.
    /// - `request_without_an_answer_times_out`: not before the time given.
    /// - `request_to_a_denied_subject_is_denied`: at once. \[`Permissions`]
    /// - `request_over_the_limit_is_too_large`.
    /// - `request_answers_are_not_mixed_up`: of many at a time each gets its own.
    /// - `request_late_answer_reaches_nobody`: one that comes after the time given is dropped; the
    ///   next request is not confused.
    /// - `request_with_its_own_reply_address_is_invalid`.
    /// - `request_given_up_midway_confuses_no_other`: dropped before it has returned, it leaves the
    ///   connection usable, and its answer reaches no other.
    /// - `request_after_close_is_closed`.
    async fn request(
        &self,
        responder: Responder,
        message: Message,
        timeout: Duration,
    ) -> Result<Message, TransportError>;

    /// Serves calls, sharing them with the other members of the group.
    ///
    /// - `serve_shares_calls_in_its_group`: each call reaches one member.
    /// - `serve_refuses_a_call_without_a_reply_address`: never handed on; told as `Refused`.
    /// - `serve_refuses_a_foreign_reply_address`: one that is not an inbox naming this responder,
    ///   whatever its look; nothing is sent there; told as `Refused`. \[`ScopedReplies`]
    /// - `serve_refuses_an_ask_or_a_grant_from_anothers_inbox`: what a node asks is answered to that
    ///   node's host, and what only the controller calls to the controller. \[`ScopedReplies`]
    /// - `serve_names_the_caller_where_it_is_proven`: `Call::caller` is the account that asked, or
    ///   nothing; never what a header or the reply address claims.
    /// - `serve_says_when_a_call_arrived`: `Call::arrived`, before the call waited for its reader.
    /// - `serve_answer_over_the_limit_is_too_large`: told to who answers.
    /// - `serve_tells_of_an_answer_that_is_denied`: by `answer` itself, or, where that has returned, as
    ///   `AnswerLost` to who reads the calls, once a flush has returned at the latest; other answers
    ///   reach their callers. \[`Permissions`]
    /// - `serve_to_a_denied_subject_is_denied`. \[`Permissions`]
    /// - `serve_ends_when_dropped`: afterwards requests find nobody.
    /// - `serve_given_up_midway_leaves_nobody`: dropped before it has returned, requests find nobody
    ///   after a flush, and the connection is usable.
    /// - `serve_after_close_is_closed`.
    async fn serve(&self, filter: Filter, options: ServeOptions) -> Result<Calls, TransportError>;
}

/// One call, to be answered at most once.
pub struct Call {
    message: Message,
    caller: Option<Principal>,
    arrived: Option<Duration>,
    answer: Box<dyn Answer>,
}

/// For adapters: where the answer of a [`Call`] goes.
#[async_trait]
pub trait Answer: Send + Sync {
    /// Sends it; returns when it is on its way, before anything this connection sends later. What the
    /// broker says of it after that is told to who reads the calls, as
    /// [`AnswerLost`](super::ReceiveError::AnswerLost).
    async fn send(self: Box<Self>, headers: Headers, payload: Bytes) -> Result<(), TransportError>;
}

impl Call {
    /// For adapters: `caller` only where the broker proves it.
    #[must_use]
    pub fn new(message: Message, caller: Option<Principal>, answer: Box<dyn Answer>) -> Self {
        Self { message, caller, arrived: None, answer }
    }

    /// For adapters: the same with when it [arrived](Self::arrived).
    #[must_use]
    pub fn arrived_at(mut self, at: Duration) -> Self {
        self.arrived = Some(at);
        self
    }

    /// What is asked.
    #[must_use]
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// Who asks, where the broker proves it.
    #[must_use]
    pub fn caller(&self) -> Option<&Principal> {
        self.caller.as_ref()
    }

    /// When it reached this end, on the connection's clock ([`Clock::monotonic`](super::Clock)):
    /// before it waited in a buffer for whoever serves. The time that its caller gave it is counted
    /// from here. Nothing where the adapter does not say.
    #[must_use]
    pub fn arrived(&self) -> Option<Duration> {
        self.arrived
    }

    /// Answers. Returns when the answer is on its way, before anything this connection sends later: a
    /// flush proves that the broker has it, and so does `close`. A refusal that comes after this has
    /// returned is told to who reads the calls, as [`AnswerLost`](super::ReceiveError::AnswerLost); what
    /// was on its way when the connection was lost is covered by
    /// [`Interrupted`](super::ReceiveError::Interrupted). A call that is dropped instead leaves its
    /// caller to time out.
    ///
    /// # Errors
    /// `TooLarge`, `Invalid`, `Closed`, `Disconnected`, and `Denied` where that is known at once: the
    /// caller then hears nothing.
    pub async fn answer(self, headers: Headers, payload: Bytes) -> Result<(), TransportError> {
        self.answer.send(headers, payload).await
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("message", &self.message)
            .field("caller", &self.caller)
            .field("arrived", &self.arrived)
            .finish_non_exhaustive()
    }
}
