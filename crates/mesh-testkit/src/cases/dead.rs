use mesh_core::event::decode_header;
use mesh_core::message::Message;
use mesh_core::port::{Capability, Deliveries, Reason};
use mesh_core::topology::StreamName;

use super::desk::{Desk, sold};
use crate::fixtures::{header, message};
use crate::suite::{Case, Failure, Stage, Verdict, case, ensure, ensure_eq};

pub(super) const CASES: &[Case] = &[
    case!(consume_gives_up_after_the_last_attempt),
    case!(consume_dead_letters_what_it_gives_up, DeadLetters, else dead_letters_stay_empty),
    case!(consume_dead_letters_are_of_each_consumer, DeadLetters),
    case!(consume_dead_letters_what_is_terminated, DeadLetters),
    case!(consume_dead_letters_tell_what_the_handler_said, DeadLetterReasons),
];

impl Desk {
    /// Uses up the three tries of the next delivery.
    async fn fail_thrice(&self, reading: &mut Deliveries, body: &str) -> Verdict {
        for attempt in 1..=3 {
            let delivery = self.expect(reading, body).await?;
            ensure_eq!(delivery.info().attempt, attempt, "attempt");
            self.nak(delivery, None).await?;
        }
        Ok(())
    }

    async fn terminate(&self, reading: &mut Deliveries, body: &str, reason: Reason) -> Verdict {
        let delivery = self.expect(reading, body).await?;
        let terminating = delivery.terminate(reason);
        Ok(self.scene.soon("terminate", terminating).await??)
    }
}

async fn consume_gives_up_after_the_last_attempt(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    desk.append_all(&["poison"]).await?;
    let (_mail, mut reading) = desk.reader("mail").await?;
    desk.fail_thrice(&mut reading, "poison").await?;
    desk.expect_only_the_sentinel(&mut reading).await?;
    desk.scene.pass(desk.scene.span * 2).await;
    desk.expect_only_the_sentinel(&mut reading).await
}

/// An event whose headers try to steer what becomes of it.
fn poison(body: &str) -> Message {
    let (id, value) = header("x-event-id", "e-1");
    let (dead, forged) = header("X-Dead-Reason", "forged");
    let (upper, kept) = header("X-Case", "kept");
    sold(body).with_header(id, value).with_header(dead, forged).with_header(upper, kept)
}

struct Expected<'a> {
    body: &'a str,
    sequence: &'a str,
    deliveries: &'a str,
    reason: &'a str,
    error: Option<&'a str>,
}

impl Expected<'_> {
    /// The letter of [`poison`], which is the first event.
    const fn first<'a>(
        deliveries: &'a str,
        reason: &'a str,
        error: Option<&'a str>,
    ) -> Expected<'a> {
        Expected { body: "poison", sequence: "1", deliveries, reason, error }
    }
}

impl Desk {
    async fn expect_dead(
        &self,
        stage: &Stage<'_>,
        reading: &mut Deliveries,
        expected: Expected<'_>,
    ) -> Verdict {
        let hearing = self.scene.hear(reading);
        let letter = self.scene.passing("a dead letter", hearing).await??;
        let found = letter.message();
        ensure_eq!(found.subject().as_str(), "mesh.events.dead", "subject");
        ensure!(found.payload() == expected.body.as_bytes(), "another body");
        let headers = found.headers();
        let mut wanted = vec![
            ("x-event-id", "e-1"),
            ("X-Case", "kept"),
            ("x-dead-subject", "mesh.events.shop.sold"),
            ("x-dead-consumer", "n1_mail"),
            ("x-dead-reason", expected.reason),
        ];
        if let Some(error) = expected.error {
            wanted.push(("x-dead-error", error));
        }
        if stage.has(Capability::DeadLetterReasons) {
            wanted.push(("x-dead-deliveries", expected.deliveries));
        }
        if stage.has(Capability::Sequences) {
            wanted.push(("x-dead-sequence", expected.sequence));
        }
        for (name, value) in wanted {
            // What an `x-` header says is percent-encoded (protocol §3).
            let said = headers.value(name).map(decode_header);
            ensure_eq!(said.as_deref(), Some(value), name);
        }
        let time = headers.value("x-dead-time");
        ensure!(
            time.is_some_and(|time| time.len() >= 20 && time.contains('T')),
            "x-dead-time is {time:?}"
        );
        let forged = headers.iter().any(|(_, value)| value == "forged");
        ensure!(!forged, "the event's own x-dead header stayed");
        self.ack(letter).await
    }

