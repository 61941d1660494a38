//! The transport suite on the three brokers in the process, their time moved by hand.
#![expect(unreachable_pub, reason = "a test")]

#[path = "support/memory.rs"]
mod memory;

use std::process::ExitCode;
use std::sync::Arc;

use mesh_testkit::suite;

use memory::{Durable, Exact, Filtering};

fn main() -> ExitCode {
    suite::main(vec![
        ("exact", Arc::new(Exact)),
        ("filter", Arc::new(Filtering)),
        ("durable", Arc::new(Durable)),
    ])
}
