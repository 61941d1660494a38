//! A mesh whose users are those of a composition.

use mesh_core::manifest::{Mesh, MeshFile, ModuleManifest};
use mesh_core::permissions::Rules;
use mesh_core::port::{ErrorKind, TransportError};
use mesh_core::topology::Account;

use super::*;
use crate::{InMemoryMesh, User};

const FILE: &str = "nodes = [{ name = 'n1' }]\n\
    assignments = [{ module = 'mail', manifest = 'mail.toml', nodes = ['n1'] }]\n\
    people = [{ name = 'ada', tools = ['mail.send'] }]\n";
const MAIL: &str = "name = 'mail'\nversion = '1'\nemits = ['sent']\n\
    [[tools]]\nname = 'send'\ndescription = 'Sends.'\ntimeout = '90s'\n";

fn files(more: &str) -> Mesh {
    let file = MeshFile::parse("mesh.toml", &format!("{FILE}{more}")).unwrap();
    let mail = ModuleManifest::parse("mail.toml", MAIL).unwrap();
    Mesh::resolve(&file, &[mail]).unwrap()
}

fn ada() -> Principal {
    Principal::Person { name: "ada".parse().unwrap() }
}

fn user(mesh: &InMemoryMesh, name: &str, principal: &Principal) -> User {
    let permissions = mesh.mesh().permissions(principal).unwrap();
    User {
        name: name.to_owned(),
        account: Account::Edge,
        principal: principal.clone(),
        permissions,
    }
}

async fn publish(connection: &Connection, on: &str) -> Result<(), TransportError> {
    connection.transport().publish(message(on, "x"), Default::default()).await
}

fn denied<T: std::fmt::Debug>(result: Result<T, TransportError>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    error.to_string()
}

#[tokio::test]
async fn a_revoked_users_connections_end_and_none_is_made_again() {
    let mesh = InMemoryMesh::raise(files("")).await.unwrap();
    let first = mesh.connect(ada()).unwrap();
    publish(&first, "mesh.tools.mail.send").await.unwrap();
    let mail = mesh.module(&node(), &"mail".parse().unwrap()).unwrap();
    assert_eq!(mesh.revoke(&ada()), 1);
    let error = publish(&first, "mesh.tools.mail.send").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Disconnected);
    assert!(denied(mesh.connect(ada()).map(drop)).contains("it has no user"));
    publish(&mail, "mesh.events.mail.sent").await.unwrap();
    assert_eq!(mesh.revoke(&ada()), 0);
}

#[tokio::test]
async fn a_reload_drops_who_is_gone_and_changes_who_stays() {
    let mesh = InMemoryMesh::raise(files("")).await.unwrap();
    let mail = module("mail");
    let all = [user(&mesh, "mail.n1", &mail), user(&mesh, "person.ada", &ada())];
    let by_files = mesh.connect(ada()).unwrap();
    mesh.reload(all.clone()).unwrap();
    publish(&by_files, "mesh.tools.mail.send").await.unwrap();
    assert!(denied(mesh.connect(module("crm")).map(drop)).contains("it has no user"));
    assert!(denied(mesh.log_in("mail.n2").map(drop)).contains("mail.n2"));

    let (mail, ada) = (mesh.log_in("mail.n1").unwrap(), mesh.log_in("person.ada").unwrap());
    let inbox = mail.transport().subscribe(filter("_INBOX.mail.n1.>"), Default::default());
    let mut inbox = inbox.await.unwrap();
    let mut less = all[0].clone();
    less.permissions.subscribe = Rules::nothing();
    mesh.reload([less]).unwrap();
    assert!(matches!(inbox.next().await, Some(Err(ReceiveError::Ended(_)))));
    publish(&mail, "mesh.events.mail.sent").await.unwrap();
    for gone in [&ada, &by_files] {
        let error = publish(gone, "mesh.tools.mail.send").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Disconnected);
    }
    let twice = mesh.reload([all[0].clone(), all[0].clone()]).unwrap_err();
    assert!(twice.to_string().contains("mail.n1"), "{twice}");
}

#[tokio::test]
async fn the_controllers_two_users_are_one_connection_or_two() {
    let mesh = InMemoryMesh::raise(files("")).await.unwrap();
    let one = |name: &str, account, permissions| User {
        name: name.to_owned(),
        account,
        principal: controller(),
        permissions,
    };
    mesh.reload([
        one("controller", Account::Bus, Permissions::of_controller_bus()),
        one("controller-edge", Account::Edge, Permissions::of_controller_edge()),
    ])
    .unwrap();
    let bus = mesh.log_in("controller").unwrap();
    let edge = mesh.log_in("controller-edge").unwrap();
    let both = mesh.connect(Principal::Controller { name: "c7".parse().unwrap() }).unwrap();
    for (on, by) in [("mesh.tools.mail.provision_grant", &edge), ("mesh.build.request", &bus)] {
        publish(by, on).await.unwrap();
        publish(&both, on).await.unwrap();
    }
    denied(publish(&edge, "mesh.build.request").await);
    denied(publish(&bus, "mesh.tools.mail.provision_grant").await);
}

#[tokio::test]
async fn what_the_bus_says_of_answers_and_isolation_holds_in_memory() {
    let bus = "[bus]\nanswers = 'allow_responses'\nresponses = { max = 1, expires = '30s' }";
    let mesh = InMemoryMesh::raise(files(bus)).await.unwrap();
    let permissions = mesh.mesh().permissions(&module("mail")).unwrap();
    let budget = permissions.responses.unwrap();
    assert_eq!((budget.max, budget.expires.as_secs()), (1, 90), "as long as its slowest tool");
    assert_eq!(mesh.mesh().permissions(&ada()).unwrap().responses, None);
    let mail = mesh.module(&node(), &"mail".parse().unwrap()).unwrap();
    let serve = mail.requests().unwrap().serve(filter("mesh.tools.mail.send"), Default::default());
    let _calls = serve.await.unwrap();
    denied(publish(&mail, "anywhere").await);
    let asking = message("mesh.tools.mail.send", "").with_reply(subject("anywhere"));
    let ada = mesh.connect(ada()).unwrap();
    ada.transport().publish(asking, Default::default()).await.unwrap();
    publish(&mail, "anywhere").await.unwrap();
    denied(publish(&mail, "anywhere").await);
}

#[tokio::test]
async fn a_refusal_names_the_line_that_would_help() {
    let mesh = InMemoryMesh::raise(files("")).await.unwrap();
    let mail = mesh.module(&node(), &"mail".parse().unwrap()).unwrap();
    let told = denied(publish(&mail, "mesh.events.mail.lost").await);
    assert!(told.ends_with(r#"(mail.toml:3 lacks it: emits = ["sent", "lost"])"#), "{told}");
    let read = mail.streams().unwrap().consume(events("n1_mail"), Default::default()).await;
    let told = denied(read.map(drop));
    assert!(told.ends_with("(mail.toml lacks it: consumes = [\"…\"])"), "{told}");
    let serve = mail.requests().unwrap().serve(filter("mesh.tools.mail.read"), Default::default());
    let told = denied(serve.await.map(drop));
    assert!(told.contains("[[tools]] with name = \"read\""), "{told}");
}
