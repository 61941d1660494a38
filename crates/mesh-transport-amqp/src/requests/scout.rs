//! A connection beside the session's two, for looks at what may be absent: the broker closes the channel of
//! each that is, and the client never has its number again.

use std::sync::Arc;

use lapin::Channel;
use mesh_core::port::TransportError;
use mesh_session::Session as _;

use super::OPERATION;
use crate::error::lost;
use crate::fate::Fate;
use crate::kept::{Kept, Lasts};
use crate::session::Session;
use crate::wire::Wire;

/// See the module. Dropped, it ends.
#[derive(Debug)]
pub(super) struct Scout {
    pub(super) wire: Wire,
    pub(super) channel: Kept<Channel>,
    fate: Arc<Fate>,
}

impl Scout {
    /// Dials it.
    pub(super) async fn sent_out(session: &Session) -> Result<Arc<Self>, TransportError> {
        // It publishes nothing.
        let fate = Arc::new(Fate::new(0));
        let wire = session.beside("looks", &fate).await?;
        if !session.stands() {
            return Err(lost(OPERATION, session.why()));
        }
        Ok(Arc::new(Self { wire, channel: Kept::default(), fate }))
    }
}

impl Lasts for Scout {
    fn lasts(&self) -> bool {
        self.fate.stands()
    }
}
