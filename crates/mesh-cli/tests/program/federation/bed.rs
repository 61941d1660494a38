//! Two realms on a private nats-server, each with a bus of its own, and everybody with exact rights.

use mesh_core::identity::Principal;
use mesh_core::mx::{MailboxKind, MxPath, Shard};
use mesh_core::name::RealmName;
use mesh_core::permissions::{Permissions, RealmGrants};
use mesh_core::port::QueueGroup;
use mesh_core::store::BucketName;
use mesh_federation::{ComponentHost, HostOptions};
use mesh_testkit::servers::nats::{Account, Layout, MeshServer, User};
use mesh_transport_nats::{BucketSettings, NatsOptions, NatsState, Target, connect};

use super::super::Folder;

pub(super) const BOTH: [MailboxKind; 2] = [MailboxKind::Legacy, MailboxKind::Mx(Shard(0))];
/// The realms, and what their gateways are called.
pub(super) const REALMS: [(&str, &str); 2] = [("acme.com", "acme"), ("shop.example", "shop")];

/// What its gateways share.
const BUCKETS: [&str; 3] = ["leases", "sessions", "marks"];

/// What a gateway that is served takes on its realm's bus.
const OWN: [&str; 14] = [
    "_federation.accepts.subscribe",
    "_federation.accepts.refresh",
    "_federation.accepts.unsubscribe",
    "sessions.accepts.register",
    "sessions.accepts.heartbeat",
    "sessions.accepts.lookup",
    "_operator.accepts.leases",
    "_operator.accepts.evict",
    "_operator.accepts.sessions",
    "_operator.accepts.guards",
    "_operator.accepts.call",
    "_operator.accepts.watch",
    "_operator.accepts.watching",
    "_operator.accepts.unwatch",
];

fn paths(texts: &[&str]) -> Vec<MxPath<'static>> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

pub(super) fn gateway(which: usize) -> Principal {
    Principal::Gateway { name: REALMS[which].1.parse().unwrap() }
}

pub(super) fn app() -> Principal {
    Principal::Module { node: "n1".parse().unwrap(), module: "app".parse().unwrap() }
}

pub(super) fn operator() -> Principal {
    Principal::Person { name: "ann".parse().unwrap() }
}

/// What somebody may do on the backbone.
pub(super) fn between(which: usize) -> Permissions {
    let Principal::Gateway { name } = gateway(which) else { unreachable!() };
    let peer: RealmName = REALMS[1 - which].0.parse().unwrap();
    let peers = BOTH.map(|kind| (peer.clone(), kind));
    let group = QueueGroup::new("mx-edge").unwrap();
    let realm = REALMS[which].0.parse().unwrap();
    Permissions::of_shared_gateway(&name, &realm, &BOTH, &peers, &group)
}

/// What everybody may do inside a realm.
pub(super) fn inside(which: usize) -> [(Principal, Permissions); 3] {
    let realm: RealmName = REALMS[which].0.parse().unwrap();
    let (own, handed) = (paths(&OWN), paths(&["_edge.emits.answer"]));
    let (accepts, emits) = (paths(&["stock.accepts.count"]), paths(&["stock.emits.gone"]));
    let of_gateway = RealmGrants {
        calls: accepts.iter().chain(&own).cloned().collect(),
        accepts: own.clone(),
        emits: handed.clone(),
        hears: emits.iter().chain(&handed).cloned().collect(),
        watches: true,
        serves_watches: true,
    };
    let of_app = RealmGrants { accepts, emits, ..RealmGrants::default() };
    let of_operator = RealmGrants { calls: own, watches: true, ..RealmGrants::default() };
    [(gateway(which), of_gateway), (app(), of_app), (operator(), of_operator)].map(
        |(who, grants)| {
            let may = Permissions::of_realm(&who, &realm, &grants).unwrap();
            (who, may)
        },
    )
}

/// The server, and a folder with a file for each gateway and a credential for everybody.
pub(super) struct Bed {
    pub(super) server: MeshServer,
    pub(super) folder: Folder,
}

