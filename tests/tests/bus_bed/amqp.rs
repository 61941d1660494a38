//! The same on a RabbitMQ, as far as it can tell.

use mesh_control::genesis::{Genesis, Mode, Owed, RetireError, Status, Verdict, retire};
use mesh_core::port::{Connection, Held};
use mesh_testkit::servers::rabbit::{Layout, MeshServer};
use mesh_transport_amqp::{AmqpOptions, Target, connect};

use crate::bed::{mesh, of_module, topology};

async fn controller() -> (MeshServer, Connection) {
    let layout = Layout::of(&mesh()).unwrap();
    let server = MeshServer::launch(layout).await.unwrap();
    let credential = server.credential(&server.layout().users()[0]).unwrap();
    let target = Target::of(&credential).unwrap();
    let connection = crate::soon(connect(target, AmqpOptions::default())).await.unwrap();
    (server, connection)
}

#[tokio::test]
async fn a_mesh_on_rabbitmq_is_raised_and_what_it_can_not_tell_is_told_as_such() {
    let (_server, controller) = controller().await;
    let topology = topology();
    let genesis = Genesis::of(&topology);
    let looked = genesis.run(&controller, Mode::Look).await;
    assert!(looked.stopped.is_none(), "{looked:?}");
    assert!(looked.missing.contains(&Held::Consumer(of_module("mail"))), "{looked:?}");
    assert!(looked.unseen.iter().any(|unseen| unseen.starts_with("what differs")), "{looked:?}");
    // A look makes nothing.
    assert_eq!(genesis.run(&controller, Mode::Look).await.missing, looked.missing);

    let raised = genesis.run(&controller, Mode::Raise).await;
    assert!(raised.is_good() && !raised.made.is_empty(), "{raised:?}");
    assert_eq!(raised.epoch, None);
    let again = genesis.run(&controller, Mode::Mend).await;
    assert!(again.is_good() && again.made.is_empty(), "{again:?}");

    let mut other = topology.clone();
    let mut mail = other.consumer(&of_module("mail")).unwrap().clone();
    mail.rules.max_deliver = Some(9);
    other = other.with_consumer(mail);
    let differs = Genesis::of(&other).run(&controller, Mode::Mend).await;
    let [judged] = &differs.drift[..] else { panic!("{differs:?}") };
    assert_eq!(
        (judged.drift.object.as_str(), judged.drift.field),
        ("EVENTS/n1_mail", "x-delivery-limit")
    );
    assert!(
        matches!(&judged.verdict, Verdict::Stuck { why, .. } if why.contains("RabbitMQ")),
        "{judged:?}"
    );

    let status = Status::look(&genesis, &controller, None).await.unwrap();
    assert!(status.alarms.is_empty(), "{:?}", status.alarms);
    assert_eq!(status.dead_letters.count, Some(0));
    // What is unsettled can't be seen, so nobody knows that it owes nothing.
    let without = topology.clone().without_stream(mesh_core::topology::StreamName::Events);
    let at = &**controller.administration().unwrap();
    let unknown = retire(at, &without, &of_module("mail"), Owed::Keep).await.unwrap_err();
    assert!(matches!(unknown, RetireError::Unknown(_)), "{unknown}");
    assert_eq!(retire(at, &without, &of_module("mail"), Owed::GiveUp).await.unwrap(), 0);
}
