use std::collections::HashMap;

use mesh_core::mx::Profile;
use mesh_core::name::RealmName;
use parking_lot::RwLock;

/// In which profile each realm is written to.
#[derive(Debug)]
pub(super) struct Profiles {
    default: Profile,
    others: RwLock<HashMap<RealmName, Profile>>,
}

impl Profiles {
    pub(super) fn new(default: Profile) -> Self {
        Self { default, others: RwLock::default() }
    }

    pub(super) fn of(&self, realm: &RealmName) -> Profile {
        self.others.read().get(realm).copied().unwrap_or(self.default)
    }

    /// From now on; what is under way keeps what it has.
    pub(super) fn set(&self, realm: RealmName, profile: Profile) {
        if profile == self.default {
            self.others.write().remove(&realm);
        } else {
            self.others.write().insert(realm, profile);
        }
    }
}
