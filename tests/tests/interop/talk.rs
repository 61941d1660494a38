//! The foreign realm and ours on one nats-server, each with a gateway's user of exact rights.

use mesh_core::identity::Principal;
use mesh_core::mx::{MailboxKind, Shard};
use mesh_core::name::RealmName;
use mesh_core::permissions::Permissions;
use mesh_testkit::servers::nats::{Account, Layout, MeshServer, User};
use serde_json::json;

use crate::foreign::Foreign;

pub(crate) const KINDS: [MailboxKind; 2] = [MailboxKind::Legacy, MailboxKind::Mx(Shard(0))];

/// A server whose backbone has a gateway for each realm; `gateway.g0` is the first's.
pub(crate) async fn backbone(realms: &[&str]) -> MeshServer {
    let realms: Vec<RealmName> = realms.iter().map(|realm| realm.parse().unwrap()).collect();
    let mut layout = Layout::empty();
    for (number, realm) in realms.iter().enumerate() {
        let name = format!("g{number}").parse().unwrap();
        let peers = realms.iter().filter(|peer| *peer != realm);
        let peers: Vec<_> = peers.flat_map(|peer| KINDS.map(|kind| (peer.clone(), kind))).collect();
        let may = Permissions::of_gateway(&name, realm, &KINDS, &peers);
        let user = User::new(Account::Backbone, Principal::Gateway { name }, may).unwrap();
        layout = layout.with_user(user);
    }
    MeshServer::launch(layout).await.unwrap()
}

/// A foreign gateway's user has exact rights: the server refuses it a wildcard, another's mailbox, a mailbox of
/// nobody's, and the bus inside any realm.
#[tokio::test]
async fn the_foreign_realm_is_refused_what_it_has_no_right_to() {
    let server = backbone(&["acme.com", "été.example"]).await;
    let mut foreign = Foreign::start(&server, "gateway.g1", "été.example").await;
    for topic in ["mx/in/1/acme.com/00", "public.ingress.acme%2Ecom", "public.ingress.*", ">"] {
        let told = foreign.has(json!({ "do": "listen", "topic": topic })).await;
        assert!(told["refused"][0].as_str().unwrap().contains("ermissions"), "{topic}: {told}");
    }
    for topic in ["mx/in/1/nobody/00", "mx/1/acme.com/desk.accepts.greet", "mx/route/1/acme.com/00"]
    {
        let told = foreign.has(json!({ "do": "publish", "topic": topic, "data": "{}" })).await;
        assert!(told["refused"][0].as_str().unwrap().contains("ermissions"), "{topic}: {told}");
    }
    let mailbox = json!({ "do": "publish", "topic": "mx/in/1/acme.com/00", "data": "{}" });
    assert_eq!(foreign.has(mailbox).await, json!({ "refused": [] }));
}
