use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::{FutureExt, StreamExt};
use lapin::message::Delivery;
use lapin::options::{BasicConsumeOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldArray, FieldTable};
use lapin::{BasicProperties, Channel, Consumer};
use mesh_core::message::Headers;
use mesh_core::name::ModuleName;
use mesh_core::port::{Calls, Connection, ReceiveError, RefusalReason, ServeOptions};
use mesh_core::subject::Filter;
use mesh_testkit::servers::rabbit::Account;
use serde_json::json;

use super::*;
use crate::live::tests::{bed, from, raw, send};
use crate::testing::{Bed, PASSWORD, come, message};

const TOOL: &str = "mesh.tools.mail.send";
const QUEUE: &str = "serve.mail.send";
const LONG: Duration = Duration::from_secs(30);

async fn serving(connection: &Connection, place: &str) -> Calls {
    let place = Filter::new(place).unwrap();
    let serving = connection.requests().unwrap().serve(place, ServeOptions::default());
    come(serving).await.unwrap()
}

async fn ask(
    connection: &Connection,
    to: &str,
    within: Duration,
) -> Result<Message, TransportError> {
    let mail = Responder::Module(ModuleName::new("mail").unwrap());
    come(connection.requests().unwrap().request(mail, message(to, "?"), within)).await
}

async fn answer(calls: &mut Calls) {
    let call = come(calls.next()).await.unwrap().unwrap();
    call.answer(Headers::default(), Bytes::from_static(b"!")).await.unwrap();
}

