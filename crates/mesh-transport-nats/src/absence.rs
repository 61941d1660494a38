//! Whether it means that a stream or a consumer is gone if nobody answers for it.
//!
//! A server that stops in good order ends its streams before its connections, so for a moment all of them
//! look deleted; one that retires does so for minutes, and says it. In a cluster one has nobody while it has
//! no leader. So it counts as gone only once nobody has answered for a while, in a session that stands, with a
//! server that stays.

use std::time::Duration;

use mesh_session::Session as _;
use tokio::time::Instant;

use crate::session::Session;

/// For a call, on a single server.
pub(crate) const FOR_A_CALL: Duration = Duration::from_secs(1);
/// For a reader that has read, on a single server.
pub(crate) const FOR_A_READER: Duration = Duration::from_secs(3);
/// In a cluster: the next leader comes some seconds after the last one's loss.
const LEADERLESS: Duration = Duration::from_secs(60);

/// Since when nobody has answered.
#[derive(Debug, Default)]
pub(crate) struct Absence {
    since: Option<(u64, Instant)>,
}

impl Absence {
    /// Somebody has.
    pub(crate) fn over(&mut self) {
        self.since = None;
    }

    /// Nobody has, in this session. Answers whether that is final; on a single server, after so long.
    pub(crate) fn is_final(&mut self, session: &Session, patience: Duration) -> bool {
        let patience = if session.in_cluster() { LEADERLESS } else { patience };
        session.stands()
            && !session.retires()
            && self.lasts(session.id, session.in_cluster()) >= patience
    }

    /// For how long. Another session with a single server is with one that was started anew.
    fn lasts(&mut self, session: u64, in_cluster: bool) -> Duration {
        let since = match self.since {
            Some((id, since)) if id == session || in_cluster => since,
            _ => Instant::now(),
        };
        self.since = Some((session, since));
        since.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_absence_lasts_through_a_session_and_in_a_cluster_through_several() {
        let second = Duration::from_secs(1);
        let mut absence = Absence::default();
        assert_eq!(absence.lasts(1, false), Duration::ZERO);
        tokio::time::advance(second).await;
        assert_eq!(absence.lasts(1, false), second);
        assert_eq!(absence.lasts(2, true), second);
        assert_eq!(absence.lasts(3, false), Duration::ZERO);
        tokio::time::advance(second).await;
        absence.over();
        assert_eq!(absence.lasts(3, false), Duration::ZERO);
    }
}
