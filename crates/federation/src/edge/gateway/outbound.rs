//! Answers, on their way to other realms' mailboxes; replies that become some; and time-outs.

use std::sync::Arc;
use std::time::Duration;

use mesh_core::message::Message;
use mesh_core::mx::{Profile, ReplyId, Topic};
use mesh_core::port::{ErrorKind, PublishOptions};

use super::super::Outgoing;
use super::super::pending::Pending;
use super::super::tally::count;
use super::lane::Work;
use super::shared::{Phase, Shared};

/// Brings an answer to its mailbox, again and again while that may help and the patience lasts.
pub(super) async fn send(shared: &Shared, answer: Outgoing) {
    again_and_again(shared, answer, None).await;
}

/// The same from the lane of a mailbox, where whoever waits keeps others from being read. So of one realm
/// whose mailbox takes nothing only a few wait, and of all such realms half of what is worked on at once.
pub(super) async fn send_from_lane(shared: &Shared, answer: Outgoing) {
    again_and_again(shared, answer, Some(&shared.stuck)).await;
}

async fn again_and_again(shared: &Shared, mut answer: Outgoing, stuck: Option<&Pending>) {
    let clock = shared.backbone.clock();
    let until = clock.monotonic().saturating_add(shared.options.patience);
    let mut shrunk = false;
    let mut attempt = 0;
    let mut place = None;
    loop {
        let options = PublishOptions::default();
        let Some(message) = proven(shared, &answer) else { return };
        let Err(error) = shared.backbone.transport().publish(message, options).await else {
            count(&shared.edge.tally.sent);
            return;
        };
        if error.kind() == ErrorKind::TooLarge && !shrunk {
            shrunk = true;
            answer = shared.edge.too_large(answer, shared.now());
            continue;
        }
        let random = shared.options.random.bits();
        let random = u32::from_be_bytes([random[0], random[1], random[2], random[3]]);
        let pause = shared.options.pauses.pause(attempt, random);
        // A connection that is away is so for all.
        let is_stuck = error.kind() != ErrorKind::Disconnected && place.is_none();
        if let Some(stuck) = stuck.filter(|_| is_stuck) {
            place = stuck.take(answer.realm()).ok();
        }
        let may_wait = stuck.is_none() || !is_stuck || place.is_some();
        let is_late = clock.monotonic().saturating_add(pause) >= until;
        if !error.may_retry() || !may_wait || is_late {
            count(&shared.edge.tally.unsent_answers);
            let realm = answer.realm();
            tracing::warn!(%realm, %error, "an answer was given up");
            return;
        }
        attempt = attempt.saturating_add(1);
        clock.sleep(pause).await;
    }
}

/// The message, with the proof of who answers where this realm gives one. Each try has its own: proofs
/// are short-lived.
fn proven(shared: &Shared, answer: &Outgoing) -> Option<Message> {
    let message = answer.message();
    let signer = shared.options.signer.as_ref();
    let Some(signer) = signer.filter(|_| answer.profile() == Profile::MxEnv1) else {
        return Some(message);
    };
    match signer.sign_encoded(message.payload(), shared.now().wall) {
        Ok(bytes) => Some(Message::new(message.subject().clone(), bytes)),
        Err(error) => {
            count(&shared.edge.tally.unsent_answers);
            tracing::warn!(realm = %answer.realm(), %error, "an answer was given up");
            None
        }
    }
}

/// What came on a reply topic.
pub(super) fn replied(shared: &Arc<Shared>, reply: Message) -> Work {
    let shared = Arc::clone(shared);
    Box::pin(async move {
        let Ok(Topic::InternalReply(_, id)) = reply.subject().as_str().parse() else {
            count(&shared.edge.tally.other_replies);
            return;
        };
        if let Some(answer) = answer(&shared, id, &reply) {
            send(&shared, answer).await;
        }
    })
}

pub(super) fn answer(shared: &Shared, id: ReplyId, reply: &Message) -> Option<Outgoing> {
    let now = shared.now();
    let answer = shared.edge.reply(id, reply.payload(), now).answer()?;
    shared.observer.replied(now.monotonic.saturating_sub(answer.since));
    Some(answer)
}

/// The answers to requests whose time is over, each when it is.
pub(super) async fn expired(shared: Arc<Shared>) -> Option<(Outgoing, Arc<Shared>)> {
    loop {
        let now = shared.now();
        if let Some(answer) = shared.edge.expire(now) {
            return Some((answer, shared));
        }
        shared.timer.arm(true);
        if let Some(deadline) = shared.edge.next_deadline() {
            shared.backbone.clock().sleep(deadline.saturating_sub(now.monotonic)).await;
            continue;
        }
        shared.timer.arm(false);
        // One that came meanwhile has woken nobody.
        if shared.edge.next_deadline().is_none() {
            shared.timer.woken().await;
        }
    }
}

/// Frees what guards no longer need, and tells what was counted, now and then and at the end.
pub(super) async fn tidy(shared: Arc<Shared>, every: Duration) {
    let clock = Arc::clone(shared.backbone.clock());
    let again = async {
        loop {
            clock.sleep(every).await;
            shared.edge.reclaim(shared.now());
            shared.observer.tell(&shared.status());
        }
    };
    tokio::select! {
        () = again => {}
        () = shared.reached(Phase::Over) => shared.observer.tell(&shared.status()),
    }
}
