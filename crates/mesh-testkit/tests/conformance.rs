//! The suite as an adapter's author runs it, on the reference broker.
#![allow(clippy::unwrap_used, clippy::panic, dead_code, missing_docs, unreachable_pub)]

#[path = "suite/reference/mod.rs"]
mod reference;

use std::process::ExitCode;
use std::sync::Arc;

use mesh_core::port::Capability;
use mesh_testkit::suite;

use reference::Reference;

fn main() -> ExitCode {
    let bare = Reference::with(&[]);
    let filters = Reference::with(&[Capability::Wildcards, Capability::QueueGroups]);
    suite::main(vec![
        ("reference", Arc::new(Reference::honest())),
        ("real time", Arc::new(Reference::honest().in_real_time())),
        ("bare", Arc::new(bare)),
        ("filters", Arc::new(filters)),
    ])
}
