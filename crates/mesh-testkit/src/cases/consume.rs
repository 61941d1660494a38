use std::collections::VecDeque;
use std::num::NonZeroUsize;

use mesh_core::permissions::{ModuleGrants, Permissions};
use mesh_core::port::{
    Capability, ConsumeOptions, ErrorKind, ReceiveError, RefusalReason, TransportError,
};

use super::desk::{Desk, events_of, shop_event, topology, with_mail};
use crate::fixtures::{filter, module, module_name, node};
use crate::suite::scene::{closed, refused, text};
use crate::suite::{Case, Failure, Stage, Verdict, case, ensure, ensure_eq};

pub(super) const CASES: &[Case] = &[
    case!(consume_delivers_what_came_while_nobody_read),
    case!(consume_delivers_only_what_the_consumer_selects),
    case!(consume_of_an_absent_consumer_is_not_found),
    case!(consume_bounds_what_is_in_flight),
    case!(consume_refuses_what_matches_no_pattern),
    case!(consume_of_a_denied_consumer_is_denied, Permissions),
    case!(consume_tells_when_its_consumer_is_retired),
    case!(consume_after_close_is_closed),
];

async fn consume_delivers_what_came_while_nobody_read(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    desk.append_all(&["1", "2", "3"]).await?;
    let (mail, mut reading) = desk.reader("mail").await?;
    let has_sequences = stage.has(Capability::Sequences);
    let has_timeout = stage.has(Capability::ClaimTimeout);
    for number in 1..=3 {
        let delivery = desk.expect(&mut reading, &number.to_string()).await?;
        ensure_eq!(delivery.info().attempt, 1, "attempt");
        ensure_eq!(delivery.info().max_attempts, Some(3), "most attempts");
        let ack_wait = has_timeout.then_some(stage.span());
        ensure_eq!(delivery.info().ack_wait, ack_wait, "claim");
        let sequence = has_sequences.then_some(number);
        ensure_eq!(delivery.info().sequence, sequence, "sequence");
        ensure_eq!(delivery.message().reply(), None, "reply address");
        desk.ack(delivery).await?;
    }
    desk.scene.close(&mail).await?;
    desk.append_all(&["4", "5"]).await?;
    let (_mail, mut reading) = desk.reader("mail").await?;
    for body in ["4", "5"] {
        let delivery = desk.expect(&mut reading, body).await?;
        desk.ack(delivery).await?;
    }
    Ok(())
}

async fn consume_delivers_only_what_the_consumer_selects(stage: &Stage<'_>) -> Verdict {
    let topology = with_mail(topology(stage.span()), |mail| {
        mail.filters = vec![filter("mesh.events.shop.sold"), filter("mesh.events.*.left")];
    });
    let desk = Desk::with(stage, topology).await?;
    for (name, body) in [("opened", "1"), ("sold", "2"), ("sold.out", "3"), ("left", "4")] {
        desk.append(shop_event(name, body)).await?;
    }
    let (_mail, mut reading) = desk.reader("mail").await?;
    for body in ["2", "4"] {
        let delivery = desk.expect(&mut reading, body).await?;
        desk.ack(delivery).await?;
    }
    desk.expect_only_the_sentinel(&mut reading).await
}

impl Desk {
    /// Tries to read the events of `of` on `connection`.
    async fn try_consume(
        &self,
        connection: &mesh_core::port::Connection,
        of: &str,
    ) -> Result<Result<mesh_core::port::Deliveries, TransportError>, Failure> {
        self.scene.try_consume(connection, &events_of(of), ConsumeOptions::default()).await
    }
}

async fn consume_of_an_absent_consumer_is_not_found(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let log = desk.scene.join("log").await?;
    let result = desk.try_consume(&log, "log").await?;
    refused(result, ErrorKind::NotFound, "reading an absent consumer")
}

pub(super) fn in_flight(count: usize) -> ConsumeOptions {
    ConsumeOptions {
        in_flight: NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN),
        ..ConsumeOptions::default()
    }
}

