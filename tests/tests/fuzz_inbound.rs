//! The fuzz target of a gateway's inbound path, on stable: it builds, and holds for inputs that properties
//! make. `fuzz/` runs the same code for as long as one likes (CONTRIBUTING.md, "Fuzzing").

use mesh_testkit::strategies::{few_envelopes, mailbox_bytes, mutated_bytes, raw_json};
use proptest::prelude::*;

#[path = "../../fuzz/src/inbound.rs"]
#[allow(clippy::expect_used, clippy::panic, unreachable_pub, reason = "it fails loudly")]
mod target;

/// One happening: which one, and what comes with it.
fn happening() -> impl Strategy<Value = Vec<u8>> {
    let encoded = few_envelopes().prop_filter_map("no form", |mut envelope| {
        envelope.to.realm = mesh_core::mx::MxRealm::new("acme.com").ok()?;
        envelope.encode().ok()
    });
    let bytes = prop_oneof![
        4 => encoded,
        3 => mailbox_bytes(),
        2 => mutated_bytes(mailbox_bytes()),
        2 => raw_json().prop_map(|json| json.as_str().as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..64),
    ];
    (any::<u8>(), bytes).prop_map(|(what, bytes)| [&[what][..], &bytes].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_fuzz_target_holds_for_generated_inputs(
        happenings in prop::collection::vec(happening(), 1..32),
    ) {
        target::inbound(&happenings.join(&target::CUT));
    }
}
