//! What a mailbox brings, to its end.

use std::sync::Arc;

use mesh_core::message::Message;
use mesh_core::mx::{MailboxKind, ReplyId, Topic};
use mesh_core::port::{PublishOptions, SubscribeOptions, Subscription};

use super::super::tally::count;
use super::super::{Ask, Dropped, Reaction, Tell};
use super::lane::Work;
use super::outbound::{answer, send, send_from_lane};
use super::shared::Shared;
use super::siblings;
use crate::Settled;

/// Decides about one message, and does what follows.
pub(super) fn receive(shared: &Arc<Shared>, mailbox: MailboxKind, message: Message) -> Work {
    let shared = Arc::clone(shared);
    Box::pin(async move {
        let edge = &shared.edge;
        let mut reaction = edge.receive(message.payload(), mailbox, shared.now());
        loop {
            reaction = match reaction {
                Reaction::Wait(waiting) => waiting.proceed(edge, &**shared.backbone.clock()).await,
                Reaction::Drop(dropped) => {
                    let Dropped { guard, reason } = dropped;
                    return tracing::debug!(?mailbox, guard, %reason, "a message was dropped");
                }
                Reaction::Answer(answer) => return send_from_lane(&shared, answer).await,
                Reaction::Ask(asked) => return ask(&shared, asked).await,
                Reaction::Tell(told) => return tell(&shared, told).await,
                Reaction::Settle(answer) => {
                    let settled = shared.options.answers.as_ref().map(|all| all.settle(&answer));
                    if matches!(settled, None | Some(Settled::Unknown)) {
                        siblings::hand_over(&shared, &message).await;
                    }
                    return;
                }
            }
        }
    })
}

/// Asks a component. Its reply is heard by the lane of all replies, or here.
async fn ask(shared: &Shared, ask: Ask<'_>) {
    shared.timer.set();
    let id = ask.id;
    if shared.replies_together {
        publish(shared, ask).await;
        return;
    }
    let subject = Topic::internal_reply(&shared.edge.realm, id);
    let options = SubscribeOptions::default();
    let subscribed = shared.local.transport().subscribe(subject.into(), options).await;
    match subscribed {
        Ok(replies) => {
            if publish(shared, ask).await {
                reply(shared, id, replies).await;
            }
        }
        Err(error) => unsent(shared, ask, &error).await,
    }
}

/// Whether a reply may come.
async fn publish(shared: &Shared, ask: Ask<'_>) -> bool {
    let options =
        PublishOptions { require_receiver: shared.require_receiver, ..PublishOptions::default() };
    match shared.local.transport().publish(ask.message.clone(), options).await {
        Ok(()) => true,
        Err(error) => {
            unsent(shared, ask, &error).await;
            true
        }
    }
}

async fn unsent(shared: &Shared, ask: Ask<'_>, error: &mesh_core::port::TransportError) {
    let path = ask.message.subject().clone();
    tracing::debug!(%path, %error, "a request did not get to a component");
    let unsent = shared.edge.unsent(ask, error.kind(), shared.now());
    if let Some(release) = unsent.release {
        release.finish().await;
    }
    if let Some(answer) = unsent.answer {
        send_from_lane(shared, answer).await;
    }
}

/// Waits for the one reply, until the request has ended.
async fn reply(shared: &Shared, id: ReplyId, mut replies: Subscription) {
    let Some(ended) = shared.edge.pending.listened(id) else {
        return;
    };
    tokio::pin!(ended);
    loop {
        tokio::select! {
            biased;
            arrival = replies.next() => match arrival {
                Some(Ok(message)) => {
                    drop(replies);
                    if let Some(answer) = answer(shared, id, &message) {
                        send(shared, answer).await;
                    }
                    return;
                }
                Some(Err(error)) if !error.is_terminal() => {}
                // Then nothing comes any more, and its time will be over.
                _ => return,
            },
            _ = &mut ended => return,
        }
    }
}

async fn tell(shared: &Shared, tell: Tell<'_>) {
    let message = tell.message.clone();
    let published = shared.local.transport().publish(message, PublishOptions::default()).await;
    match published {
        Ok(()) => count(&shared.edge.tally.told),
        Err(error) => {
            let path = tell.message.subject().clone();
            tracing::warn!(%path, %error, "an event of another realm was not published");
            if let Some(release) = shared.edge.untold(tell, error.kind()) {
                release.finish().await;
            }
        }
    }
}
