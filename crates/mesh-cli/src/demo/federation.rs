//! The gateway of a realm: what another realm sends, on the legacy wire and on the new, goes through its
//! guards, to a tool of the mesh, and back in the form it came in.

use std::error::Error;
use std::sync::Arc;

use mesh_core::guard::{Outcome, PrefixDeny};
use mesh_core::json::RawJson;
use mesh_core::manifest::ToolRef;
use mesh_core::message::Message;
use mesh_core::mx::{
    Address, DEFAULT_MAX_BYTES, EdgeCode, Envelope, Fault, LegacyRequest, MailboxKind, MsgType,
    MxPath, Party, Profile, Shard, decode,
};
use mesh_core::name::RealmName;
use mesh_core::port::{Connection, PublishOptions, SubscribeOptions, Subscription};
use mesh_federation::edge::{
    Decisions, EdgeConfig, EdgeGateway, EdgeRules, GatewayOptions, Sharing,
};
use mesh_federation::{Call, ComponentHost, HostOptions, Registration};
use mesh_sdk::{Asking, Broker, ToolRequest};
use mesh_transport_mem::InMemoryFilterBroker;
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

type Failure = Box<dyn Error + Send + Sync>;

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
    let (ours, theirs) = raised.ground.backbone().await?;
    let (gateway, inside) = let_in(tool, broker, Ask { flow }, closed, ours).await?;
    let mut peer = Peer::new(tool, profile, gateway.decisions(), theirs).await?;
    let (good, denied) = (tool.tool.as_str(), CLOSED);
    let home = peer.name.as_str().to_owned();
    let found = vec![
        peer.send(good, "m-1", &home).await?,
        peer.send(good, "m-1", &home).await?,
        peer.send(good, "m-2", THIRD).await?,
        peer.send(denied, "m-3", &home).await?,
    ];
    gateway.close(PATIENCE).await;
    drop(inside);
    Ok(found)
}

/// The realm's gateway at work, and behind it a component that calls the tool for who is let in.
async fn let_in(
    tool: &ToolRef,
    broker: &Broker<Asking>,
    ask: Ask,
    closed: &str,
    backbone: Connection,
) -> Result<(EdgeGateway, Registration), Failure> {
    let realm = RealmName::new(HOME)?;
    let inside = InMemoryFilterBroker::new(Arc::clone(backbone.clock()));
    let local = inside.connect(backbone.principal().clone());
    let host = ComponentHost::new(realm.clone(), local.clone(), HostOptions::default());
    let path = MxPath::new(format!("{}.accepts.{}", tool.module, tool.tool))?;
    let closed = format!("{}.accepts.{closed}", tool.module);
    let (tool, broker) = (tool.clone(), broker.clone());
    let serving = host
        .accept(path, move |_: Call| {
            let request = ToolRequest::new(tool.module.clone(), tool.tool.clone());
            let broker = broker.clone();
            async move {
                let failed =
                    |error: &dyn Error| Fault::edge(EdgeCode::HandlerError, error.to_string());
                let answer: Box<RawValue> =
                    broker.request(request, &ask).await.map_err(|error| failed(&error))?;
                let answer = RawJson::new(answer.get().to_owned());
                answer.map_err(|error| failed(&error))
            }
        })
        .await?;
    let mut config = EdgeConfig::new(realm);
    config.rules = EdgeRules::default().policy(PrefixDeny::new([closed]));
    let options = GatewayOptions { sharing: Sharing::Alone, ..GatewayOptions::default() };
    let gateway = EdgeGateway::start(config, backbone, local, options).await?;
    Ok((gateway, serving))
}

/// The peer by hand, which also sees what the gateway decides.
struct Peer<'t> {
    tool: &'t ToolRef,
    profile: Profile,
    realm: RealmName,
    name: RealmName,
    decisions: Decisions,
    theirs: Connection,
    answers: Subscription,
}

impl<'t> Peer<'t> {
    async fn new(
        tool: &'t ToolRef,
        profile: Profile,
        decisions: Decisions,
        theirs: Connection,
    ) -> Result<Self, Failure> {
        let (realm, name) = (RealmName::new(HOME)?, RealmName::new(PEER)?);
        let filter = mailbox(profile).subject(&name).into();
        let answers = theirs.transport().subscribe(filter, SubscribeOptions::default()).await?;
        Ok(Self { tool, profile, realm, name, decisions, theirs, answers })
    }

    /// Sends one command through the backbone, and says what became of it.
    async fn send(&mut self, tool: &str, id: &str, reply_realm: &str) -> Result<String, Failure> {
        let command = self.command(tool, id, reply_realm)?;
        let message = Message::new(mailbox(self.profile).subject(&self.realm), command);
        let options = PublishOptions { require_receiver: true, ..PublishOptions::default() };
        self.theirs.transport().publish(message, options).await?;
        let decided = tokio::time::timeout(PATIENCE, self.decisions.next()).await?;
        match &decided.ok_or("the gateway is gone")??.outcome {
            Outcome::Drop { guard, .. } => Ok(dropped(guard)),
            _ => self.hear().await,
        }
    }

    /// The command as the peer's profile writes it.
    fn command(&self, tool: &str, id: &str, reply_realm: &str) -> Result<Vec<u8>, Failure> {
        let path = MxPath::new(format!("{}.accepts.{tool}", self.tool.module))?;
        let back = MxPath::new("desk.accepts.answer")?;
        let reply_realm = RealmName::new(reply_realm)?;
        Ok(match self.profile {
            Profile::Legacy => {
                let mut request = LegacyRequest::new(&self.name, path, format!("c-{id}"));
                request.msg_id = Some(id.into());
                request.reply_to_realm = Some((&reply_realm).into());
                request.reply_to_path = Some(back);
                request.body = Some(RawJson::new("{}")?);
                request.encode()
            }
            Profile::MxEnv1 => {
                let from = Party::new(&self.name, None);
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

async fn next(subscription: &mut Subscription) -> Result<Message, Failure> {
    let arrival = tokio::time::timeout(PATIENCE, subscription.next()).await?;
    Ok(arrival.ok_or("the mailbox was closed")??)
}
