//! What a nats-server says to whoever tries something, what `perm::can` says of it from the files alone, and what the
//! broker in the process says, held against each other over random meshes, in both layouts and both ways to answer;
//! and that no grant is more than the mesh needs.
//!
//! `MESH_BED_CHECKS` is how many tries there are in all four modes together, 20 000 unless told; `MESH_BED_SEED`
//! which meshes and tries they are.
#![expect(unreachable_pub, reason = "a test")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test")]
#![allow(clippy::print_stdout, reason = "how much was tried is part of the result")]

mod answers;
mod arbitrary;
mod compare;
mod crossing;
mod doing;
mod fails;
mod flows;
mod ground;
mod minimal;
mod minimal_on_server;
mod probes;
mod verdicts;
mod world;
