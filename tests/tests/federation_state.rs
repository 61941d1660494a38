//! What several gateways of one realm share, on a real nats-server, and what one keeps in a file: a message
//! that came once comes in no second time, to whichever gateway, before or after a restart; and a tab is known to
//! all of them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]

use std::sync::Arc;
use std::time::Duration;

use mesh_clock::SystemClock;
use mesh_core::credential::Login;
use mesh_core::guard::{Mode, Now};
use mesh_core::manifest::Mesh;
use mesh_core::mx::{Address, Envelope, MailboxKind, MsgType, MxPath, Party, Profile, Shard};
use mesh_core::name::{InstanceName, RealmName};
use mesh_core::port::Clock;
use mesh_core::store::{BucketName, KeyValue};
use mesh_federation::edge::{Dropped, Edge, EdgeConfig, EdgeRules, Reaction};
use mesh_federation::session::{SessionDirectory, SessionError, SessionLimits};
use mesh_federation::{OsRandom, SharedReplay, SharedReplayOptions};
use mesh_store::{BucketBounds, Store, StoreOptions};
use mesh_testkit::fixtures::node;
use mesh_testkit::servers::nats::{Layout, NatsConfig, NatsServer};
use mesh_transport_nats::{BucketSettings, NatsOptions, NatsState, Target};

const MX: MailboxKind = MailboxKind::Mx(Shard(0));
const SEEN: &str = "dropped by shared-replay: seen before";

fn realm(name: &str) -> RealmName {
    RealmName::new(name).unwrap()
}

fn marks() -> BucketName {
    "marks".parse().unwrap()
}

fn sessions() -> BucketName {
    "sessions".parse().unwrap()
}

/// A gateway of acme.com that marks in `store`.
struct Gateway {
    edge: Edge,
    clock: Arc<dyn Clock>,
}

impl Gateway {
    fn new(store: impl KeyValue + 'static) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let (store, realm) = (Arc::new(store), realm("acme.com"));
        let options = SharedReplayOptions { patience: Duration::from_secs(5), ..<_>::default() };
        let random = OsRandom::new();
        let guard = SharedReplay::new(store, realm.clone(), Arc::clone(&clock), &random, options);
        let mut config = EdgeConfig::new(realm);
        config.rules = EdgeRules::default().waiting(Mode::Enforce, guard);
        Self { edge: Edge::new(config, Arc::new(random)).unwrap(), clock }
    }