async fn refused(calls: &mut Calls) -> RefusalReason {
    match come(calls.next()).await.unwrap() {
        Err(ReceiveError::Refused { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

async fn crm(bed: &Bed) -> Connection {
    bed.account(Account::new("n1.crm", PASSWORD).all_rights()).await;
    bed.connect("n1.crm").await
}

/// Reads the tool's queue by hand.
async fn by_hand(channel: &Channel) -> Consumer {
    let name = || QUEUE.into();
    let table = FieldTable::default;
    channel.queue_declare(name(), QueueDeclareOptions::durable(), table()).await.unwrap();
    let options = QueueBindOptions::default();
    channel.queue_bind(name(), "mesh.rpc".into(), name(), options, table()).await.unwrap();
    let options = BasicConsumeOptions { no_ack: true, ..Default::default() };
    channel.basic_consume(name(), "".into(), options, table()).await.unwrap()
}

async fn next(consumer: &mut Consumer) -> Delivery {
    come(consumer.next()).await.unwrap().unwrap()
}

fn text(property: &Option<ShortString>) -> &str {
    property.as_ref().map_or("", ShortString::as_str)
}

#[tokio::test]
async fn a_call_whose_answer_could_be_led_elsewhere_reaches_no_handler() {
    let bed = bed().await;
    let (mail, crm) = (bed.connect("n1.mail").await, crm(&bed).await);
    let mut calls = serving(&mail, TOOL).await;
    let (_session, channel) = raw(&bed.target("n1.crm")).await;
    let call = || from("n1.crm").with_correlation_id("1".into());
    let foreign = [
        "reply.n1.shop",
        "reply.n1.crmx",
        "reply.n1.crm.a.b",
        "reply.n1",
        "mail.sent",
        "serve.mail.send",
        "node.n1",
        "control",
        "reply.n1.crm.",
    ];
    for reply in foreign {
        send(&channel, "mesh.rpc", QUEUE, call().with_reply_to(reply.into())).await;
        let reason = refused(&mut calls).await;
        let malformed = reply.ends_with('.') && reason == RefusalReason::Malformed;
        assert!(malformed || reason == RefusalReason::ForeignReply, "{reply}: {reason:?}");
    }
    let reply = || call().with_reply_to("reply.n1.crm".into());
    let without_sender = BasicProperties::default()
        .with_correlation_id("1".into())
        .with_reply_to("reply.n1.crm".into());
    let mut copied = FieldTable::default();
    let copies = FieldArray::from(vec![AMQPValue::LongString(QUEUE.into())]);
    copied.insert("CC".into(), AMQPValue::FieldArray(copies));
    for (key, with, reason) in [
        (QUEUE, call(), RefusalReason::NoReply),
        (QUEUE, without_sender, RefusalReason::Unproven),
        (QUEUE, from("n1.crm").with_reply_to("reply.n1.crm".into()), RefusalReason::Malformed),
        ("reply.n1.nobody", reply().with_headers(copied), RefusalReason::UnexpectedSubject),
    ] {
        send(&channel, "mesh.rpc", key, with).await;
        assert_eq!(refused(&mut calls).await, reason, "{key}");
    }
    let (asked, ()) = tokio::join!(ask(&crm, TOOL, LONG), answer(&mut calls));
    assert_eq!(asked.unwrap().payload(), "!");
}

#[tokio::test]
async fn only_the_controller_grants_and_only_a_nodes_host_asks_for_it() {
    let bed = bed().await;
    let (mail, crm) = (bed.connect("n1.mail").await, crm(&bed).await);
    let mut grants = serving(&mail, "mesh.tools.mail.provision_grant").await;
    let short = Duration::from_millis(300);
    let error = ask(&crm, "mesh.tools.mail.provision_grant", short).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    assert_eq!(refused(&mut grants).await, RefusalReason::ForeignReply);
    bed.account(Account::new("substrate", PASSWORD).all_rights()).await;
    bed.account(Account::new("host.n1", PASSWORD).all_rights()).await;
    let (_session, substrate) = raw(&bed.target_of("substrate")).await;
    let call = |user: &str| {
        let reply = format!("reply.{user}");
        from(user).with_reply_to(reply.as_str().into()).with_correlation_id("1".into())
    };
    send(&substrate, "mesh.rpc", "serve.mail.provision_grant", call("substrate")).await;
    let call_of_it = come(grants.next()).await.unwrap().unwrap();
    assert!(matches!(call_of_it.caller(), Some(mesh_core::identity::Principal::Controller { .. })));

    let mut asks = serving(&mail, "mesh.ask.*.*").await;
    let (_session, host) = raw(&bed.target_of("host.n1")).await;
    send(&host, "mesh.rpc", "ask.n2.status", call("host.n1")).await;
    assert_eq!(refused(&mut asks).await, RefusalReason::ForeignReply);
    send(&host, "mesh.rpc", "ask.n1.status", call("host.n1")).await;
    come(asks.next()).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_question_travels_as_the_bus_that_is_left_has_it() {
    let bed = bed().await;
    let crm = crm(&bed).await;
    let (_session, channel) = raw(&bed.target("n1.mail")).await;
    let mut queue = by_hand(&channel).await;
    let answering = async {
        let call = next(&mut queue).await;
        let (properties, reply) = (&call.properties, text(call.properties.reply_to()).to_owned());
        assert!(reply.starts_with("reply.n1.crm."), "{reply}");
        assert_eq!(text(properties.user_id()), "n1.crm");
        assert_eq!(text(properties.correlation_id()).len(), 32);
        let expiration: u64 = text(properties.expiration()).parse().unwrap();
        assert!((1..=30_000).contains(&expiration), "{expiration}");
        assert_eq!((*properties.delivery_mode(), call.exchange.as_str()), (Some(1), "mesh.rpc"));
        let with = from("n1.mail").with_correlation_id(text(properties.correlation_id()).into());
        send(&channel, "mesh.rpc", &reply, with).await;
    };
    let (asked, ()) = tokio::join!(ask(&crm, TOOL, LONG), answering);
    assert_eq!(asked.unwrap().payload(), "raw");
}

#[tokio::test]
async fn an_answer_of_anybody_but_who_was_asked_is_none() {
    let bed = bed().await;
    let crm = crm(&bed).await;
    bed.account(Account::new("n1.shop", PASSWORD).all_rights()).await;
    bed.account(Account::new("n2.mail", PASSWORD).all_rights()).await;
    let (_mail, channel) = raw(&bed.target("n2.mail")).await;
    let (_shop, stranger) = raw(&bed.target("n1.shop")).await;
    let mut queue = by_hand(&channel).await;
    let answering = async {
        let call = next(&mut queue).await;
        let properties = call.properties;
        let (reply, id) = (text(properties.reply_to()), text(properties.correlation_id()));
        let forged = |with: BasicProperties| with.with_correlation_id(id.into());
        let named = |text: &str| {
            let mut headers = FieldTable::default();
            headers.insert("from".into(), AMQPValue::LongString(text.into()));
            headers
        };
        for (with, from) in [(from("n1.shop"), "shop"), (BasicProperties::default(), "nobody")] {
            send(&stranger, "mesh.rpc", reply, forged(with.with_headers(named(from)))).await;
        }
        // One queue, two publishers: the strangers' are there before this is sent.
        stranger
            .queue_declare(QUEUE.into(), crate::error::passive(), FieldTable::default())
            .await
            .unwrap();
        let own = forged(from("n2.mail").with_headers(named("mail")));
        send(&channel, "mesh.rpc", reply, own).await;
    };
    let (asked, ()) = tokio::join!(ask(&crm, TOOL, LONG), answering);
    assert_eq!(
        asked.unwrap().headers().value("from").map(ToString::to_string).as_deref(),
        Some("mail")
    );
}

#[tokio::test]
async fn where_a_queue_stays_and_nobody_reads_it_nothing_is_left_in_it() {
    let bed = bed().await;
    let (mail, crm) = (bed.connect("n1.mail").await, crm(&bed).await);
    drop(serving(&mail, TOOL).await);
    come(mail.transport().flush(LONG)).await.unwrap();
    let began = Instant::now();
    let error = ask(&crm, TOOL, LONG).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoResponders, "{error}");
    assert!(began.elapsed() < LONG / 2, "it waited for {:?}", began.elapsed());
    let mut calls = serving(&mail, TOOL).await;
    come(mail.transport().flush(LONG)).await.unwrap();
    assert!(calls.next().now_or_never().is_none(), "a question waited for who came later");
}

#[tokio::test]
async fn who_may_not_call_hears_that_whether_somebody_serves_or_not() {
    let bed = bed().await;
    let mail = bed.connect("n1.mail").await;
    let narrow = Account::new("n1.crm", PASSWORD)
        .rights("", "^mesh\\.rpc$", "^reply\\.n1\\.crm$")
        .topic("mesh.rpc", "^serve\\.mail\\.read$", "");
    bed.account(narrow).await;
    bed.queue("reply.n1.crm", json!({})).await;
    bed.bind("mesh.rpc", "reply.n1.crm", "reply.n1.crm").await;
    let crm = bed.connect("n1.crm").await;
    let denied = async |when: &str| {
        let error = ask(&crm, TOOL, LONG).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.subject()),
            (ErrorKind::Denied, Some(TOOL)),
            "{when}: {error}"
        );
    };
    denied("no queue").await;
    let calls = serving(&mail, TOOL).await;
    denied("served").await;
    drop(calls);
    come(mail.transport().flush(LONG)).await.unwrap();
    denied("a queue that nobody reads").await;
    let error = ask(&crm, "mesh.tools.mail.read", LONG).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoResponders, "{error}");
}

#[tokio::test]
async fn an_account_that_declares_nothing_asks_and_answers_on_what_is_provisioned() {
    let bed = bed().await;
    for (user, read, keys) in [
        ("n1.crm", "^reply\\.n1\\.crm$", "^serve\\.mail\\.send$"),
        ("n2.mail", "^serve\\.mail\\.send$", "^reply\\.[^.]+\\.[^.]+$"),
    ] {
        let account = Account::new(user, PASSWORD).rights("", "^mesh\\.rpc$", read);
        bed.account(account.topic("mesh.rpc", keys, "")).await;
    }
    let (mail, crm) = (bed.connect("n2.mail").await, bed.connect("n1.crm").await);
    let place = Filter::new(TOOL).unwrap();
    let serve = mail.requests().unwrap().serve(place, ServeOptions::default());
    let error = come(serve).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(error.to_string().contains("serve.mail.send is not provisioned"), "{error}");
    for queue in [QUEUE, "reply.n1.crm"] {
        bed.queue(queue, json!({})).await;
        bed.bind("mesh.rpc", queue, queue).await;
    }
    let mut calls = serving(&mail, TOOL).await;
    let (asked, ()) = tokio::join!(ask(&crm, TOOL, LONG), answer(&mut calls));
    assert_eq!(asked.unwrap().payload(), "!");
    let beside = bed.connect("n1.crm").await;
    let error = ask(&beside, TOOL, LONG).await.unwrap_err();
    assert_eq!((error.kind(), error.may_retry()), (ErrorKind::Broker, true), "{error}");
    assert!(error.to_string().contains("reply.n1.crm"), "{error}");
    come(crm.transport().close(LONG)).await;
    let (asked, ()) = tokio::join!(ask(&beside, TOOL, LONG), answer(&mut calls));
    assert_eq!(asked.unwrap().payload(), "!");
}

#[tokio::test]
async fn who_waits_hears_that_the_queue_of_its_answers_is_gone_and_the_next_one_finds_it_again() {
    const ANSWERS: &str = "reply.n1.crm";
    let bed = bed().await;
    let narrow = Account::new("n1.crm", PASSWORD).rights("", "^mesh\\.rpc$", "^reply\\.n1\\.crm$");
    bed.account(narrow).await;
    let provisioned = async || {
        bed.queue(ANSWERS, json!({})).await;
        bed.bind("mesh.rpc", ANSWERS, ANSWERS).await;
    };
    provisioned().await;
    let (mail, crm) = (bed.connect("n1.mail").await, bed.connect("n1.crm").await);
    let mut calls = serving(&mail, TOOL).await;
    let removing = async {
        let call = come(calls.next()).await.unwrap().unwrap();
        bed.delete("queues", ANSWERS).await;
        call
    };
    let (asked, _call) = tokio::join!(ask(&crm, TOOL, LONG), removing);
    let error = asked.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Disconnected, "{error}");
    let error = ask(&crm, TOOL, LONG).await.unwrap_err();
    assert!(error.to_string().contains("reply.n1.crm is not provisioned"), "{error}");
    provisioned().await;
    let (asked, ()) = tokio::join!(ask(&crm, TOOL, LONG), answer(&mut calls));
    assert_eq!(asked.unwrap().payload(), "!");
}

#[tokio::test]
async fn who_asked_in_vain_thousands_of_times_finds_the_tool_when_it_comes() {
    let bed = bed().await;
    let (mail, crm) = (bed.connect("n1.mail").await, crm(&bed).await);
    // Each time the broker closes two channels at least. A connection has numbers for 2047.
    for _ in 0..22 {
        let all = (0..100).map(|number| {
            let crm = &crm;
            async move { ask(crm, &format!("mesh.tools.mail.t{number}"), LONG).await }
        });
        for said in join_all(all).await {
            let error = said.unwrap_err();
            let known = matches!(error.kind(), ErrorKind::NoResponders | ErrorKind::Disconnected);
            assert!(known, "{error}");
        }
    }
    let mut calls = serving(&mail, TOOL).await;
    let asking = async {
        loop {
            match ask(&crm, TOOL, LONG).await {
                Err(error) if error.kind() == ErrorKind::Disconnected => {}
                said => break said,
            }
        }
    };
    let (asked, ()) = tokio::join!(asking, answer(&mut calls));
    assert_eq!(asked.unwrap().payload(), "!");
}
