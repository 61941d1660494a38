//! A small edge of a realm: what two other realms send, one on the legacy wire and one on the new,
//! goes through the guards, to a tool of the mesh, and back in the form it came in.

use std::sync::Arc;

use mesh_core::guard::{EdgeGuards, GuardChain, HashSecret, Inbound, Now, Outcome, PrefixDeny};
use mesh_core::json::RawJson;
use mesh_core::manifest::ToolRef;
use mesh_core::message::Message;
use mesh_core::mx::{
    Address, AnswerRoute, DEFAULT_MAX_BYTES, EdgeCode, Envelope, Fault, LegacyRequest, MailboxKind,
    MsgType, MxPath, Party, Profile, Shard, Stamp, decode,
};
use mesh_core::name::RealmName;
use mesh_core::port::{Connection, PublishOptions, SubscribeOptions, Subscription};
use mesh_sdk::{Asking, Broker, RequestError};
use serde_json::value::RawValue;

use super::flow::{FlowName, Step};
use super::journal::PATIENCE;
use super::raise::{Ask, Echo, Raised};
use super::story::answered;

/// The realm of this mesh, and the realm that sends.
pub(super) const REALMS: [&str; 2] = [HOME, PEER];
const HOME: &str = "home.example";
const PEER: &str = "peer.example";
/// What their gateways are called on the backbone.
pub(super) const GATEWAYS: [&str; 2] = ["home", "peer"];
/// Through which mailboxes they speak.
pub(super) const KINDS: [MailboxKind; 2] = [MailboxKind::Legacy, MailboxKind::Mx(Shard(0))];
/// A realm that has nothing to do with it.
const THIRD: &str = "third.example";
/// What is refused at the edge, whatever the tools are: provisioning is the controller's.
const CLOSED: &str = "provision_grant";

type Failure = Box<dyn std::error::Error + Send + Sync>;

pub(crate) async fn legacy(raised: &Raised) -> Vec<Step> {
    run(raised, Profile::Legacy, FlowName::LegacyRealm).await
}

pub(crate) async fn new(raised: &Raised) -> Vec<Step> {
    run(raised, Profile::MxEnv1, FlowName::NewRealm).await
}

/// Four commands of a peer: a good one, the same again, one whose answer should go to a third
/// realm, and one that the policy denies. A mesh without an administrator lets no realm in, since
/// nobody inside may call for it.
async fn run(raised: &Raised, profile: Profile, flow: FlowName) -> Vec<Step> {
    let Some((tool, broker)) = raised.served().into_iter().next().zip(raised.administrator())
    else {
        return Vec::new();
    };
    let expected = [
        answered(&tool.to_string(), raised.told(broker.principal()).as_deref()),
        dropped("replay"),
        dropped("relay"),
        refused(&EdgeCode::PolicyDenied),
    ];
    let what = [
        format!("{PEER} asks for {tool}"),
        "the same command comes again, though each is taken once".to_owned(),
        format!("{PEER} wants the answer sent to {THIRD}, though only who asks is answered"),
        format!("{PEER} asks for {}.{CLOSED}, which is closed to realms", tool.module),
    ];
    let found = match exchange(raised, &tool, broker, profile, flow).await {
        Ok(found) => found,
        Err(error) => vec![error.to_string(); expected.len()],
    };
    what.into_iter()
        .zip(expected)
        .zip(found)
        .map(|((what, expected), found)| Step::new(what, expected, found))
        .collect()
}

fn dropped(guard: &str) -> String {
    format!("dropped by the guard `{guard}`")
}

fn refused(code: &impl ToString) -> String {
    format!("refused with {}", code.to_string())
}

async fn exchange(
    raised: &Raised,
    tool: &ToolRef,
    broker: &Broker<Asking>,
    profile: Profile,
    flow: FlowName,
) -> Result<Vec<String>, Failure> {
    let closed = if raised.broken == Some(flow) { tool.tool.as_str() } else { CLOSED };
    let backbone = raised.ground.backbone().await?;
    let mut edge = Edge::new(tool, broker, profile, Ask { flow }, closed, backbone).await?;
    let (good, denied) = (tool.tool.as_str(), CLOSED);
    let home = edge.peer.as_str().to_owned();
    Ok(vec![
        edge.send(good, "m-1", &home).await?,
        edge.send(good, "m-1", &home).await?,
        edge.send(good, "m-2", THIRD).await?,
        edge.send(denied, "m-3", &home).await?,
    ])
}

/// Both ends: the realm's edge, and the peer that sends and listens.
struct Edge<'b> {
    tool: &'b ToolRef,
    broker: &'b Broker<Asking>,
    profile: Profile,
    ask: Ask,
    chain: GuardChain,
    realm: RealmName,
    peer: RealmName,
    ours: Connection,
    theirs: Connection,
    mailbox: Subscription,
    answers: Subscription,
}

impl<'b> Edge<'b> {
    async fn new(
        tool: &'b ToolRef,
        broker: &'b Broker<Asking>,
        profile: Profile,
        ask: Ask,
        closed: &str,
        (ours, theirs): (Connection, Connection),
    ) -> Result<Self, Failure> {
        let (realm, peer) = (RealmName::new(HOME)?, RealmName::new(PEER)?);
        let mut guards = EdgeGuards::new(realm.clone(), HashSecret::new(*b"a demo's secret."));
        guards.policy =
            Some(Arc::new(PrefixDeny::new([format!("{}.accepts.{closed}", tool.module)])));
        let mailbox = listen(&ours, &realm, profile).await?;
        let answers = listen(&theirs, &peer, profile).await?;
        let chain = GuardChain::standard(guards).build();
        Ok(Self { tool, broker, profile, ask, chain, realm, peer, ours, theirs, mailbox, answers })
    }

