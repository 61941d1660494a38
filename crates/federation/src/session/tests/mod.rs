mod model;
mod serve;
mod table;

use std::time::Duration;

use mesh_core::guard::Now;
use mesh_core::mx::Profile;
use mesh_core::name::RealmName;
use mesh_core::time::Timestamp;

use super::*;

fn realm(name: &str) -> RealmName {
    RealmName::new(name).unwrap()
}

fn at(millis: u64) -> Now {
    Now {
        wall: Timestamp::from_millis(1_700_000_000_000 + i64::try_from(millis).unwrap()),
        monotonic: Duration::from_millis(millis),
    }
}
