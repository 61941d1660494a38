//! How a session ends, and who is told.

use mesh_core::port::TransportError;

use super::Session;

impl mesh_session::Session for Session {
    fn id(&self) -> u64 {
        self.id
    }

    fn stands(&self) -> bool {
        !self.hearing.is_lost()
    }

    async fn over(&self) -> TransportError {
        self.lost().await;
        self.hearing.lost_error()
    }

    fn end(&self, why: &TransportError) {
        self.pending.end(why);
        self.abandon(&why.to_string());
    }
}

impl Session {
    /// Returns when the connection is lost.
    pub(crate) async fn lost(&self) {
        self.hearing.lost().await;
    }

    /// Gives it up for this reason, so that another is made.
    pub(crate) fn abandon(&self, why: &str) {
        self.hearing.give_up(why);
    }
}
