mod chaos;
mod cut;
pub(crate) mod ground;
mod model;
mod reached;
mod serve;
mod shared;
mod table;
mod trouble;

use std::time::Duration;

use mesh_core::guard::Now;
use mesh_core::mx::{MxPath, Profile};
use mesh_core::name::RealmName;
use mesh_core::time::Timestamp;

use super::*;

fn realm(name: &str) -> RealmName {
    RealmName::new(name).unwrap()
}

fn path(text: &str) -> MxPath<'static> {
    MxPath::new(text.to_owned()).unwrap()
}

/// Both clocks at this many milliseconds.
fn at(millis: u64) -> Now {
    Now {
        wall: Timestamp::from_millis(1_700_000_000_000 + i64::try_from(millis).unwrap()),
        monotonic: Duration::from_millis(millis),
    }
}

fn ask(source: &str, sink_realm: &str, sink_path: &str) -> LeaseAsk<'static> {
    LeaseAsk {
        source: path(source),
        sink_realm: realm(sink_realm),
        sink_path: path(sink_path),
        profile: Profile::MxEnv1,
        lease: None,
    }
}
