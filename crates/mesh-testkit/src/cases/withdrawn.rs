use mesh_core::permissions::Permissions;
use mesh_core::port::{Connection, ErrorKind, ReceiveError};

use super::desk::{Desk, shop_event, sold};
use crate::fixtures::{filter, message, module, permissions};
use crate::suite::scene::{refused, text};
use crate::suite::{Case, Failure, Scene, Stage, Verdict, case, ensure, ensure_eq};

pub(super) const LIVE: &[Case] = &[
    case!(publish_after_its_right_is_withdrawn_is_denied, Permissions, by SetPermissions),
    case!(subscribe_after_its_right_is_withdrawn_is_denied, Permissions, by SetPermissions),
    case!(subscribe_ends_when_its_right_is_withdrawn, Permissions, by SetPermissions),
];

pub(super) const STREAMS: &[Case] =
    &[case!(append_after_its_right_is_withdrawn_is_denied, Permissions, by SetPermissions)];

/// One who may do something to both of two subjects, and then to the second alone.
struct Limited<'a> {
    scene: &'a Scene,
    connection: Connection,
    both: Permissions,
    second: Permissions,
}

impl<'a> Limited<'a> {
    /// `rights`: what may be published and subscribed to, on these subjects.
    async fn join(
        scene: &'a Scene,
        name: &str,
        rights: impl Fn(&[&str]) -> Permissions,
        subjects: [&str; 2],
    ) -> Result<Self, Failure> {
        let (both, second) = (rights(&subjects), rights(&subjects[1..]));
        let connection = scene.dial(module("n1", name), Some(both.clone())).await?;
        Ok(Self { scene, connection, both, second })
    }

    async fn withdraw(&self) -> Verdict {
        self.scene.set_permissions(self.connection.principal(), &self.second).await
    }

    async fn give_back(&self) -> Verdict {
        self.scene.set_permissions(self.connection.principal(), &self.both).await
    }
}

const SUBJECTS: [&str; 2] = ["test.a", "test.b"];

fn publishing(name: &str) -> impl Fn(&[&str]) -> Permissions {
    move |subjects| permissions(&module("n1", name), subjects, &[])
}

fn subscribing(name: &str) -> impl Fn(&[&str]) -> Permissions {
    move |subjects| permissions(&module("n1", name), &[], subjects)
}

async fn publish_after_its_right_is_withdrawn_is_denied(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let mail = scene.join("mail").await?;
    let mut of_a = scene.subscribe(&mail, "test.a").await?;
    let mut of_b = scene.subscribe(&mail, "test.b").await?;
    let shop = Limited::join(&scene, "shop", publishing("shop"), SUBJECTS).await?;
    scene.publish(&shop.connection, message("test.a", "before")).await?;
    ensure_eq!(text(&scene.hear(&mut of_a).await?), "before", "the message");
    shop.withdraw().await?;
    let result = scene.try_publish(&shop.connection, message("test.a", "denied")).await?;
    refused(result, ErrorKind::Denied, "publishing without the right")?;
    scene.publish(&shop.connection, message("test.b", "still allowed")).await?;
    ensure_eq!(text(&scene.hear(&mut of_b).await?), "still allowed", "the message");
    shop.give_back().await?;
    scene.publish(&shop.connection, message("test.a", "again")).await?;
    ensure_eq!(text(&scene.hear(&mut of_a).await?), "again", "the next message");
    Ok(())
}

async fn append_after_its_right_is_withdrawn_is_denied(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let scene = &desk.scene;
    let subjects = ["mesh.events.shop.sold", "mesh.events.shop.closed"];
    let shop = Limited::join(scene, "shop", publishing("shop"), subjects).await?;
    scene.append(&shop.connection, sold("before")).await?;
    shop.withdraw().await?;
    let result = scene.try_append(&shop.connection, sold("denied")).await?;
    refused(result, ErrorKind::Denied, "appending without the right")?;
    scene.append(&shop.connection, shop_event("closed", "still allowed")).await?;
    shop.give_back().await?;
    scene.append(&shop.connection, sold("again")).await?;
    let (_mail, mut reading) = desk.reader("mail").await?;
    for body in ["before", "still allowed", "again"] {
        let delivery = desk.expect(&mut reading, body).await?;
        desk.ack(delivery).await?;
    }
    Ok(())
}

async fn subscribe_after_its_right_is_withdrawn_is_denied(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let shop = scene.join("shop").await?;
    let mail = Limited::join(&scene, "mail", subscribing("mail"), SUBJECTS).await?;
    let hears = async |place: &str| {
        let mut subscription = scene.subscribe(&mail.connection, place).await?;
        scene.publish(&shop, message(place, "1")).await?;
        ensure_eq!(text(&scene.hear(&mut subscription).await?), "1", "the message");
        Ok::<_, Failure>(())
    };
    hears("test.a").await?;
    mail.withdraw().await?;
    let transport = mail.connection.transport();
    let subscribing = transport.subscribe(filter("test.a"), Default::default());
    let result = scene.soon("subscribe", subscribing).await?;
    refused(result, ErrorKind::Denied, "subscribing without the right")?;
    hears("test.b").await?;
    mail.give_back().await?;
    hears("test.a").await
}

async fn subscribe_ends_when_its_right_is_withdrawn(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let shop = scene.join("shop").await?;
    let mail = Limited::join(&scene, "mail", subscribing("mail"), SUBJECTS).await?;
    let mut withdrawn = scene.subscribe(&mail.connection, "test.a").await?;
    let mut kept = scene.subscribe(&mail.connection, "test.b").await?;
    scene.publish(&shop, message("test.a", "before")).await?;
    ensure_eq!(text(&scene.hear(&mut withdrawn).await?), "before", "the message");
    mail.withdraw().await?;
    scene.publish(&shop, message("test.a", "denied")).await?;
    scene.publish(&shop, message("test.b", "still allowed")).await?;
    ensure_eq!(text(&scene.hear(&mut kept).await?), "still allowed", "the message");
    match scene.told(&mut withdrawn).await? {
        ReceiveError::Ended(error) if error.kind() == ErrorKind::Denied => {}
        other => return Err(Failure::new(format!("{other:?} came instead"))),
    }
    let after = scene.item(&mut withdrawn).await?;
    ensure!(after.is_none(), "after the last item came {after:?}");
    mail.give_back().await?;
    let mut again = scene.subscribe(&mail.connection, "test.a").await?;
    scene.publish(&shop, message("test.a", "again")).await?;
    ensure_eq!(text(&scene.hear(&mut again).await?), "again", "the message");
    Ok(())
}
