//! The way to another realm: the direct one first, the backbone where that fails, and never both.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use mesh_core::json::RawJson;
use mesh_core::mx::{AnswerRoute, Profile, Stamp, decode};
use mesh_core::name::RealmName;
use mesh_core::port::SubscribeOptions;
use mesh_federation::{Direct, DirectError, DirectErrorKind, RemoteError};
use mesh_testkit::clock::ManualClock;
use parking_lot::Mutex;

use crate::ground::{Field, Ground, RealmPlan};
use crate::home::{Home, Setup, until};
use crate::peer::{Peer, mailbox_of};

/// A direct way that does what it is told, and keeps what was sent.
#[derive(Debug, Default)]
struct Endpoint {
    fails: Mutex<Option<DirectErrorKind>>,
    sent: Mutex<Vec<Bytes>>,
}

#[async_trait]
impl Direct for Endpoint {
    async fn send(&self, _: &RealmName, envelope: Bytes) -> Result<(), DirectError> {
        self.sent.lock().push(envelope);
        match *self.fails.lock() {
            None => Ok(()),
            Some(kind) => Err(DirectError::new(kind)),
        }
    }
}

struct Bed {
    clock: ManualClock,
    field: Field,
    endpoint: Arc<Endpoint>,
}

impl Bed {
    async fn raise(ground: Ground, fails: Option<DirectErrorKind>) -> Self {
        let clock = ManualClock::new();
        let plans = vec![RealmPlan::new("acme.com").guarded(), RealmPlan::new("été.example")];
        let field = ground.raise(plans, Arc::new(clock.clone())).await;
        let endpoint = Arc::new(Endpoint::default());
        *endpoint.fails.lock() = fails;
        Self { clock, field, endpoint }
    }

    async fn home(&self) -> Home {
        let direct = Some(Arc::clone(&self.endpoint) as Arc<dyn Direct>);
        Home::with(self.field.realm(0), Setup { direct, ..Setup::default() }).await
    }

    fn sent(&self) -> Vec<Bytes> {
        self.endpoint.sent.lock().clone()
    }

    /// Answers the question in `envelope` as the other realm, by its mailbox.
    async fn answer(&self, peer: &Peer<'_>, envelope: &[u8], profile: Profile) {
        let request = decode(envelope, 1 << 20).unwrap();
        let envelope = request.into_envelope(&self.field.realm(1).name).unwrap();
        let route = AnswerRoute::of(&envelope, profile).unwrap();
        // An id that came before would be a replay.
        let stamp = Stamp::new(format!("answer to {}", route.correlation_id()), 0);
        let bytes = route.ok(&stamp, &RawJson::new("[1]").unwrap());
        peer.put(route.realm(), mailbox_of(profile), bytes).await;
    }
}

const URI: &str = "matrix://été.example/desk.accepts.greet";

/// Where the direct way works, nothing is on the backbone; the answer is found all the same.
pub(super) async fn the_direct_way_is_preferred(ground: Ground) {
    let bed = Bed::raise(ground, None).await;
    let home = bed.home().await;
    let peer = Peer::listen(bed.field.realm(1)).await;
    let asked = home.client.call(URI, &RawJson::NULL);
    let answered = async {
        until("a direct message", || async { bed.sent().len() == 1 }).await;
        bed.answer(&peer, &bed.sent()[0], Profile::MxEnv1).await;
    };
    let (asked, ()) = tokio::join!(asked, answered);
    assert_eq!(asked.unwrap().as_str(), "[1]");
    let counts = home.client.outside().counts();
    assert_eq!((counts.direct, counts.backbone, counts.fell_back), (1, 0, 0));
    drop(peer);
    home.close().await;
}

/// Where the direct publish fails or nobody takes it, the very same bytes, and so the same `msgId`, go over
/// the backbone; in the mailbox of the profile that the realm is written to in.
pub(super) async fn the_backbone_is_used_when_the_direct_publish_fails(ground: Ground) {
    use DirectErrorKind::{Failed, NoResponders, NoWay, TooLarge};
    let bed = Bed::raise(ground, None).await;
    let home = bed.home().await;
    let realm = bed.field.realm(1);
    for (profile, kind) in [
        (Profile::MxEnv1, NoResponders),
        (Profile::Legacy, Failed),
        (Profile::MxEnv1, TooLarge),
        (Profile::Legacy, NoWay),
    ] {
        home.client.set_profile(realm.name.clone(), profile);
        *bed.endpoint.fails.lock() = Some(kind);
        let mailbox = mailbox_of(profile).subject(&realm.name).into();
        let transport = realm.between.transport();
        let heard = transport.subscribe(mailbox, SubscribeOptions::default()).await;
        let mut heard = heard.unwrap();
        let asked = home.client.call(URI, &RawJson::NULL);
        let answered = async {
            let message = heard.next().await.unwrap().unwrap();
            assert_eq!(bed.sent().pop().unwrap(), message.payload(), "one message, two ways");
            drop(heard);
            let peer = Peer::deaf(realm);
            bed.answer(&peer, message.payload(), profile).await;
        };
        let (asked, ()) = tokio::join!(asked, answered);
        assert_eq!(asked.unwrap().as_str(), "[1]", "{kind:?}");
    }
    let counts = home.client.outside().counts();
    assert_eq!((counts.direct, counts.backbone, counts.fell_back), (0, 4, 3));
    home.close().await;
}

/// A direct message that may have been taken is never sent again: the call times out.
pub(super) async fn a_time_out_never_sends_again(ground: Ground) {
    let bed = Bed::raise(ground, Some(DirectErrorKind::InDoubt)).await;
    let home = bed.home().await;
    let asked = home.client.call(URI, &RawJson::NULL);
    let passed = async {
        until("a direct message", || async { bed.sent().len() == 1 }).await;
        until("a call that waits", || async { home.client.outside().counts().in_doubt == 1 }).await;
        bed.clock.advance(Duration::from_secs(10)).await;
    };
    let (asked, ()) = tokio::join!(asked, passed);
    let error = asked.unwrap_err();
    assert!(matches!(error, RemoteError::TimedOut), "{error}");
    assert_eq!(home.client.outside().counts().backbone, 0);
    assert_eq!(bed.sent().len(), 1);
    home.close().await;
}

/// A realm whose mailbox nobody reads is told apart from one that does not answer, where the backbone can tell.
pub(super) async fn a_realm_that_nobody_reads_is_unavailable(ground: Ground) {
    let bed = Bed::raise(ground, Some(DirectErrorKind::NoWay)).await;
    let home = bed.home().await;
    if matches!(ground, Ground::Amqp | Ground::AmqpAndMemory) {
        // A provisioned queue takes it, whether anybody reads it or not.
        let asked = home.client.call(URI, &RawJson::NULL);
        let passed = async {
            until("a message", || async { home.client.outside().counts().backbone == 1 }).await;
            bed.clock.advance(Duration::from_secs(10)).await;
        };
        let (asked, ()) = tokio::join!(asked, passed);
        assert!(matches!(asked.unwrap_err(), RemoteError::TimedOut));
    } else {
        let error = home.client.call(URI, &RawJson::NULL).await.unwrap_err();
        assert!(matches!(error, RemoteError::Unavailable(_)), "{error}");
    }
    home.close().await;
}
