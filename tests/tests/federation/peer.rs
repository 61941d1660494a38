//! A foreign realm spoken by hand: what it sends is any bytes, and it sees the bytes that come back.

use std::time::Duration;

use mesh_core::json::RawJson;
use mesh_core::message::Message;
use mesh_core::mx::{
    Address, Decoded, Envelope, LegacyRequest, MailboxKind, MsgType, MxPath, Party, Profile, decode,
};
use mesh_core::name::RealmName;
use mesh_core::port::{PublishOptions, SubscribeOptions, Subscription};

use crate::ground::{BOTH, Realm};

/// How long what must come may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Where its answers are to go.
const BACK: &str = "desk.accepts.answer";

pub(crate) struct Peer<'f> {
    pub(crate) realm: &'f Realm,
    mailboxes: Vec<(MailboxKind, Subscription)>,
}

/// A request or an event, with what most have filled in.
#[derive(Clone)]
pub(crate) struct Said {
    pub(crate) kind: MsgType,
    pub(crate) from: RealmName,
    pub(crate) to: RealmName,
    pub(crate) path: MxPath<'static>,
    pub(crate) id: String,
    pub(crate) body: String,
    /// The realm that is to be answered.
    pub(crate) reply: Option<RealmName>,
    pub(crate) principal: Option<String>,
}

/// What came to a mailbox.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) mailbox: MailboxKind,
    pub(crate) profile: Profile,
    pub(crate) content: Content,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// An answer to the request of that id: a body, or a code.
    Answer { id: String, outcome: Result<String, String> },
    /// An event: its path and body.
    Event { path: String, body: String },
    /// Anything else.
    Other(String),
}

impl<'f> Peer<'f> {
    /// Listens to its mailboxes.
    pub(crate) async fn listen(realm: &'f Realm) -> Self {
        let mut mailboxes = Vec::new();
        for kind in &realm.kinds {
            let transport = realm.between.transport();
            let filter = kind.subject(&realm.name).into();
            let options = SubscribeOptions::default();
            mailboxes.push((*kind, transport.subscribe(filter, options).await.unwrap()));
        }
        Self { realm, mailboxes }
    }

    /// Listens to nothing.
    pub(crate) fn deaf(realm: &'f Realm) -> Self {
        Self { realm, mailboxes: Vec::new() }
    }

    /// A command for that path of `to`, which asks to be answered.
    pub(crate) fn command(&self, to: &RealmName, path: &str, id: &str, body: &str) -> Said {
        Said {
            kind: MsgType::Cmd,
            from: self.realm.name.clone(),
            to: to.clone(),
            path: path.parse().unwrap(),
            id: id.to_owned(),
            body: body.to_owned(),
            reply: Some(self.realm.name.clone()),
            principal: None,
        }
    }

    /// Puts bytes into a mailbox of another realm.
    pub(crate) async fn put(&self, to: &RealmName, mailbox: MailboxKind, bytes: Vec<u8>) {
        let message = Message::new(mailbox.subject(to), bytes);
        let options = PublishOptions::default();
        self.realm.between.transport().publish(message, options).await.unwrap();
    }

    /// Says something in a profile, by its mailbox.
    pub(crate) async fn say(&self, profile: Profile, said: &Said) {
        self.put(&said.to, mailbox_of(profile), said.bytes(profile)).await;
    }

    /// The next that comes to any mailbox.
    pub(crate) async fn hear(&mut self) -> Heard {
        let mut waiting: Vec<_> = self
            .mailboxes
            .iter_mut()
            .map(|(kind, mailbox)| {
                Box::pin(async move { (*kind, mailbox.next().await.unwrap().unwrap()) })
            })
            .collect();
        let first = futures_util::future::select_all(waiting.drain(..));
        let ((mailbox, message), ..) =
            tokio::time::timeout(PATIENCE, first).await.expect("nothing came");
        Heard::new(mailbox, &message)
    }

    /// Asks in a profile and gives the answer, which must be the next that comes, in the same profile and
    /// mailbox.
    pub(crate) async fn ask(&mut self, profile: Profile, said: &Said) -> Result<String, String> {
        self.say(profile, said).await;
        let Heard { mailbox, profile: answered, content } = self.hear().await;
        assert_eq!((mailbox, answered), (mailbox_of(profile), profile));
        let Content::Answer { id, outcome } = content else { panic!("{content:?}") };
        assert_eq!(id, said.id);
        outcome
    }
}

impl Said {
    /// An event in place of a command: nobody is answered.
    pub(crate) fn event(mut self) -> Self {
        self.kind = MsgType::Evt;
        self.reply = None;
        self
    }

    pub(crate) fn bytes(&self, profile: Profile) -> Vec<u8> {
        let body = Some(RawJson::new(self.body.as_str()).unwrap());
        let principal = self.principal.as_deref().map(|text| RawJson::new(text).unwrap());
        let back: Option<MxPath<'static>> = self.reply.is_some().then(|| BACK.parse().unwrap());
        if profile == Profile::Legacy {
            let mut request = LegacyRequest::new(&self.from, self.path.clone(), &*self.id);
            request.to_realm = Some((&self.to).into());
            request.msg_id = Some((&*self.id).into());
            request.reply_to_realm = self.reply.as_ref().map(Into::into);
            request.reply_to_path = back;
            request.principal = principal;
            request.body = body;
            return request.encode();
        }
        let to = Address::new(&self.to, self.path.clone());
        let mut envelope = Envelope::new(self.kind, Party::new(&self.from, None), to);
        envelope.msg_id = Some((&*self.id).into());
        envelope.correlation_id = Some((&*self.id).into());
        envelope.reply_to = self.reply.as_ref().map(|realm| Party::new(realm, back));
        envelope.principal = principal;
        envelope.body = body;
        envelope.encode().unwrap()
    }
}

impl Heard {
    fn new(mailbox: MailboxKind, message: &Message) -> Self {
        let decoded = decode(message.payload(), 1 << 20).unwrap();
        let profile = decoded.profile();
        let body = |body: Option<&RawJson<'_>>| body.map_or("null", RawJson::as_str).to_owned();
        let content = if let Some(answer) = decoded.as_answer() {
            Content::Answer {
                id: answer.correlation_id.to_string(),
                outcome: match answer.outcome {
                    Ok(body) => Ok(body.as_str().to_owned()),
                    Err(fault) => Err(fault.code.to_string()),
                },
            }
        } else {
            match &decoded {
                Decoded::MxEnv(e) if e.kind == MsgType::Evt => {
                    Content::Event { path: e.to.path.to_string(), body: body(e.body.as_ref()) }
                }
                Decoded::LegacyEvent(e) => {
                    Content::Event { path: e.to_path.to_string(), body: body(e.body.as_ref()) }
                }
                other => Content::Other(format!("{other:?}")),
            }
        };
        Self { mailbox, profile, content }
    }
}

/// The mailbox that a realm of this profile uses.
pub(crate) fn mailbox_of(profile: Profile) -> MailboxKind {
    match profile {
        Profile::Legacy => BOTH[0],
        Profile::MxEnv1 => BOTH[1],
    }
}
