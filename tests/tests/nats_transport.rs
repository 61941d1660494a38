//! The transport suite on a real nats-server, in one account and in the split layout.
#![expect(unreachable_pub, reason = "a test")]

#[path = "support/nats.rs"]
mod nats;

use std::process::ExitCode;
use std::sync::Arc;

use mesh_testkit::suite;

use nats::Nats;

fn main() -> ExitCode {
    suite::main(vec![("nats", Arc::new(Nats::OneAccount)), ("nats_split", Arc::new(Nats::Split))])
}
