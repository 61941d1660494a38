//! What attacks have in common: proving that the server refused something, that it had its effect, or
//! that it had none.

use std::time::{Duration, Instant};

use mesh_core::topology::Topology;
use mesh_testkit::servers::nats::{RawMessage, RawNats};
use serde_json::{Value, json};

use crate::attack::{Outcome, Verdict, bed};
use crate::split::{Bed, Mode, PATIENCE, Started};

/// An address in the inbox of the user of that name where the server's words come, and nobody else's.
pub fn ack_inbox(bed: &Bed, who: &str, random: u128) -> String {
    let inbox = mesh_core::topology::Inbox::of(&bed.user(who).principal);
    inbox.confirmation(random).to_string()
}

/// The refusal of a publish.
pub fn no_publish(subject: &str) -> String {
    format!("Permissions Violation for Publish to {subject:?}")
}

/// The refusal of a subscription.
pub fn no_subscription(filter: &str, group: Option<&str>) -> String {
    let group = group.map_or(String::new(), |group| format!(" using queue {group:?}"));
    format!("Permissions Violation for Subscription to {filter:?}{group}")
}

/// `who` publishes to each of `subjects`, and the server refuses each, by its name; `allowed` it does
/// not, so the refusal is not of everything.
pub async fn publishes_are_refused(
    mode: Mode,
    who: &str,
    allowed: &str,
    subjects: &[&str],
) -> Verdict {
    let bed = bed(mode).await?;
    let mut raw = bed.raw(who).await?;
    raw.publish(allowed, None, &[], b"{}").await?;
    let settled = raw.settle().await?;
    if !settled.errors.is_empty() {
        return Err(format!("what is allowed was refused: {:?}", settled.errors).into());
    }
    for subject in subjects {
        raw.publish(subject, None, &[], b"{}").await?;
        let errors = raw.settle().await?.errors;
        if errors != [no_publish(subject)] {
            return Err(format!("publish to {subject}: {errors:?}").into());
        }
    }
    Ok(Outcome::Refused)
}

/// `who` subscribes to each of `filters`, and the server refuses each; its own inbox it does not.
pub async fn subscriptions_are_refused(
    mode: Mode,
    who: &str,
    filters: &[(&str, Option<&str>)],
) -> Verdict {
    let bed = bed(mode).await?;
    let mut raw = bed.raw(who).await?;
    let inbox = mesh_core::topology::Inbox::of(&bed.user(who).principal);
    raw.subscribe(inbox.filter().as_str(), None).await?;
    let settled = raw.settle().await?;
    if !settled.errors.is_empty() {
        return Err(format!("its own inbox was refused: {:?}", settled.errors).into());
    }
    for (filter, group) in filters {
        raw.subscribe(filter, *group).await?;
        let errors = raw.settle().await?.errors;
        if errors != [no_subscription(filter, *group)] {
            return Err(format!("subscription to {filter} {group:?}: {errors:?}").into());
        }
    }
    Ok(Outcome::Refused)
}

/// The controller's user with a client of its own: what the server says of its streams, whatever the
/// attacked program believes.
pub struct Witness {
    raw: RawNats,
    inbox: String,
    asked: u128,
}

impl Witness {
    pub async fn of(bed: &Bed) -> Started<Self> {
        let raw = bed.raw("controller").await?;
        let inbox = mesh_core::topology::Inbox::of(&bed.user("controller").principal);
        Ok(Self { raw, inbox: inbox.to_string(), asked: 0 })
    }

