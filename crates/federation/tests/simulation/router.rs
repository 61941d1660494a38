//! A node's router: the routes as they are, driven by hand as `RouterBridge` does it.

use bytes::Bytes;
use mesh_core::mx::{DEFAULT_MAX_BYTES, MailboxKind, Passage, Shard, Topic};
use mesh_federation::router::Hop;

use crate::world::World;

impl World {
    pub(crate) fn route(&mut self, node: usize, bytes: &Bytes) {
        let here = &self.nodes[node];
        if here.up.is_none() {
            return self.count("came while down");
        }
        let Ok(passage) = Passage::read(bytes, DEFAULT_MAX_BYTES) else {
            return self.count("malformed");
        };
        let inbox = |realm| Topic::route_inbox(realm, Shard::default());
        let (what, subject, onward) = match here.routes.route(passage.envelope()) {
            Hop::Drop(reason) => return self.count(reason.as_str()),
            Hop::Deliver => {
                ("delivered", MailboxKind::default().subject(&here.realm), bytes.clone())
            }
            Hop::Down(child, ttl) => ("down", inbox(child), passage.with_ttl(ttl).into()),
            Hop::Up(parent, ttl) => ("up", inbox(parent), passage.with_ttl(ttl).into()),
        };
        self.truth.passed_on(here, &passage, &subject, &onward);
        self.count(what);
        self.send(node, &subject, &onward);
    }
}
