//! Random operations on the durable broker in the process, beside the model.

use mesh_testkit::model;
use mesh_testkit::strategies::operations;
use proptest::prelude::*;

use crate::memory::Durable;

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]

    #[test]
    fn the_durable_broker_never_leaves_the_model(steps in operations(40)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        let checked = runtime.block_on(model::check(&Durable, &steps));
        checked.map_err(|divergence| TestCaseError::fail(divergence.to_string()))?;
    }
}
