use mesh_core::guard::Now;
use mesh_core::mx::{EdgeCode, Fault, ReplyId, decode_reply};

use super::pending::{Found, Request};
use super::tally::count;
use super::{Edge, Outgoing};

/// What a reply on the realm's own bus became.
#[derive(Debug)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "answered, too late, or another's")]
#[allow(clippy::large_enum_variant, reason = "taken apart at once")]
pub enum Replied {
    /// The answer to its request.
    Answer(Outgoing),
    /// Nothing: its request has ended. Discarded and counted.
    Late,
    /// Nothing: it answers no request of this gateway's, as far as that is remembered.
    Unknown,
}

impl Replied {
    /// The answer, if it is one.
    #[must_use]
    pub fn answer(self) -> Option<Outgoing> {
        match self {
            Self::Answer(answer) => Some(answer),
            Self::Late | Self::Unknown => None,
        }
    }
}

impl Edge {
    /// Takes what came on the reply topic `id`. The first reply wins; how it is read stands at
    /// [`decode_reply`]. One that no envelope of
    /// [`max_answer_bytes`](super::EdgeLimits::max_answer_bytes) can carry becomes
    /// `MX.EDGE.HANDLER_ERROR`.
    pub fn reply(&self, id: ReplyId, bytes: &[u8], now: Now) -> Replied {
        let Request { route, mailbox, slot, since, .. } = match self.pending.end(id) {
            Found::Request(request) => request,
            Found::Late => {
                count(&self.tally.late_replies);
                return Replied::Late;
            }
            Found::Unknown => {
                count(&self.tally.other_replies);
                return Replied::Unknown;
            }
        };
        count(&self.tally.replied);
        let stamp = self.stamp(now);
        let bytes = match decode_reply(bytes, self.limits.max_bytes) {
            Ok(body) => route.ok(&stamp, &body),
            Err(fault) => route.failed(&stamp, &fault),
        };
        let is_large = bytes.len() > self.limits.max_answer_bytes;
        let answer = Outgoing { route, mailbox, bytes: bytes.into(), slot: Some(slot), since };
        Replied::Answer(if is_large { self.too_large(answer, now) } else { answer })
    }

    /// The answer to send in place of one that the backbone can't carry.
    pub fn too_large(&self, answer: Outgoing, now: Now) -> Outgoing {
        count(&self.tally.oversized);
        let Outgoing { route, mailbox, slot, since, .. } = answer;
        let fault = Fault::edge(EdgeCode::HandlerError, "the answer is too large");
        self.failed((route, mailbox, slot, since), &fault, now)
    }

    /// The answer `MX.EDGE.TIMEOUT` to one of the requests whose time is over at `now`. To be called
    /// until there is none.
    pub fn expire(&self, now: Now) -> Option<Outgoing> {
        let request = self.pending.expired(now.monotonic)?;
        Some(self.timed_out(request, "no component answered in time", now))
    }

    /// The same for a request whose time is not over, since the gateway ends.
    pub(super) fn give_up(&self, now: Now) -> Option<Outgoing> {
        let request = self.pending.expired(std::time::Duration::MAX)?;
        Some(self.timed_out(request, "the gateway was closed before a component answered", now))
    }

    fn timed_out(&self, request: Request, words: &'static str, now: Now) -> Outgoing {
        count(&self.tally.timed_out);
        let fault = Fault::edge(EdgeCode::Timeout, words);
        let Request { route, mailbox, slot, since, .. } = request;
        self.failed((route, mailbox, Some(slot), since), &fault, now)
    }
}