impl Bed {
    pub(super) async fn raise(name: &str) -> Self {
        let mut layout = Layout::empty();
        for which in 0..REALMS.len() {
            let user = User::new(Account::Backbone, gateway(which), between(which)).unwrap();
            layout = layout.with_user(user);
            let Principal::Gateway { name } = gateway(which) else { unreachable!() };
            let buckets = BUCKETS.map(|bucket| BucketName::new(bucket).unwrap());
            let number = u16::try_from(which).unwrap();
            layout = layout.with_state(number, &[name], &buckets).unwrap();
            for (who, may) in inside(which) {
                let account = Account::Realm(u8::try_from(which).unwrap());
                let user = User::named(user_of(&who, which), account, who, may).unwrap();
                layout = layout.with_user(user);
            }
        }
        let server = MeshServer::launch(layout).await.unwrap();
        let folder = Folder::new(name);
        for (which, (realm, short)) in REALMS.iter().enumerate() {
            let write = |file: String, user: &str| {
                let document = server.credential(user).unwrap().to_document().unwrap();
                folder.write(&file, document.expose());
            };
            write(format!("{short}/backbone.json"), &format!("gateway.{short}"));
            for who in [gateway(which), operator()] {
                let (what, _) = who.inbox_tokens();
                write(format!("{short}/{what}.json"), &user_of(&who, which));
            }
            folder.write(
                &format!("{short}/gateway.toml"),
                format!(
                    "realm = '{realm}'\nbackbone = {{ credential = 'backbone.json' }}\n\
                     local = {{ credential = 'gateway.json' }}\n"
                ),
            );
        }
        Self { server, folder }
    }

    /// Makes the buckets of a realm's shared state, and gives its gateway the credential `state.json`.
    pub(super) async fn with_state(&self, which: usize) {
        let state = |who: &str| format!("state.{which}.{who}");
        let credential = self.server.credential(&state("administrator")).unwrap();
        let target = Target::of(&credential).unwrap();
        let administrator = NatsState::connect(target, NatsOptions::default()).await.unwrap();
        for bucket in BUCKETS {
            let bucket = BucketName::new(bucket).unwrap();
            administrator.create(&bucket, BucketSettings::default()).await.unwrap();
        }
        let short = REALMS[which].1;
        let document = self.server.credential(&state(short)).unwrap().to_document().unwrap();
        self.folder.write(&format!("{short}/state.json"), document.expose());
    }

    /// The path of a file of a realm's.
    pub(super) fn file(&self, which: usize, name: &str) -> String {
        self.folder.0.join(REALMS[which].1).join(name).display().to_string()
    }

    /// Adds this to a gateway's file as it is at the beginning.
    pub(super) fn say(&self, which: usize, more: &str) -> String {
        let (realm, short) = REALMS[which];
        let text = format!(
            "realm = '{realm}'\nbackbone = {{ credential = 'backbone.json' }}\n\
             local = {{ credential = 'gateway.json' }}\n{more}\n"
        );
        self.folder.write(&format!("{short}/gateway.toml"), text)
    }

    /// How the operator of a realm reaches its gateway.
    pub(super) fn reach(&self, which: usize) -> Vec<String> {
        let credential = self.file(which, "person.json");
        ["--realm", REALMS[which].0, "--credential", &credential].map(str::to_owned).into()
    }

    /// Components of a realm.
    pub(super) async fn host(&self, which: usize) -> ComponentHost {
        let credential = self.server.credential(&user_of(&app(), which)).unwrap();
        let target = Target::of(&credential).unwrap();
        let connection = connect(target, NatsOptions::default()).await.unwrap();
        let realm = REALMS[which].0.parse().unwrap();
        ComponentHost::new(realm, connection, HostOptions::default())
    }
}

fn user_of(who: &Principal, which: usize) -> String {
    let (what, name) = who.inbox_tokens();
    format!("{what}.{name}.inside.{which}")
}
