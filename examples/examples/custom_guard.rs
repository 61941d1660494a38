//! A guard of one's own in the chain of a gateway: it refuses messages that are too large.
//!
//! Run it with `cargo run -p mesh-examples --example custom_guard`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::time::Duration;

use mesh_core::guard::{
    EdgeGuards, Guard, GuardChain, HashSecret, Inbound, Now, Refusal, Stage, Verdict,
};
use mesh_core::mx::MsgType;
use mesh_core::name::RealmName;
use mesh_core::time::Timestamp;

/// Refuses envelopes over a number of bytes, before anything is remembered of them.
#[derive(Debug)]
struct MaxSize {
    bytes: usize,
}

impl Guard for MaxSize {
    fn name(&self) -> &'static str {
        "max-size"
    }

    fn stage(&self) -> Stage {
        Stage::Relay // after the relay guard, before the replay guard
    }

    fn check(&self, inbound: &Inbound<'_>, _now: Now) -> Verdict {
        if inbound.encoded_bytes > self.bytes {
            let message = format!("larger than {} bytes", self.bytes);
            return Verdict::Refuse(Refusal::answered("ACME.TOO_LARGE", message));
        }
        Verdict::Pass
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    // In earnest these are 16 random bytes, and the time comes from a clock.
    let secret = HashSecret::new(*b"not so secret :)");
    let now = Now { wall: Timestamp::from_millis(1_750_000_000_000), monotonic: Duration::ZERO };
    let chain = GuardChain::standard(EdgeGuards::new(RealmName::new("acme.com")?, secret))
        .enforce(MaxSize { bytes: 65_536 })
        .build();

    let mut message = Inbound::new(MsgType::Cmd);
    message.from_realm = Some("partner.org");
    message.to_realm = Some("acme.com");
    message.to_path = Some("mail.accepts.send");
    for (id, kind, bytes) in [
        ("m-1", MsgType::Cmd, 900),
        ("m-2", MsgType::Cmd, 1_000_000), // a command is answered
        ("m-3", MsgType::Evt, 1_000_000), // an event is not
    ] {
        message.msg_id = Some(id);
        message.kind = kind;
        message.encoded_bytes = bytes;
        let decision = chain.check_traced(&message, now);
        println!("{id}, {kind:?} of {bytes} bytes: {}", decision.outcome);
        if let Some(trace) = decision.trace {
            for step in trace.steps() {
                println!("  {step}");
            }
        }
    }
    Ok(())
}
