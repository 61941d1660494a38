//! A private nats-server: the backbone is one account, and the bus inside each realm another, where it is on
//! NATS too.

use mesh_core::identity::Principal;
use mesh_core::port::Connection;
use mesh_testkit::servers::nats::{Account, Layout, MeshServer, User};
use mesh_transport_nats::{NatsOptions, Target, connect};

use super::{Held, Placed};

pub(super) struct Nats(MeshServer);

impl Nats {
    pub(super) async fn raise(plans: &[Placed], inside: bool) -> Self {
        let mut layout = Layout::empty();
        for placed in plans {
            let account = Account::Backbone;
            let user = User::new(account, placed.gateway(), placed.between(plans)).unwrap();
            layout = layout.with_user(user);
            if inside {
                for (who, may) in placed.inside() {
                    let account = Account::Realm(placed.number);
                    let user = User::named(name(&who, Some(placed)), account, who, may).unwrap();
                    layout = layout.with_user(user);
                }
            }
        }
        Self(MeshServer::launch(layout).await.unwrap())
    }

    pub(super) async fn dial(&self, who: &Principal, inside: Option<&Placed>) -> Connection {
        let credential = self.0.credential(&name(who, inside)).unwrap();
        connect(Target::of(&credential).unwrap(), NatsOptions::default()).await.unwrap()
    }

    pub(super) async fn held(&self) -> Held {
        let connz = self.0.server().connz().await.unwrap();
        let mut subjects = Vec::new();
        for connection in connz["connections"].as_array().unwrap() {
            if connection["account"] == Account::Backbone.to_string() {
                let held = connection["subscriptions_list_detail"].as_array();
                let held = held.into_iter().flatten();
                subjects.extend(held.map(|one| one["subject"].as_str().unwrap().to_owned()));
            }
        }
        subjects.retain(|subject| !subject.starts_with("_INBOX."));
        Held { subscriptions: subjects.len(), filters: Some(subjects.into_iter().collect()) }
    }

    pub(super) async fn crash(&self) {
        self.0.server().kill().unwrap();
        self.0.server().start().await.unwrap();
    }
}

/// The name of a user; inside, with the realm's number, since users are the server's.
fn name(who: &Principal, inside: Option<&Placed>) -> String {
    let (what, which) = who.inbox_tokens();
    match inside {
        None => format!("{what}.{which}"),
        Some(placed) => format!("{what}.{which}.inside.{}", placed.number),
    }
}
