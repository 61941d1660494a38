//! Properties over whatever the strategies of `mesh-testkit` make.
#![expect(unreachable_pub, reason = "a test")]

#[path = "../support/memory.rs"]
#[allow(dead_code, reason = "other tests use the other beds")]
mod memory;
mod model;