async fn consume_bounds_what_is_in_flight(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::patient(stage).await?;
    let bodies = ["1", "2", "3", "4", "5"];
    desk.append_all(&bodies).await?;
    let (mail, mut bounded) = desk.reader_with("mail", in_flight(2)).await?;
    let (_crm, mut other) = desk.reader("crm").await?;
    desk.expect_all(&mut other, &bodies).await?;
    let mut held = VecDeque::new();
    let mut found = Vec::new();
    while found.len() < bodies.len() {
        let delivery = desk.scene.hear(&mut bounded).await?;
        found.push(text(delivery.message()));
        held.push_back(delivery);
        if held.len() < 2 {
            continue;
        }
        desk.scene.flush(&mail).await?;
        // It goes on asking while another consumer is given what comes.
        desk.append_all(&["more"]).await?;
        tokio::select! {
            biased;
            item = bounded.next() => return Err(Failure::new(format!("a third came: {item:?}"))),
            heard = desk.expect_all(&mut other, &["more"]) => heard?,
        }
        if let Some(first) = held.pop_front() {
            desk.ack(first).await?;
        }
    }
    found.sort_unstable();
    ensure_eq!(found, bodies, "the deliveries");
    for delivery in held {
        desk.ack(delivery).await?;
    }
    Ok(())
}

async fn consume_refuses_what_matches_no_pattern(stage: &Stage<'_>) -> Verdict {
    // How often it comes meanwhile is not promised.
    let topology = with_mail(topology(stage.span()), |mail| mail.rules.max_deliver = None);
    let desk = Desk::with(stage, topology).await?;
    let options = ConsumeOptions {
        patterns: vec![filter("mesh.events.shop.sold"), filter("mesh.events.crm.>")],
        ..ConsumeOptions::default()
    };
    desk.append_all(&["expected"]).await?;
    desk.append(shop_event("closed", "unexpected")).await?;
    let (mail, mut reading) = desk.reader_with("mail", options).await?;
    let delivery = desk.expect(&mut reading, "expected").await?;
    desk.ack(delivery).await?;
    let word = desk.scene.told(&mut reading).await?;
    let right = matches!(&word, ReceiveError::Refused { subject, reason: RefusalReason::UnexpectedSubject }
        if subject.as_str() == "mesh.events.shop.closed");
    ensure!(right, "expected a refused subject, found {word:?}");
    desk.scene.close(&mail).await?;
    let (_mail, mut reading) = desk.reader("mail").await?;
    let delivery = desk.expect_passing(&mut reading, "unexpected").await?;
    desk.ack(delivery).await
}

async fn consume_of_a_denied_consumer_is_denied(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let consuming = ModuleGrants { consumes: true, ..ModuleGrants::default() };
    let may = Permissions::of_module(&node("n1"), &module_name("crm"), &consuming)?;
    let crm = desk.scene.dial(module("n1", "crm"), Some(may)).await?;
    let result = desk.try_consume(&crm, "mail").await?;
    refused(result, ErrorKind::Denied, "reading another's consumer")?;
    desk.append_all(&["1"]).await?;
    let mut own = desk.try_consume(&crm, "crm").await??;
    let delivery = desk.expect(&mut own, "1").await?;
    desk.ack(delivery).await
}

async fn consume_tells_when_its_consumer_is_retired(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let (_mail, mut reading) = desk.reader("mail").await?;
    let administration = desk.administration().await?;
    let of_mail = events_of("mail");
    let retiring = administration.retire(&of_mail);
    ensure!(desk.scene.soon("retire", retiring).await??, "it was absent");
    match desk.scene.told(&mut reading).await? {
        ReceiveError::Ended(error) if error.kind() == ErrorKind::NotFound => {}
        other => return Err(Failure::new(format!("{other:?} came instead"))),
    }
    let after = desk.scene.item(&mut reading).await?;
    ensure!(after.is_none(), "after the last item came {after:?}");
    Ok(())
}

async fn consume_after_close_is_closed(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let mail = desk.scene.join("mail").await?;
    desk.scene.close(&mail).await?;
    closed(desk.try_consume(&mail, "mail").await?, "consume")
}