    async fn ask(
        &mut self,
        subject: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Started<Value> {
        self.asked += 1;
        let inbox = format!("{}.ack.{:032x}", self.inbox, self.asked);
        let answer = self.raw.request(subject, &inbox, headers, body).await?;
        if answer.status.is_some() {
            return Err(format!("{subject}: {:?}", answer.status).into());
        }
        Ok(serde_json::from_slice(&answer.body)?)
    }

    /// Asks the server's API; an error is in the answer.
    pub async fn api(&mut self, what: &str, body: &Value) -> Started<Value> {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        self.ask(&format!("$JS.API.{what}"), &[], &body).await
    }

    /// How many messages a stream holds; nothing where it is gone.
    pub async fn messages(&mut self, stream: &str) -> Started<Option<u64>> {
        let info = self.api(&format!("STREAM.INFO.{stream}"), &Value::Null).await?;
        if info["error"]["err_code"] == 10059 {
            return Ok(None);
        }
        Ok(Some(info["state"]["messages"].as_u64().ok_or_else(|| info.to_string())?))
    }

    /// What the server says of a stream.
    pub async fn about(&mut self, stream: &str) -> Started<Value> {
        self.api(&format!("STREAM.INFO.{stream}"), &Value::Null).await
    }

    /// The last message of a subject, with its body decoded.
    pub async fn last(&mut self, stream: &str, subject: &str) -> Started<Option<Value>> {
        let body = json!({ "last_by_subj": subject });
        let found = self.api(&format!("STREAM.MSG.GET.{stream}"), &body).await?;
        if found["error"]["err_code"] == 10037 {
            return Ok(None);
        }
        let message = found["message"].clone();
        if message.is_null() { Err(found.to_string().into()) } else { Ok(Some(message)) }
    }

    /// Whether a consumer is there, and what it says of itself.
    pub async fn consumer(&mut self, stream: &str, name: &str) -> Started<Option<Value>> {
        let info = self.api(&format!("CONSUMER.INFO.{stream}.{name}"), &Value::Null).await?;
        Ok((info["error"]["err_code"] != 10014).then_some(info))
    }

    /// Publishes a declaration as the controller does; answers what the stream says.
    pub async fn declare(&mut self, node: &str, body: &str) -> Started<Value> {
        let subject = format!("mesh.node.{node}.declare");
        self.ask(&subject, &[("Nats-Rollup", "sub")], body.as_bytes()).await
    }

    /// Appends anything that the controller may publish.
    pub async fn append(&mut self, subject: &str, body: &str) -> Started<Value> {
        self.ask(subject, &[], body.as_bytes()).await
    }
}

/// `who` emits `subject` with `target` as the reply address, so that the stream's confirmation goes
/// there; returns when the stream has confirmed that and one more, which it does in their order.
pub async fn aim_confirmation(
    bed: &Bed,
    raw: &mut RawNats,
    who: &str,
    subject: &str,
    target: &str,
) -> Started<RawMessage> {
    raw.publish(subject, Some(target), &[], b"aimed").await?;
    let inbox = ack_inbox(bed, who, 0xfeed);
    let confirmed = raw.request(subject, &inbox, &[], b"after").await?;
    let said: Value = serde_json::from_slice(&confirmed.body)?;
    match said["seq"].as_u64() {
        Some(2..) => Ok(confirmed),
        _ => Err(format!("not both were stored: {said}").into()),
    }
}

/// Appends one message to a stream by whoever may, and answers its number: whatever came before it has
/// a lower one.
pub async fn mark(bed: &Bed, witness: &mut Witness, stream: &str) -> Started<u64> {
    let said = match stream {
        // A node of its own each time: servers before 2.14 take no second declaration.
        "NODES" => witness.declare(&format!("n9-{}", witness.asked), "mark").await?,
        "BUILDS" => witness.append("mesh.build.request", "mark").await?,
        "EVENTS_DEAD" => witness.append("mesh.events.dead", "mark").await?,
        "EVENTS" => witness.append("mesh.replay.n9_mark.a.b", "mark").await?,
        _ => {
            let mut host = bed.raw("host.n1").await?;
            let inbox = ack_inbox(bed, "host.n1", 0xa11);
            let said = host.request("mesh.control.n1.report", &inbox, &[], b"mark").await?;
            serde_json::from_slice(&said.body)?
        }
    };
    match (said["stream"].as_str(), said["seq"].as_u64()) {
        (Some(stored), Some(number)) if stored == stream => Ok(number),
        _ => Err(said.to_string().into()),
    }
}

/// Claims pass quickly, and there are three tries.
pub fn quick(mut topology: Topology) -> Topology {
    for mut spec in topology.consumers().to_vec() {
        spec.rules.ack_wait = Duration::from_secs(1);
        spec.rules.max_deliver = spec.rules.max_deliver.map(|_| 3);
        topology = topology.with_consumer(spec);
    }
    topology
}

/// Appends as `who`, and answers the stream's word.
pub async fn append(
    bed: &Bed,
    raw: &mut RawNats,
    who: &str,
    subject: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Started<Value> {
    let inbox = ack_inbox(bed, who, 0xfeed);
    let said = raw.request(subject, &inbox, headers, body).await?;
    Ok(serde_json::from_slice(&said.body)?)
}

/// Asks again and again until it is so.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Started<Option<T>>) -> Started<T> {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look().await? {
            return Ok(found);
        }
        if Instant::now() > end {
            return Err(format!("not within {PATIENCE:?}: {what}").into());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// What `future` gives, if it does so in time.
pub async fn in_time<F: Future>(what: &str, future: F) -> Started<F::Output> {
    let waited = tokio::time::timeout(PATIENCE, future).await;
    waited.map_err(|_| format!("waited {PATIENCE:?} for {what}").into())
}
