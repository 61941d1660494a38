//! The cases, one file for each part of the federation.

mod backbone;
mod inside;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::ground::Ground;

/// How long a case may take on a busy machine, with the start of its brokers.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) type Case = fn(Ground) -> Pin<Box<dyn Future<Output = ()>>>;

/// Cases by the names of their functions.
macro_rules! cases {
    ($($module:ident::$name:ident),* $(,)?) => {
        vec![$((stringify!($name), (|ground| Box::pin($module::$name(ground))) as Case)),*]
    };
}

pub(crate) fn all() -> Vec<(&'static str, Case)> {
    let mut all =
        cases![backbone::each_mailbox_is_its_own_gateways_alone, backbone::a_wildcard_is_refused,];
    all.extend(cases![
        inside::a_component_answers_within_its_realm,
        inside::a_component_has_its_own_paths_alone,
    ]);
    all
}

/// Runs one on a thread of its own.
pub(crate) fn run(ground: Ground, case: Case) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        tokio::time::timeout(PATIENCE, case(ground)).await.expect("not over in time");
    });
}