    /// A handler that says nothing at all uses up its tries as well.
    async fn silence_is_buried(
        &self,
        stage: &Stage<'_>,
        reading: &mut Deliveries,
        dead: &mut Deliveries,
    ) -> Verdict {
        self.append(poison("silent")).await?;
        let mut held = Vec::new();
        for attempt in 1..=3 {
            let delivery = self.expect_passing(reading, "silent").await?;
            ensure_eq!(delivery.info().attempt, attempt, "attempt");
            held.push(delivery);
        }
        let expected = Expected {
            body: "silent",
            sequence: "2",
            deliveries: "3",
            reason: "max-deliver",
            error: None,
        };
        self.expect_dead(stage, dead, expected).await
    }

    /// Nothing more is among the dead letters than what is appended there now.
    pub(super) async fn expect_no_more_dead(&self, reading: &mut Deliveries) -> Verdict {
        let controller = self.scene.controller().await?;
        let sentinel = message("mesh.events.dead", "sentinel");
        self.scene.append(&controller, sentinel).await?;
        let letter = self.expect(reading, "sentinel").await?;
        self.ack(letter).await
    }
}

async fn consume_dead_letters_what_it_gives_up(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let (_controller, mut dead) = desk.controllers(StreamName::EventsDead).await?;
    desk.append(poison("poison")).await?;
    let (_mail, mut reading) = desk.reader("mail").await?;
    desk.fail_thrice(&mut reading, "poison").await?;
    let expected = Expected::first("3", "max-deliver", None);
    desk.expect_dead(stage, &mut dead, expected).await?;
    if stage.has(Capability::ClaimTimeout) {
        desk.silence_is_buried(stage, &mut reading, &mut dead).await?;
    }
    desk.expect_no_more_dead(&mut dead).await
}

async fn consume_dead_letters_are_of_each_consumer(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let (_controller, mut dead) = desk.controllers(StreamName::EventsDead).await?;
    desk.append(poison("poison")).await?;
    for module in ["mail", "crm"] {
        let (_module, mut reading) = desk.reader(module).await?;
        desk.terminate(&mut reading, "poison", Reason::new("no use")).await?;
        let hearing = desk.scene.hear(&mut dead);
        let letter = desk.scene.passing("a dead letter", hearing).await??;
        let of = letter.message().headers().value("x-dead-consumer").map(decode_header);
        ensure_eq!(of, Some(format!("n1_{module}").into()), "x-dead-consumer");
        desk.ack(letter).await?;
    }
    desk.expect_no_more_dead(&mut dead).await
}

async fn consume_dead_letters_what_is_terminated(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    let (_controller, mut dead) = desk.controllers(StreamName::EventsDead).await?;
    desk.append(poison("poison")).await?;
    let (_mail, mut reading) = desk.reader("mail").await?;
    let delivery = desk.expect(&mut reading, "poison").await?;
    desk.nak(delivery, None).await?;
    desk.terminate(&mut reading, "poison", Reason::new("no such account")).await?;
    let expected = Expected::first("2", "terminated", None);
    desk.expect_dead(stage, &mut dead, expected).await?;
    desk.expect_no_more_dead(&mut dead).await
}

async fn consume_dead_letters_tell_what_the_handler_said(stage: &Stage<'_>) -> Verdict {
    if !stage.has(Capability::DeadLetters) {
        // There are no letters to tell anything.
        return Ok(());
    }
    for (reason, kind) in [
        (Reason::new("no such account"), "terminated"),
        (Reason::undecodable("no JSON"), "undecodable"),
    ] {
        let desk = Desk::new(stage).await?;
        let (_controller, mut dead) = desk.controllers(StreamName::EventsDead).await?;
        desk.append(poison("poison")).await?;
        let (_mail, mut reading) = desk.reader("mail").await?;
        let delivery = desk.expect(&mut reading, "poison").await?;
        desk.nak(delivery, None).await?;
        desk.terminate(&mut reading, "poison", reason.clone()).await?;
        let expected = Expected::first("2", kind, Some(reason.as_str()));
        desk.expect_dead(stage, &mut dead, expected).await?;
    }
    Ok(())
}

async fn dead_letters_stay_empty(stage: &Stage<'_>) -> Verdict {
    let desk = Desk::new(stage).await?;
    desk.append_all(&["1", "2"]).await?;
    let (_mail, mut reading) = desk.reader("mail").await?;
    desk.terminate(&mut reading, "1", Reason::new("no use")).await?;
    desk.fail_thrice(&mut reading, "2").await?;
    desk.expect_only_the_sentinel(&mut reading).await?;
    let (_controller, mut dead) = desk.controllers(StreamName::EventsDead).await?;
    let none = desk.expect_no_more_dead(&mut dead).await;
    none.map_err(|why| Failure::new(format!("DeadLetters is not declared: {why}")))
}
