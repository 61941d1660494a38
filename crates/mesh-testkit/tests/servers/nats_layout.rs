//! The split layout on a real server: who may do what, and what passes between the accounts.

use mesh_core::credential::BrokerUrl;
use mesh_core::identity::Principal;
use mesh_core::manifest::{Mesh, MeshFile, ModuleManifest};
use mesh_core::mx::{MailboxKind, Shard};
use mesh_core::name::RealmName;
use mesh_core::permissions::Permissions;
use mesh_testkit::servers::ServerError;
use mesh_testkit::servers::nats::{Account, Layout, MeshServer, RawNats, User};

const FILE: &str = "
nodes = [{ name = 'n1' }, { name = 'n2' }]
people = [{ name = 'ada', administrator = true }]
assignments = [
    { module = 'mail', manifest = 'mail.toml', nodes = ['n1', 'n2'] },
    { module = 'audit', manifest = 'audit.toml', nodes = ['n2'] },
]";
const MAIL: &str = "
name = 'mail'
version = '1'
emits = ['sent']
tools = [{ name = 'send', description = 'Sends.' }]";
const AUDIT: &str = "
name = 'audit'
version = '1'
consumes = ['mail.*']";

fn mesh() -> Mesh {
    let file = MeshFile::parse("mesh.toml", FILE).unwrap();
    let manifest = |text| ModuleManifest::parse("module", text).unwrap();
    Mesh::resolve(&file, &[manifest(MAIL), manifest(AUDIT)]).unwrap()
}

fn layout() -> Layout {
    Layout::split(&mesh()).unwrap()
}

/// What the server objected to, of all that was sent.
async fn objections(client: &mut RawNats) -> Vec<String> {
    client.settle().await.unwrap().errors
}

#[tokio::test]
async fn everybody_whom_the_files_know_can_log_in_and_nobody_else() {
    let odd = "o\"dd\\ na\tme";
    let host = Principal::Host { node: "n3".parse().unwrap() };
    let added = User::named(odd, Account::Edge, host, Permissions::default()).unwrap();
    let server = MeshServer::launch(layout().with_user(added)).await.unwrap();
    let expected = "audit.n2 builder.n1 builder.n2 controller controller-edge host.n1 host.n2 mail.n1 mail.n2 \
                    person.ada";
    let names: Vec<&str> = server.layout().users().iter().map(User::name).collect();
    assert_eq!(names.join(" "), format!("{expected} {odd}"));
    for name in names {
        assert!(objections(&mut server.raw(name).await.unwrap()).await.is_empty(), "{name}");
    }
    assert!(matches!(server.raw("audit.n1").await, Err(ServerError::Layout(_))));
    let mut other = RawNats::connect(server.server()).await.unwrap();
    assert!(other.login("audit.n1", "x").await.is_err());
    let mut nobody = RawNats::connect(server.server()).await.unwrap();
    assert!(nobody.login_with(&serde_json::json!({})).await.is_err());
}

