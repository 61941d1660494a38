use std::collections::HashMap;

use super::super::LeaseId;

/// What this gateway has removed and the store has not told yet. Until it has, writings from before are
/// echoes: the lease is gone.
#[derive(Debug, Default)]
pub(super) struct Echoes(HashMap<LeaseId, Gone>);

#[derive(Debug)]
struct Gone {
    revision: u64,
    /// How many removals are still to be told.
    removals: u32,
}

/// A watch that tells no removal for so many is not one.
const MOST: usize = 1 << 20;

impl Echoes {
    /// The writing `revision` of a lease was removed here.
    pub(super) fn removed_here(&mut self, id: LeaseId, revision: u64) {
        if self.0.len() >= MOST {
            self.0.clear();
        }
        let gone = self.0.entry(id).or_insert(Gone { revision, removals: 0 });
        gone.revision = gone.revision.max(revision);
        gone.removals += 1;
    }

    /// Whether a writing that is told is of before.
    pub(super) fn is_echo(&mut self, id: LeaseId, revision: u64) -> bool {
        let echo = self.0.get(&id).is_some_and(|gone| revision <= gone.revision);
        if !echo {
            self.0.remove(&id);
        }
        echo
    }

    /// A removal is told.
    pub(super) fn removal_told(&mut self, id: LeaseId) {
        if let Some(gone) = self.0.get_mut(&id) {
            gone.removals = gone.removals.saturating_sub(1);
            if gone.removals == 0 {
                self.0.remove(&id);
            }
        }
    }

    /// All is told anew.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use mesh_core::mx::MxPath;

    use super::*;

    #[test]
    fn a_writing_from_before_the_removal_is_an_echo_until_that_is_told() {
        let path = MxPath::new("a.emits.b").unwrap();
        let id = LeaseId::of(&path, "shop", &path);
        let mut echoes = Echoes::default();
        assert!(!echoes.is_echo(id, 1));
        echoes.removed_here(id, 3);
        assert!(echoes.is_echo(id, 2) && echoes.is_echo(id, 3));
        // Written again, and removed again, before the first removal is told.
        echoes.removed_here(id, 5);
        echoes.removal_told(id);
        assert!(echoes.is_echo(id, 5));
        echoes.removal_told(id);
        assert!(!echoes.is_echo(id, 5));
        echoes.removed_here(id, 7);
        assert!(!echoes.is_echo(id, 8));
        assert!(echoes.0.is_empty());
    }
}
