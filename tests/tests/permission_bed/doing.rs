//! A flow done over the ports, with somebody at its other end who may do anything.

use std::pin::pin;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::{Either, select};
use mesh_core::identity::Principal;
use mesh_core::message::Message;
use mesh_core::port::{Connection, ServeOptions};
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::{Account, ConsumerRef, Inbox, StreamName};

use super::flows::{Flow, responder};

/// How long a flow may take on a busy machine until it has failed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where flows are done.
#[async_trait]
pub trait Stage: Send + Sync {
    /// Somebody in this account who may do anything there.
    async fn stand_in(&self, account: Account, principal: Principal) -> Connection;

    /// Makes a consumer anew, so that nothing is left in it.
    async fn renew(&self, consumer: &ConsumerRef);
}

type Done = Result<(), String>;

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn somebody() -> Principal {
    Principal::Person { name: "somebody".parse().unwrap() }
}

/// Does it as whoever `me` is connected as.
pub async fn done(flow: &Flow, me: &Connection, stage: &dyn Stage) -> Done {
    let doing = async {
        match flow {
            Flow::Echo => echo(me).await,
            Flow::Append(subject) => append(me, subject).await,
            Flow::Say(subject) => {
                let other = stage.stand_in(Account::Edge, somebody()).await;
                let bus = stage.stand_in(Account::Bus, somebody()).await;
                let hearer =
                    if subject.as_str().starts_with("mesh.control.") { bus } else { other };
                heard(me, subject, &hearer, &Filter::from(subject.clone())).await
            }
            Flow::Hear(subject, filter) => {
                let other = stage.stand_in(Account::Edge, somebody()).await;
                heard(&other, subject, me, filter).await
            }
            Flow::Read(consumer, subject) => {
                stage.renew(consumer).await;
                let feeder = stage.stand_in(Account::Bus, super::flows::controller()).await;
                read(me, consumer, subject, &feeder).await
            }
            Flow::Ask(subject, by) => {
                let other = stage.stand_in(Account::Edge, by.clone()).await;
                asked(me, subject, by, &other, &Filter::from(subject.clone())).await
            }
            Flow::Serve(filter, subject, caller) => {
                let other = stage.stand_in(Account::Edge, caller.clone()).await;
                asked(&other, subject, me.principal(), me, filter).await
            }
            Flow::Administer => {
                let administration = me.administration().map_err(told)?;
                administration.inspect(StreamName::Events).await.map(drop).map_err(told)
            }
        }
    };
    tokio::time::timeout(PATIENCE, doing).await.map_err(told)?
}

fn message(subject: &Subject) -> Message {
    Message::new(subject.clone(), "{}")
}

async fn echo(me: &Connection) -> Done {
    let inbox = Inbox::of(me.principal());
    heard(me, &inbox.echo(7), me, &inbox.filter()).await
}

async fn heard(from: &Connection, subject: &Subject, by: &Connection, filter: &Filter) -> Done {
    let listening = by.transport().subscribe(filter.clone(), Default::default()).await;
    let mut listening = listening.map_err(told)?;
    from.transport().publish(message(subject), Default::default()).await.map_err(told)?;
    loop {
        let message = listening.next().await.ok_or("the subscription ended")?.map_err(told)?;
        if message.subject() == subject {
            return Ok(());
        }
    }
}

async fn append(me: &Connection, subject: &Subject) -> Done {
    let streams = me.streams().map_err(told)?;
    streams.append(message(subject), Default::default()).await.map(drop).map_err(told)
}

async fn read(
    me: &Connection,
    consumer: &ConsumerRef,
    subject: &Subject,
    feeder: &Connection,
) -> Done {
    let streams = me.streams().map_err(told)?;
    let reading = streams.consume(consumer.clone(), Default::default()).await;
    let mut reading = reading.map_err(told)?;
    append(feeder, subject).await.map_err(|error| format!("the other end: {error}"))?;
    let delivery = reading.next().await.ok_or("the reading ended")?.map_err(told)?;
    delivery.progress().await.map_err(told)?;
    delivery.ack().await.map_err(told)
}

/// `caller` asks at `subject` who serves `filter` there, and is answered.
async fn asked(
    caller: &Connection,
    subject: &Subject,
    by: &Principal,
    server: &Connection,
    filter: &Filter,
) -> Done {
    let mut options = ServeOptions::default();
    if subject.as_str().starts_with("mesh.ask.") {
        options.group = mesh_core::port::QueueGroup::new("controller").unwrap();
    }
    let serving = server.requests().map_err(told)?.serve(filter.clone(), options).await;
    let mut serving = serving.map_err(told)?;
    let requests = caller.requests().map_err(told)?;
    let asking = requests.request(responder(by), message(subject), PATIENCE / 2);
    let answering = async {
        loop {
            let call = serving.next().await.ok_or("the serving ended")?.map_err(told)?;
            call.answer(Default::default(), "{}".into()).await.map_err(told)?;
        }
    };
    match select(pin!(asking), pin!(answering)).await {
        Either::Left((answer, _)) => answer.map(drop).map_err(told),
        Either::Right((failed, _)) => failed,
    }
}
