//! The transport suite on a real RabbitMQ.
#![expect(unreachable_pub, reason = "a test")]

#[path = "support/amqp.rs"]
mod amqp;

use std::process::ExitCode;
use std::sync::Arc;

use mesh_testkit::suite;

use amqp::Amqp;

fn main() -> ExitCode {
    suite::main(vec![("amqp", Arc::new(Amqp))])
}
