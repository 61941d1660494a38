use super::{Guard, Inbound, Now, Refusal, Stage, Verdict};

/// Drops what would have us send the answer to a third realm: `replyTo.realm` must be
/// `from.realm`, byte for byte (protocol §8).
///
/// A message that names no realm for the answer is answered to where it came from, and passes.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::exhaustive_structs, reason = "it has nothing to set")]
pub struct Relay;

impl Guard for Relay {
    fn name(&self) -> &'static str {
        "relay"
    }

    fn stage(&self) -> Stage {
        Stage::Relay
    }

    fn check(&self, inbound: &Inbound<'_>, _now: Now) -> Verdict {
        match inbound.reply_to_realm {
            Some(answer_to) if inbound.from_realm != Some(answer_to) => {
                Verdict::Refuse(Refusal::silent("the answer would go to another realm"))
            }
            _ => Verdict::Pass,
        }
    }
}
