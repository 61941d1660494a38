//! Whatever comes by a realm's mailboxes, and whatever its components reply.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mesh_fuzz::inbound(bytes));
