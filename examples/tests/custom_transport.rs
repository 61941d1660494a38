//! The suite on the transport of the example, each case by its name, as an adapter's own test has it.

#[path = "../examples/custom_transport/broker.rs"]
mod broker;
#[path = "../examples/custom_transport/harness.rs"]
mod harness;
#[path = "../examples/custom_transport/link.rs"]
mod link;
#[path = "../examples/custom_transport/transport.rs"]
mod transport;
#[path = "../examples/custom_transport/wire.rs"]
mod wire;

use std::process::ExitCode;
use std::sync::Arc;

use mesh_testkit::suite;

fn main() -> ExitCode {
    suite::main(vec![("tiny", Arc::new(harness::Tiny))])
}
