use std::num::NonZeroUsize;
use std::sync::Arc;

use futures_util::stream::unfold;
use mesh_core::mx::{MailboxKind, ReplyId, Topic};
use mesh_core::name::RealmName;
use mesh_core::port::{
    Capability, Connection, ErrorKind, Operation, QueueGroup, SubscribeOptions, TransportError,
};
use mesh_core::subject::Filter;
use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::super::{Edge, EdgeConfig};
use super::ear::{EarState, On};
use super::lane::drive;
use super::shared::{Phase, Shared, replies_together};
use super::{EdgeGateway, GatewayError, GatewayOptions, Sharing, Tasks};
use super::{inbound, outbound, siblings};

impl EdgeGateway {
    /// Starts a gateway: when this returns, it hears its mailboxes. Runs on the tokio runtime that it is
    /// called on. On the backbone it makes exact subscriptions only, to the realm's own mailboxes.
    ///
    /// # Errors
    /// [`GatewayError`]: the configuration makes no sense, or a subscription was refused.
    pub async fn start(
        mut config: EdgeConfig,
        backbone: Connection,
        local: Connection,
        options: GatewayOptions,
    ) -> Result<Self, GatewayError> {
        let carried = backbone.transport().capabilities().limits().max_payload;
        config.limits.max_answer_bytes = config.limits.max_answer_bytes.min(carried);
        let mut edge = Edge::new(config, Arc::clone(&options.random))?;
        edge.questions.clone_from(&options.answers);
        let realm = edge.realm().clone();
        let most = NonZeroUsize::new(edge.limits().pending).unwrap_or(NonZeroUsize::MIN);

        let mailboxes = mailboxes(&realm, &options)
            .into_iter()
            .map(|kind| (kind, kind.subject(&realm).into()))
            .map(|(kind, filter)| {
                (kind, EarState::new(filter, On::Backbone, options.answers.clone()))
            });
        let mailboxes: Vec<_> = mailboxes.collect();
        let replies = match replies_together(&local, &options) {
            true => Some(EarState::new(reply_filter(&realm)?, On::Local, None)),
            false => None,
        };
        let handed = match options.answers.is_some() && options.hand_over {
            true => Some(EarState::new(handed_filter(&realm)?, On::Local, None)),
            false => None,
        };
        let ears = mailboxes.iter().map(|(_, ear)| ear).chain(&replies).chain(&handed);
        let ears = ears.cloned().collect();
        let shared = Arc::new(Shared::new(edge, backbone, local, options, ears));
        let options = &shared.options;

        // The answers' way first: a request that comes in at once finds it.
        let mut others = JoinSet::new();
        if let Some(ear) = replies {
            // A component may reply twice, and other gateways' replies are heard too.
            let buffer = most.saturating_add(most.get());
            let how = SubscribeOptions { buffer, ..SubscribeOptions::default() };
            let source = ear.open(shared.local.clone(), how).await?;
            let (lane, shared) = (Arc::clone(&shared), Arc::clone(&shared));
            others.spawn(async move {
                let source = Box::pin(source);
                drive(lane, source, most.get(), Phase::Over, |reply| {
                    outbound::replied(&shared, reply)
                })
                .await;
            });
        }
        if let Some(ear) = handed {
            let how = SubscribeOptions { buffer: options.buffer, ..SubscribeOptions::default() };
            let source = ear.open(shared.local.clone(), how).await?;
            let (lane, shared) = (Arc::clone(&shared), Arc::clone(&shared));
            others.spawn(async move {
                let source = Box::pin(source);
                drive(lane, source, 1, Phase::Over, |m| siblings::take_over(&shared, m)).await;
            });
        }
        let (lane, timer) = (Arc::clone(&shared), Arc::clone(&shared));
        others.spawn(async move {
            let shared = Arc::clone(&timer);
            let source = Box::pin(unfold(timer, outbound::expired));
            drive(lane, source, most.get(), Phase::Over, |answer| {
                let shared = Arc::clone(&shared);
                Box::pin(async move { outbound::send(&shared, answer).await })
            })
            .await;
        });
        others.spawn(outbound::tidy(Arc::clone(&shared), options.tidy_every));

        let group = group(&shared.backbone, options);
        // Without one subscription for all, each request waits for its reply in its mailbox's lane.
        let at_once = match shared.replies_together {
            true => options.at_once.get(),
            false => options.at_once.get().max(most.get()),
        };
        let mut readers = JoinSet::new();
        for (kind, ear) in mailboxes {
            let how = SubscribeOptions {
                group: group.clone(),
                buffer: options.buffer,
                ..SubscribeOptions::default()
            };
            let source = ear.open(shared.backbone.clone(), how).await?;
            let (lane, shared) = (Arc::clone(&shared), Arc::clone(&shared));
            readers.spawn(async move {
                let source = Box::pin(source);
                drive(lane, source, at_once, Phase::Draining, |message| {
                    inbound::receive(&shared, kind, message)
                })
                .await;
            });
        }
        let tasks = Mutex::new(Some(Tasks { mailboxes: readers, others }));
        Ok(Self { shared, tasks })
    }
}

/// The mailboxes to listen to, each once.
fn mailboxes(realm: &RealmName, options: &GatewayOptions) -> Vec<MailboxKind> {
    let mut kinds = vec![MailboxKind::Legacy, MailboxKind::default()];
    let escaped = MailboxKind::Legacy.subject(realm);
    if options.legacy_raw_mailbox && MailboxKind::LegacyRaw.subject(realm) != escaped {
        kinds.push(MailboxKind::LegacyRaw);
    }
    kinds
}

/// The group that the realm's gateways share its mailboxes in.
fn group(backbone: &Connection, options: &GatewayOptions) -> Option<QueueGroup> {
    match &options.sharing {
        Sharing::Group(group) => Some(group.clone()),
        Sharing::WherePossible => {
            let can = backbone.transport().capabilities().has(Capability::QueueGroups);
            can.then(|| QueueGroup::new("mx-edge").ok()).flatten()
        }
        Sharing::Alone => None,
    }
}

/// `mx/1/<realm>/_reply.*`: whatever the realm's dots make of it, the id is one token.
fn reply_filter(realm: &RealmName) -> Result<Filter, GatewayError> {
    let one = Topic::internal_reply(realm, ReplyId([0; 16]));
    let all = one.as_str().rsplit_once('.').map_or("", |(front, _)| front);
    Ok(Filter::new(format!("{all}.*")).map_err(invalid)?)
}

fn handed_filter(realm: &RealmName) -> Result<Filter, GatewayError> {
    Ok(siblings::topic(realm).map_err(invalid)?.into())
}

fn invalid(error: impl std::error::Error + Send + Sync + 'static) -> TransportError {
    TransportError::new(ErrorKind::Invalid, Operation::Subscribe).caused_by(error)
}