    /// What it makes of a request of realm `shop` with this id.
    async fn hears(&self, id: &str) -> String {
        let to = Address::new(self.edge.realm(), MxPath::new("stock.accepts.count").unwrap());
        let from = Party::new(&realm("shop"), None).into_owned();
        let mut request = Envelope::new(MsgType::Cmd, from, to);
        request.msg_id = Some(id.to_owned().into());
        request.correlation_id = Some(id.to_owned().into());
        let desk = MxPath::new("desk.accepts.answer").unwrap();
        request.reply_to = Some(Party::new(&realm("shop"), Some(desk)).into_owned());
        let bytes = request.encode().unwrap();
        let mut reaction = self.edge.receive(&bytes, MX, Now::of(&*self.clock));
        while let Reaction::Wait(waiting) = reaction {
            reaction = waiting.proceed(&self.edge, &*self.clock).await;
        }
        match reaction {
            Reaction::Ask(_) => "passed".to_owned(),
            Reaction::Drop(Dropped { guard, reason, .. }) => {
                format!("dropped by {guard}: {reason}")
            }
            Reaction::Answer(answer) => {
                let text = String::from_utf8_lossy(answer.message().payload()).into_owned();
                let nack =
                    text.contains("MX.EDGE.RATE_LIMITED") && text.contains("try again later");
                if nack { "told to try again later".to_owned() } else { text }
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A server with the state of one realm.
struct Server {
    server: NatsServer,
    layout: Layout,
}

impl Server {
    async fn start() -> Self {
        let mesh = Mesh::on_one_node(&node("n1"), []).unwrap();
        let gateways = ["gw1", "gw2"].map(|name| InstanceName::new(name).unwrap());
        let buckets = [marks(), sessions()];
        let layout = Layout::split(&mesh).unwrap().with_state(1, &gateways, &buckets).unwrap();
        let config = NatsConfig::new().jetstream().with(layout.lines().unwrap());
        let server = Self { server: NatsServer::launch(config).await.unwrap(), layout };
        let administrator = server.connect("administrator").await;
        for bucket in &buckets {
            administrator.create(bucket, BucketSettings::default()).await.unwrap();
        }
        server
    }

    async fn connect(&self, who: &str) -> NatsState {
        let user = self.layout.user(&format!("state.1.{who}")).unwrap();
        let login = Login::new(user.name(), user.password().clone()).unwrap();
        let principal = user.principal.clone();
        let target = Target::insecure_loopback(self.server.address(), login, principal).unwrap();
        let options = NatsOptions { reconnect_max: Duration::from_millis(200), ..<_>::default() };
        NatsState::connect(target, options).await.unwrap().with_timeout(Duration::from_secs(1))
    }

    async fn directory(&self, who: &str) -> SessionDirectory {
        directory(self.connect(who).await.bucket(&sessions()).await.unwrap()).await
    }

    async fn gateway(&self, who: &str) -> Gateway {
        Gateway::new(self.connect(who).await.bucket(&marks()).await.unwrap())
    }
}

async fn directory(store: impl KeyValue + 'static) -> SessionDirectory {
    let limits = SessionLimits::default();
    let store: Option<Arc<dyn KeyValue>> = Some(Arc::new(store));
    SessionDirectory::open(Arc::new(SystemClock::new()), limits, store).await.unwrap()
}

/// Returns once the directory knows of these tabs of `ada`.
async fn knows(directory: &SessionDirectory, tabs: &[&str]) {
    let found = async {
        while directory.lookup("ada").iter().map(|s| s.tab_realm.as_str()).ne(tabs.iter().copied())
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), found).await.unwrap();
}

#[tokio::test]
async fn gateways_share_sessions_and_a_server_that_is_killed_forgets_none() {
    let server = Server::start().await;
    let (one, two) = (server.directory("gw1").await, server.directory("gw2").await);
    one.register("ada", &realm("ada.desk"), Profile::Legacy).await.unwrap();
    // It may not have heard of it yet: then it asks the store.
    let beaten = two.heartbeat("ada", &realm("ada.desk")).await.unwrap();
    assert_eq!(beaten.profile, Profile::Legacy);
    two.register("ada", &realm("ada.phone"), Profile::MxEnv1).await.unwrap();
    knows(&one, &["ada.desk", "ada.phone"]).await;
    server.server.kill().unwrap();
    let away = two.register("ada", &realm("ada.car"), Profile::MxEnv1).await.unwrap_err();
    assert!(matches!(away, SessionError::Store(_)), "{away}");
    server.server.start().await.unwrap();
    drop(one);
    let anew = server.directory("gw1").await;
    knows(&anew, &["ada.desk", "ada.phone"]).await;
}

#[tokio::test]
async fn a_replay_is_caught_by_either_gateway_of_a_realm() {
    let server = Server::start().await;
    let (one, two) = (server.gateway("gw1").await, server.gateway("gw2").await);
    for (first, second, id) in [(&one, &two, "1"), (&two, &one, "2")] {
        assert_eq!(first.hears(id).await, "passed");
        assert_eq!(second.hears(id).await, SEEN);
        // The one that has let it pass needs no store for that.
        assert_eq!(first.hears(id).await, "dropped by replay: seen before");
    }
    // To both at once: one of them lets it pass.
    for id in 3..30 {
        let id = id.to_string();
        let mut heard = [one.hears(&id), two.hears(&id)].map(Box::pin);
        let [first, second] = &mut heard;
        let (first, second) = tokio::join!(first, second);
        let mut outcomes = [first, second];
        outcomes.sort();
        assert_eq!(outcomes, [SEEN, "passed"], "{id}");
    }
}

#[tokio::test]
async fn a_replay_is_caught_after_the_server_and_a_gateway_were_killed() {
    let server = Server::start().await;
    let (one, two) = (server.gateway("gw1").await, server.gateway("gw2").await);
    assert_eq!(one.hears("before").await, "passed");
    server.server.kill().unwrap();
    // Nobody can say whether it has come before, so it does not pass.
    for id in ["before", "meanwhile"] {
        assert_eq!(two.hears(id).await, "told to try again later", "{id}");
    }
    server.server.start().await.unwrap();
    let again = async {
        loop {
            match two.hears("before").await.as_str() {
                "told to try again later" => {}
                heard => return heard.to_owned(),
            }
        }
    };
    let heard = tokio::time::timeout(Duration::from_secs(30), again).await.unwrap();
    assert_eq!(heard, SEEN);
    // What was refused while the store was away may come again, once.
    assert_eq!(two.hears("meanwhile").await, "passed");
    drop(one);
    let anew = server.gateway("gw1").await;
    for id in ["before", "meanwhile"] {
        assert_eq!(anew.hears(id).await, SEEN, "{id}");
    }
}

#[tokio::test]
async fn a_replay_is_caught_after_a_restart_of_the_one_gateway_with_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let open = || async {
        let clock = Arc::new(SystemClock::new());
        let path = folder.path().join("state");
        Store::open(path, clock, StoreOptions::default()).await.unwrap()
    };
    let store = open().await;
    let bounds = BucketBounds::default();
    let gateway = Gateway::new(store.key_value(&marks(), bounds).await.unwrap());
    assert_eq!(gateway.hears("1").await, "passed");
    store.close().await;
    assert_eq!(gateway.hears("2").await, "told to try again later");
    drop(gateway);
    let store = open().await;
    let gateway = Gateway::new(store.key_value(&marks(), bounds).await.unwrap());
    assert_eq!(gateway.hears("1").await, SEEN);
    assert_eq!(gateway.hears("2").await, "passed");
}

#[tokio::test]
async fn sessions_outlive_a_restart_of_the_one_gateway_with_a_file() {
    let folder = tempfile::tempdir().unwrap();
    for life in 0..2 {
        let path = folder.path().join("state");
        let clock = Arc::new(SystemClock::new());
        let store = Store::open(path, clock, StoreOptions::default()).await.unwrap();
        let bounds = BucketBounds::default();
        let directory = directory(store.key_value(&sessions(), bounds).await.unwrap()).await;
        assert_eq!(directory.status().sessions, life);
        if life == 0 {
            directory.register("ada", &realm("ada.desk"), Profile::MxEnv1).await.unwrap();
        } else {
            knows(&directory, &["ada.desk"]).await;
        }
        drop(directory);
        store.close().await;
    }
}
