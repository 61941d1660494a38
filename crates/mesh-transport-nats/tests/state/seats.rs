//! A seat on a real server has one holder, and the controller alone knows of it.

use mesh_core::manifest::{Mesh, ModuleManifest};
use mesh_core::name::SeatName;
use mesh_testkit::servers::nats::{Layout, MeshServer};
use mesh_transport_nats::{NatsOptions, NatsSeats, Taken, Target};

async fn server() -> MeshServer {
    let mail = "name = 'mail'\nversion = '1'\nemits = ['sent']";
    let mail = ModuleManifest::parse("mail.toml", mail).unwrap();
    let mesh = Mesh::on_one_node(&"n1".parse().unwrap(), [mail]).unwrap();
    MeshServer::launch(Layout::split(&mesh).unwrap()).await.unwrap()
}

async fn seats(server: &MeshServer, user: &str) -> NatsSeats {
    let target = Target::of(&server.credential(user).unwrap()).unwrap();
    NatsSeats::connect(target, NatsOptions::default()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_who_claim_a_seat_at_once_one_has_it_and_the_other_is_told_who() {
    let server = server().await;
    let seat = SeatName::broker();
    let (one, other) = (seats(&server, "controller").await, seats(&server, "controller").await);
    assert_eq!(one.holder(&seat).await.unwrap(), None);
    let (first, second) = tokio::join!(one.take(&seat, "one"), other.take(&seat, "other"));
    let holder = match (first.unwrap(), second.unwrap()) {
        (Taken::Now, Taken::Before(by)) if by == "one" => by,
        (Taken::Before(by), Taken::Now) if by == "other" => by,
        neither => panic!("{neither:?}"),
    };
    assert_eq!(one.holder(&seat).await.unwrap(), Some(holder.clone()));
    // For good: a restart forgets nothing, and nobody else has it afterwards.
    server.server().restart().await.unwrap();
    let again = seats(&server, "controller").await;
    assert_eq!(again.take(&seat, "a third").await.unwrap(), Taken::Before(holder));
    // Another seat is another's.
    let store: SeatName = "mesh-store".parse().unwrap();
    assert_eq!(again.take(&store, "a third").await.unwrap(), Taken::Now);
    let long = "x".repeat(5000);
    assert!(again.take(&"long".parse().unwrap(), &long).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_module_can_neither_take_a_seat_nor_see_who_has_it() {
    let server = server().await;
    let seat = SeatName::broker();
    let mail = seats(&server, "mail.n1").await;
    assert!(mail.take(&seat, "mail").await.is_err());
    assert!(mail.holder(&seat).await.is_err());
    let controller = seats(&server, "controller").await;
    assert_eq!(controller.holder(&seat).await.unwrap(), None);
}
