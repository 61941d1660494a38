use async_trait::async_trait;
use bytes::Bytes;
use mesh_core::mx::{Address, Envelope, MsgType, Party};
use mesh_core::port::{
    Capabilities, CloseReport, ConnectionStates, ErrorKind, Operation, PublishOptions,
    SubscribeOptions, Transport, TransportError,
};
use mesh_core::time::Timestamp;
use parking_lot::Mutex;

use super::super::{Sign, SignError};
use super::*;

/// A direct way that does as it is told, and notes what it was given.
#[derive(Debug, Default)]
struct Way {
    fails: Option<DirectErrorKind>,
    hangs: bool,
    given: Mutex<Vec<Bytes>>,
}

#[async_trait]
impl Direct for Way {
    async fn send(&self, realm: &RealmName, envelope: Bytes) -> Result<(), DirectError> {
        assert_eq!(*realm, shop());
        self.given.lock().push(envelope);
        if self.hangs {
            std::future::pending::<()>().await;
        }
        match self.fails {
            Some(kind) => Err(DirectError::new(kind).detail("as it is told")),
            None => Ok(()),
        }
    }
}

async fn bed(way: &Arc<Way>) -> Bed {
    let direct = Arc::clone(way) as Arc<dyn Direct>;
    Bed::with(RealmOptions::default(), |outside| outside.with_direct(direct)).await
}

#[tokio::test]
async fn the_direct_way_is_preferred_and_the_backbone_hears_nothing() {
    let way = Arc::new(Way::default());
    let bed = bed(&way).await;
    let mut shop = bed.shop().await;
    let asking = bed.call("1");
    settle().await;
    shop.nothing_came().await;
    let message = Message::new(KINDS[1].subject(&super::shop()), way.given.lock()[0].clone());
    shop.answer(&Came { kind: KINDS[1], message }, Ok("2")).await;
    assert_eq!(asking.await.unwrap().unwrap().as_str(), "2");
    let counts = bed.client.outside().counts();
    assert_eq!((counts.direct, counts.backbone), (1, 0));
}

#[tokio::test]
async fn the_backbone_is_used_with_the_same_message_when_the_direct_publish_fails() {
    use DirectErrorKind::{Failed, NoResponders, NoWay, TooLarge};
    for kind in [NoWay, NoResponders, Failed, TooLarge] {
        for profile in Profile::ALL.iter().copied() {
            let way = Arc::new(Way { fails: Some(kind), ..Way::default() });
            let bed = bed(&way).await;
            bed.client.set_profile(shop(), profile);
            let mut shop = bed.shop().await;
            let asking = bed.call("1");
            let came = shop.next().await;
            assert_eq!(*way.given.lock(), [came.message.payload().clone()], "same msgId");
            shop.answer(&came, Ok("2")).await;
            assert_eq!(asking.await.unwrap().unwrap().as_str(), "2");
            let counts = bed.client.outside().counts();
            let fell_back = u64::from(kind != NoWay);
            assert_eq!((counts.direct, counts.fell_back, counts.backbone), (0, fell_back, 1));
        }
    }
}

/// A time-out is not a failed publish: the message may have been taken.
#[tokio::test]
async fn what_may_have_been_taken_is_never_sent_again_and_its_answer_is_awaited() {
    let way = Arc::new(Way { fails: Some(DirectErrorKind::InDoubt), ..Way::default() });
    let bed = bed(&way).await;
    let mut shop = bed.shop().await;
    let asking = bed.call("1");
    settle().await;
    shop.nothing_came().await;
    let message = Message::new(KINDS[1].subject(&super::shop()), way.given.lock()[0].clone());
    shop.answer(&Came { kind: KINDS[1], message }, Ok("2")).await;
    assert_eq!(asking.await.unwrap().unwrap().as_str(), "2");

    let unanswered = bed.call("1");
    settle().await;
    bed.clock.advance(Duration::from_secs(10)).await;
    assert!(matches!(unanswered.await.unwrap(), Err(RemoteError::TimedOut)));
    shop.nothing_came().await;
    let uri = MxUri::parse("matrix://shop.example/stock.emits.changed").unwrap();
    let told = bed.client.tell(&uri, &RawJson::NULL, &CallOptions::default()).await;
    assert!(matches!(told.unwrap_err(), RemoteError::TimedOut), "it may have been sent");
    assert_eq!(bed.client.outside().counts().in_doubt, 3);
}

#[tokio::test]
async fn a_direct_way_that_hangs_costs_the_deadline_and_sends_nothing_else() {
    let way = Arc::new(Way { hangs: true, ..Way::default() });
    let bed = bed(&way).await;
    let mut shop = bed.shop().await;
    let asking = bed.call("1");
    settle().await;
    bed.clock.advance(Duration::from_secs(10)).await;
    assert!(matches!(asking.await.unwrap(), Err(RemoteError::TimedOut)));
    shop.nothing_came().await;
    assert_eq!(bed.client.answers().counts().pending, 0);
}

