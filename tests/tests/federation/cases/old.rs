//! Realms that are not ours, at work: each asks and answers all the time, by hand, in the profiles that it has.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use mesh_core::json::RawJson;
use mesh_core::message::Message;
use mesh_core::mx::{AnswerRoute, MailboxKind, MsgType, Profile, Stamp, decode};
use mesh_core::name::RealmName;
use mesh_core::port::{Connection, PublishOptions, SubscribeOptions, Subscription};
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::ground::Realm;
use crate::peer::{Said, mailbox_of};

/// How long an answer may take before it counts as lost.
pub(super) const WITHIN: Duration = Duration::from_secs(5);

/// A realm that speaks by hand. Clones are the same.
#[derive(Clone)]
pub(super) struct Old {
    name: RealmName,
    between: Connection,
    seen: Arc<Mutex<Seen>>,
}

/// What came to it.
#[derive(Default)]
pub(super) struct Seen {
    waiting: HashMap<String, oneshot::Sender<()>>,
    /// How often each of its questions was answered, and with what.
    pub(super) answered: HashMap<String, (u32, HashSet<Vec<u8>>)>,
    /// How often each question of others came, and in which profile the last time.
    pub(super) asked: HashMap<String, (u32, Profile)>,
    /// How often each event came.
    pub(super) told: HashMap<String, u32>,
}

impl Old {
    /// Listens to the realm's mailboxes, in tasks of `tasks`.
    pub(super) async fn start(realm: &Realm, tasks: &mut JoinSet<()>) -> Self {
        let (name, between) = (realm.name.clone(), realm.between.clone());
        let old = Self { name, between, seen: Arc::default() };
        for kind in &realm.kinds {
            let filter = kind.subject(&realm.name).into();
            let options = SubscribeOptions::default();
            let mailbox = old.between.transport().subscribe(filter, options).await.unwrap();
            tasks.spawn(old.clone().read(*kind, mailbox));
        }
        old
    }

    async fn read(self, kind: MailboxKind, mut mailbox: Subscription) {
        while let Some(arrival) = mailbox.next().await {
            match arrival {
                Ok(message) => self.arrived(kind, &message).await,
                Err(error) if error.is_terminal() => return,
                Err(_) => {}
            }
        }
    }

    async fn arrived(&self, kind: MailboxKind, message: &Message) {
        let decoded = decode(message.payload(), 1 << 20).unwrap();
        let profile = decoded.profile();
        if let Some(answer) = decoded.as_answer() {
            let mut seen = self.seen.lock();
            let (times, texts) =
                seen.answered.entry(answer.correlation_id.to_string()).or_default();
            *times += 1;
            texts.insert(message.payload().to_vec());
            if let (Some(asker), Ok(_)) =
                (seen.waiting.remove(&*answer.correlation_id), &answer.outcome)
            {
                let _ = asker.send(());
            }
            return;
        }
        let envelope = decoded.into_envelope(&self.name).unwrap();
        let body = envelope.body.clone().unwrap_or(RawJson::NULL);
        let id: String = body.to().unwrap();
        if envelope.kind == MsgType::Evt {
            *self.seen.lock().told.entry(id).or_default() += 1;
            return;
        }
        let answer = {
            let mut seen = self.seen.lock();
            let asked = seen.asked.entry(id.clone()).or_insert((0, profile));
            *asked = (asked.0 + 1, profile);
            let route = AnswerRoute::of(&envelope, profile).unwrap();
            let bytes = route.ok(&Stamp::new(format!("answer to {id}"), 0), &body);
            Message::new(kind.subject(route.realm()), bytes)
        };
        // What is lost on the way is lost.
        let _ = self.between.transport().publish(answer, PublishOptions::default()).await;
    }

    /// Asks `to`, and tells whether it was answered in time.
    pub(super) async fn ask(&self, to: &RealmName, path: &str, id: &str, profile: Profile) -> bool {
        let (asker, answered) = oneshot::channel();
        self.seen.lock().waiting.insert(id.to_owned(), asker);
        let said = Said {
            kind: MsgType::Cmd,
            from: self.name.clone(),
            to: to.clone(),
            path: path.parse().unwrap(),
            id: id.to_owned(),
            body: format!("{id:?}"),
            reply: Some(self.name.clone()),
            principal: None,
        };
        let message = Message::new(mailbox_of(profile).subject(to), said.bytes(profile));
        let options = PublishOptions { timeout: WITHIN, ..PublishOptions::default() };
        let sent = self.between.transport().publish(message, options).await;
        let in_time = matches!(tokio::time::timeout(WITHIN, answered).await, Ok(Ok(())));
        self.seen.lock().waiting.remove(id);
        sent.is_ok() && in_time
    }

    pub(super) fn seen<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.seen.lock())
    }
}
