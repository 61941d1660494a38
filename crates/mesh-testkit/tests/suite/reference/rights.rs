use mesh_core::identity::Principal;
use mesh_core::permissions::Permissions;

use super::state::State;

impl State {
    /// Gives each connection of that principal other rights, and ends what they don't allow.
    pub fn set_permissions(&mut self, principal: &Principal, permissions: &Permissions) {
        let theirs = |(id, other): (&u64, &Principal)| (other == principal).then_some(*id);
        let theirs: Vec<u64> = self.principals.iter().filter_map(theirs).collect();
        if self.breaks("keeps every right") {
            return;
        }
        let open = self.breaks("leaves subscriptions without a right");
        let silent = self.breaks("ends what has no right in silence");
        let all = self.breaks("ends everything of who lost a right");
        for id in theirs {
            self.rights.insert(id, permissions.clone());
            for other in self.subscriptions.iter_mut().filter(|other| other.connection == id) {
                let may = permissions.subscribe.permits_filter(&other.filter, other.group.as_ref());
                other.rules = permissions.subscribe.clone();
                if (!may || all) && !open && !other.ended {
                    (other.ended, other.denied) = (true, !silent);
                }
            }
            if self.breaks("hangs up when a right is lost") {
                self.closed.insert(id);
            }
        }
        self.changed();
    }
}