#[tokio::test]
async fn an_event_passes_into_the_bus_and_its_confirmation_back() {
    let server = MeshServer::launch(layout()).await.unwrap();
    let mut controller = server.raw("controller").await.unwrap();
    let stream = br#"{"name":"EVENTS","subjects":["mesh.events.*.>"],"storage":"file"}"#;
    let inbox = "_INBOX.controller.c1.ack.1";
    let created =
        controller.request("$JS.API.STREAM.CREATE.EVENTS", inbox, &[], stream).await.unwrap();
    assert!(!String::from_utf8_lossy(&created.body).contains("error"), "{created:?}");

    let mut mail = server.raw("mail.n1").await.unwrap();
    let stored =
        mail.request("mesh.events.mail.sent", "_INBOX.mail.n1.ack.1", &[], b"{}").await.unwrap();
    let told = String::from_utf8_lossy(&stored.body).into_owned();
    assert!(told.contains(r#""stream":"EVENTS""#) && told.contains(r#""seq":1"#), "{told}");
}

#[tokio::test]
async fn each_may_do_what_follows_from_the_files_and_nothing_else() {
    let server = MeshServer::launch(layout()).await.unwrap();
    let mut mail = server.raw("mail.n1").await.unwrap();
    mail.subscribe("mesh.tools.mail.send", Some("serve")).await.unwrap();
    assert!(objections(&mut mail).await.is_empty());
    for subject in
        ["mesh.events.mail.lost", "mesh.events.audit.x", "$JS.API.INFO", "mesh.events.dead"]
    {
        mail.publish(subject, None, &[], b"").await.unwrap();
        assert_eq!(objections(&mut mail).await.len(), 1, "{subject}");
    }
    for (filter, group) in [("mesh.deliver.EVENTS.n1_mail", Some("n1_mail")), ("mesh.>", None)] {
        mail.subscribe(filter, group).await.unwrap();
        assert_eq!(objections(&mut mail).await.len(), 1, "{filter}");
    }
    let mut ada = server.raw("person.ada").await.unwrap();
    ada.publish("mesh.tools.mail.send", Some("_INBOX.person.ada.mail.1"), &[], b"").await.unwrap();
    assert!(objections(&mut ada).await.is_empty());
    assert_eq!(mail.next().await.unwrap().subject, "mesh.tools.mail.send");
    ada.publish("mesh.tools.mail.provision_grant", None, &[], b"").await.unwrap();
    assert_eq!(objections(&mut ada).await.len(), 1);
}

#[tokio::test]
async fn in_one_account_the_streams_are_within_reach_and_in_two_they_are_not() {
    let eve = |account| {
        let who = Principal::Person { name: "eve".parse().unwrap() };
        User::new(account, who, Permissions::everything()).unwrap()
    };
    let together = Layout::one_account(&mesh()).unwrap().with_user(eve(Account::Mesh));
    assert_eq!(together.user("controller-edge").map(User::name), None);
    for (layout, reached) in [(together, true), (layout().with_user(eve(Account::Edge)), false)] {
        let server = MeshServer::launch(layout).await.unwrap();
        let mut eve = server.raw("person.eve").await.unwrap();
        let answer = eve.request("$JS.API.INFO", "_INBOX.person.eve.1", &[], b"").await.unwrap();
        let told = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!(!told.contains("not enabled for account"), reached, "{told}");
    }
}

#[tokio::test]
async fn connections_can_run_out_in_edge_and_the_controller_still_gets_in() {
    let server = MeshServer::launch(layout().with_edge_connections(1)).await.unwrap();
    let first = server.raw("mail.n1").await.unwrap();
    let refused = server.raw("mail.n2").await.unwrap_err();
    assert!(refused.to_string().contains("maximum"), "{refused}");
    assert!(server.raw("controller").await.is_ok());
    drop(first);
}

#[tokio::test]
async fn a_service_more_lets_its_subject_pass() {
    let subject = "mesh.control.extra.part";
    let host = Principal::Host { node: "n1".parse().unwrap() };
    let edge = User::named("sends", Account::Edge, host.clone(), Permissions::everything());
    let bus = User::named("hears", Account::Bus, host, Permissions::everything());
    let layout = layout().with_user(edge.unwrap()).with_user(bus.unwrap());
    for (layout, passes) in [(layout.clone(), false), (layout.with_service(subject), true)] {
        let server = MeshServer::launch(layout).await.unwrap();
        let mut hears = server.raw("hears").await.unwrap();
        hears.subscribe("mesh.control.>", None).await.unwrap();
        assert!(objections(&mut hears).await.is_empty());
        let mut sends = server.raw("sends").await.unwrap();
        sends.publish(subject, None, &[], b"{}").await.unwrap();
        assert!(objections(&mut sends).await.is_empty());
        assert_eq!(!hears.settle().await.unwrap().messages.is_empty(), passes);
    }
}

#[tokio::test]
async fn a_user_without_rights_has_none_and_a_reload_can_give_some() {
    let who = Principal::Person { name: "eve".parse().unwrap() };
    let eve = User::new(Account::Edge, who.clone(), Permissions::default()).unwrap();
    let mut server = MeshServer::launch(layout().with_user(eve.clone())).await.unwrap();
    let mut client = server.raw("person.eve").await.unwrap();
    client.publish("mesh.tools.mail.send", None, &[], b"").await.unwrap();
    client.subscribe("a", None).await.unwrap();
    assert_eq!(objections(&mut client).await.len(), 2);

    let mut able = eve;
    able.permissions = Permissions::everything();
    let layout = server.layout().clone().with_user(able);
    server.reload(layout).await.unwrap();
    let mut client = server.raw("person.eve").await.unwrap();
    client.publish("mesh.tools.mail.send", None, &[], b"").await.unwrap();
    client.subscribe("a", None).await.unwrap();
    assert!(objections(&mut client).await.is_empty());
    assert_eq!(server.layout().user_of(&who).map(User::name), Some("person.eve"));
}

#[tokio::test]
async fn a_backbone_is_an_account_of_its_own() {
    let kind = MailboxKind::Mx(Shard::default());
    let realm = |name: &str| RealmName::new(name).unwrap();
    let gateway = |name: &str, mine: &str, peer: &str| {
        let name = name.parse().unwrap();
        let rights = Permissions::of_gateway(&name, &realm(mine), &[kind], &[(realm(peer), kind)]);
        User::new(Account::Backbone, Principal::Gateway { name }, rights).unwrap()
    };
    let layout = layout()
        .with_user(gateway("home", "home.example", "peer.example"))
        .with_user(gateway("peer", "peer.example", "home.example"));
    let server = MeshServer::launch(layout).await.unwrap();
    let mut home = server.raw("gateway.home").await.unwrap();
    let mut peer = server.raw("gateway.peer").await.unwrap();
    home.subscribe(kind.subject(&realm("home.example")).as_str(), None).await.unwrap();
    assert!(objections(&mut home).await.is_empty());
    peer.publish(kind.subject(&realm("home.example")).as_str(), None, &[], b"hi").await.unwrap();
    assert_eq!(home.next().await.unwrap().body, b"hi");
    home.publish("mesh.tools.mail.send", None, &[], b"").await.unwrap();
    assert_eq!(objections(&mut home).await.len(), 1);
}

#[tokio::test]
async fn a_credential_names_its_principal_and_pins_the_server() {
    let server = MeshServer::launch(layout()).await.unwrap();
    let credential = server.credential("mail.n2").unwrap();
    assert_eq!(credential.principal().to_string(), "module mail on n2");
    let print = server.server().fingerprint().unwrap();
    assert_eq!(credential.fingerprints().iter().next().unwrap().to_string(), print);
    let BrokerUrl::Nats { server: at } = credential.url() else { panic!("{credential:?}") };
    assert_eq!(at.port(), server.server().address().port());
    assert_eq!(at.login().unwrap().user(), "mail.n2");
    assert!(matches!(server.credential("nobody"), Err(ServerError::Layout(_))));
}

#[test]
fn two_layouts_have_no_password_in_common_and_none_is_shown() {
    let (one, other) = (layout(), layout());
    let mut all: Vec<_> = one.users().iter().chain(other.users()).collect();
    all.sort_by_key(|user| user.password().expose());
    all.dedup_by_key(|user| user.password().expose());
    assert_eq!(all.len(), 20);
    let shown = format!("{one:?}");
    assert!(all.iter().all(|user| !shown.contains(user.password().expose())));
}
