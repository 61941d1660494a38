//! Random operations on the durable broker in the process, beside the model.

use mesh_testkit::model::{self, Operation};
use mesh_testkit::strategies::operations;
use proptest::prelude::*;

use crate::cases;
use crate::memory::Durable;

fn check(steps: &[Operation]) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let checked = runtime.block_on(model::check(&Durable, steps));
    checked.map_err(|divergence| TestCaseError::fail(divergence.to_string()))
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn the_durable_broker_stays_with_the_model_for_a_while(steps in operations(12)) {
        check(&steps)?;
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn the_durable_broker_stays_with_the_model_for_long(steps in operations(60)) {
        check(&steps)?;
    }
}
