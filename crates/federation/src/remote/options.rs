use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::json::RawJson;
use mesh_core::mx::Profile;
use mesh_core::port::SubscribeOptions;

use crate::edge::GatewayOptions;
use crate::lease::FederationOptions;
use crate::{AnswerLimits, HostOptions, LocalOptions, OsRandom, Random};

/// How a [`RealmClient`](super::RealmClient) works.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_structs, reason = "callers name fields and take the rest from Default")]
pub struct RealmOptions {
    /// How long a call may take. 10 s unless told: a gateway waits for its component for 5.
    pub deadline: Duration,
    /// In which profile realms are written to of which nothing else was said. MXENV/1 unless told.
    pub profile: Profile,
    /// How long the leases of watches last. 60 s unless told, an hour at most (protocol §8).
    pub lease: Duration,
    /// How long a watch goes on trying to have its lease again, once it has none. 10 min unless told.
    pub patience: Duration,
    /// How many watches there may be at a time. 1,024 unless told.
    pub watches: usize,
    /// How many events of one watch may wait for its reader. 1,024 unless told. Those beyond are lost,
    /// and the reader is told how many.
    pub watch_buffer: NonZeroUsize,
    /// How many calls to other realms may wait for an answer.
    pub answers: AnswerLimits,
    /// How the realm's gateway works, where it is the client's own; whatever `answers` it names are
    /// replaced by the client's.
    pub gateway: GatewayOptions,
    /// How other realms watch this realm's events, where the client sees to that. As
    /// [`FederationOptions`] are unless told; `None`: nobody can, or another facade of the realm does it.
    pub events: Option<FederationOptions>,
    /// How this realm's components are hosted.
    pub host: HostOptions,
    /// How calls within this realm are made.
    pub local: LocalOptions,
    /// Where ids come from.
    pub random: Arc<dyn Random>,
}

impl Default for RealmOptions {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(10),
            profile: Profile::MxEnv1,
            lease: Duration::from_secs(60),
            patience: Duration::from_secs(600),
            watches: 1024,
            watch_buffer: SubscribeOptions::default().buffer,
            answers: AnswerLimits::default(),
            gateway: GatewayOptions::default(),
            events: Some(FederationOptions::default()),
            host: HostOptions::default(),
            local: LocalOptions::default(),
            random: Arc::new(OsRandom::new()),
        }
    }
}

/// What one call or event has of its own.
#[derive(Debug, Clone, Default)]
#[expect(clippy::exhaustive_structs, reason = "callers name fields and take the rest from Default")]
pub struct CallOptions {
    /// How long it may take, where that is not the client's `deadline`.
    pub deadline: Option<Duration>,
    /// Its `msgId`, where the same message may be sent more than once: a realm handles it once. Fresh
    /// unless told.
    pub msg_id: Option<String>,
    /// Who it is sent for: a text, or `{"iss", "sub"}`.
    pub principal: Option<RawJson<'static>>,
    /// In which profile it is sent, where that is not the one that the realm is written to in.
    pub profile: Option<Profile>,
    /// Its trace. The legacy profile has no place for it, and goes without.
    pub trace_id: Option<String>,
}