#[tokio::test]
async fn when_both_ways_fail_the_backbones_error_is_told() {
    let way = Arc::new(Way { fails: Some(DirectErrorKind::Failed), ..Way::default() });
    let bed = bed(&way).await;
    let error = bed.client.call(COUNT, &RawJson::NULL).await.unwrap_err();
    assert!(matches!(error, RemoteError::Unavailable(_)), "{error}");
    let counts = bed.client.outside().counts();
    assert_eq!((counts.fell_back, counts.failed, counts.backbone), (1, 1, 0));
}

#[tokio::test]
async fn without_the_check_a_message_to_nobody_is_sent() {
    let bed = Bed::with(RealmOptions::default(), ResolvedClient::without_receiver_check).await;
    let uri = MxUri::parse("matrix://shop.example/stock.emits.changed").unwrap();
    let from = us();
    let to = Address::new(uri.realm().borrowed(), uri.path().borrowed());
    let envelope = Envelope::new(MsgType::Evt, Party::new(&from, None), to);
    let outside = bed.client.outside();
    let sent = outside.send(envelope, Profile::MxEnv1, Duration::from_secs(1)).await;
    assert!(sent.unwrap_err().to_string().contains("msgId"), "MXENV/1 wants one");
    bed.client.tell(&uri, &RawJson::NULL, &CallOptions::default()).await.unwrap();
    assert_eq!(outside.counts().backbone, 1);
}

#[derive(Debug)]
struct Seal {
    fails: bool,
}

impl Sign for Seal {
    fn sign(&self, envelope: &Envelope<'_>, now: Timestamp) -> Result<RawJson<'static>, SignError> {
        if self.fails {
            return Err(SignError::new("the key is away"));
        }
        let id = envelope.msg_id.as_deref().unwrap_or_default();
        Ok(RawJson::string(&format!("{id}@{}", now.as_millis())))
    }
}

#[tokio::test]
async fn a_signer_proves_what_is_sent_in_mxenv1_and_legacy_goes_without() {
    let seal = Arc::new(Seal { fails: false });
    let bed = Bed::with(RealmOptions::default(), |outside| outside.with_signer(seal)).await;
    let mut other = bed.shop().await;
    for profile in Profile::ALL.iter().copied() {
        bed.client.set_profile(shop(), profile);
        let asking = bed.call("1");
        let came = other.next().await;
        let auth = format!(r#""auth":"{}@1767225600000""#, came.msg_id());
        assert_eq!(came.text().contains(&auth), profile == Profile::MxEnv1, "{}", came.text());
        other.answer(&came, Ok("1")).await;
        asking.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn what_cant_be_signed_is_not_sent() {
    let seal = Arc::new(Seal { fails: true });
    let bed = Bed::with(RealmOptions::default(), |outside| outside.with_signer(seal)).await;
    let mut shop = bed.shop().await;
    let error = bed.client.call(COUNT, &RawJson::NULL).await.unwrap_err();
    assert!(matches!(error, RemoteError::Sign(_)), "{error}");
    shop.nothing_came().await;
    assert_eq!(bed.client.answers().counts().pending, 0);
}

/// A backbone whose broker takes each message and never says so.
#[derive(Debug)]
struct Mute(Connection);

#[async_trait]
impl Transport for Mute {
    fn capabilities(&self) -> &Capabilities {
        self.0.transport().capabilities()
    }
    fn states(&self) -> ConnectionStates {
        self.0.transport().states()
    }
    async fn publish(&self, message: Message, _: PublishOptions) -> Result<(), TransportError> {
        self.0.transport().publish(message, PublishOptions::default()).await?;
        Err(TransportError::new(ErrorKind::TimedOut, Operation::Publish))
    }
    async fn subscribe(
        &self,
        filter: Filter,
        options: SubscribeOptions,
    ) -> Result<Subscription, TransportError> {
        self.0.transport().subscribe(filter, options).await
    }
    async fn flush(&self, timeout: Duration) -> Result<(), TransportError> {
        self.0.transport().flush(timeout).await
    }
    async fn close(&self, timeout: Duration) -> CloseReport {
        self.0.transport().close(timeout).await
    }
}

#[tokio::test]
async fn a_backbone_that_does_not_say_so_may_have_it_and_is_not_asked_again() {
    let clock = ManualClock::new();
    let backbone = InMemoryExactBroker::new(Arc::new(clock.clone()));
    let inner = backbone.connect(gateway("home"));
    let connection =
        Connection::new(gateway("home"), Arc::clone(inner.clock()), Arc::new(Mute(inner)));
    let local = InMemoryFilterBroker::new(Arc::new(clock));
    let client = client(connection, &local, RealmOptions::default(), |outside| outside).await;
    let mut shop = Shop::new(backbone.connect(gateway("shop"))).await;
    let asking = tokio::spawn({
        let client = client.clone();
        async move { client.call(COUNT, &RawJson::NULL).await }
    });
    let came = shop.next().await;
    shop.answer(&came, Ok("2")).await;
    assert_eq!(asking.await.unwrap().unwrap().as_str(), "2");
    shop.nothing_came().await;
    assert_eq!(client.outside().counts().in_doubt, 1);
    let bytes = Bytes::from_static(b"x");
    let timeout = Duration::from_secs(1);
    let sent = client.outside().post(&super::shop(), KINDS[0], bytes, timeout).await;
    assert_eq!(sent.unwrap(), Sent::InDoubt);
}