    /// Sends one command through the backbone, and says what became of it.
    async fn send(&mut self, tool: &str, id: &str, reply_realm: &str) -> Result<String, Failure> {
        let command = self.command(tool, id, reply_realm)?;
        publish(&self.theirs, &self.realm, self.profile, command).await?;
        let message = next(&mut self.mailbox).await?;
        let decoded = decode(message.payload(), DEFAULT_MAX_BYTES)?;
        let profile = decoded.profile();
        let envelope = decoded.into_envelope(&self.realm).ok_or("a reply in place of a command")?;
        let inbound = Inbound::of(&envelope, profile, None, message.payload().len());
        let clock = self.ours.clock();
        let decision = self.chain.check(&inbound, Now::of(&**clock));
        let route = AnswerRoute::of(&envelope, profile);
        let fault = match decision.outcome {
            Outcome::Drop { guard, .. } => return Ok(dropped(guard)),
            Outcome::Nack { code, message, .. } => Some(Fault::new(code, message.into_owned())),
            _ => None,
        };
        let route = route.ok_or("a command without a way back")?;
        let now = u64::try_from(clock.now().as_millis())?;
        let stamp = Stamp::new(format!("answer-to-{id}"), now);
        let answer = match fault {
            Some(fault) => route.failed(&stamp, &fault),
            None => match self.call().await {
                Ok(body) => route.ok(&stamp, &RawJson::new(body.get())?),
                Err(error) => {
                    route.failed(&stamp, &Fault::edge(EdgeCode::HandlerError, error.to_string()))
                }
            },
        };
        publish(&self.ours, route.realm(), profile, answer).await?;
        self.hear().await
    }

    /// The command as the peer's profile writes it.
    fn command(&self, tool: &str, id: &str, reply_realm: &str) -> Result<Vec<u8>, Failure> {
        let path = MxPath::new(format!("{}.accepts.{tool}", self.tool.module))?;
        let back = MxPath::new("desk.accepts.answer")?;
        let reply_realm = RealmName::new(reply_realm)?;
        Ok(match self.profile {
            Profile::Legacy => {
                let mut request = LegacyRequest::new(&self.peer, path, format!("c-{id}"));
                request.msg_id = Some(id.into());
                request.reply_to_realm = Some((&reply_realm).into());
                request.reply_to_path = Some(back);
                request.body = Some(RawJson::new("{}")?);
                request.encode()
            }
            Profile::MxEnv1 => {
                let from = Party::new(&self.peer, None);
                let to = Address::new(&self.realm, path);
                let mut envelope = Envelope::new(MsgType::Cmd, from, to);
                envelope.msg_id = Some(id.into());
                envelope.correlation_id = Some(format!("c-{id}").into());
                envelope.reply_to = Some(Party::new(&reply_realm, Some(back)));
                envelope.body = Some(RawJson::new("{}")?);
                envelope.encode()?
            }
        })
    }

    async fn call(&self) -> Result<Box<RawValue>, RequestError> {
        let request = mesh_sdk::ToolRequest::new(self.tool.module.clone(), self.tool.tool.clone());
        self.broker.request(request, &self.ask).await
    }

    /// What the peer reads in its own mailbox.
    async fn hear(&mut self) -> Result<String, Failure> {
        let message = next(&mut self.answers).await?;
        let decoded = decode(message.payload(), DEFAULT_MAX_BYTES)?;
        if decoded.profile() != self.profile {
            return Ok(format!("answered in the profile {}", decoded.profile()));
        }
        let answer = decoded.as_answer().ok_or("a command in place of an answer")?;
        Ok(match answer.outcome {
            Ok(body) => {
                let echo: Echo = body.to()?;
                answered(&echo.tool, echo.caller.as_deref())
            }
            Err(fault) => refused(&fault.code),
        })
    }
}

fn mailbox(profile: Profile) -> MailboxKind {
    match profile {
        Profile::Legacy => KINDS[0],
        Profile::MxEnv1 => KINDS[1],
    }
}

async fn listen(
    connection: &Connection,
    realm: &RealmName,
    profile: Profile,
) -> Result<Subscription, Failure> {
    let filter = mailbox(profile).subject(realm).into();
    Ok(connection.transport().subscribe(filter, SubscribeOptions::default()).await?)
}

async fn publish(
    connection: &Connection,
    realm: &RealmName,
    profile: Profile,
    bytes: Vec<u8>,
) -> Result<(), Failure> {
    let message = Message::new(mailbox(profile).subject(realm), bytes);
    let options = PublishOptions { require_receiver: true, ..PublishOptions::default() };
    Ok(connection.transport().publish(message, options).await?)
}

async fn next(subscription: &mut Subscription) -> Result<Message, Failure> {
    let arrival = tokio::time::timeout(PATIENCE, subscription.next()).await?;
    Ok(arrival.ok_or("the mailbox was closed")??)
}
