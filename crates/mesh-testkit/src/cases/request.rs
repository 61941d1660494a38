use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use mesh_core::identity::Responder;
use mesh_core::message::{Headers, Message};
use mesh_core::port::{
    Call, Calls, Capability, Connection, ErrorKind, ServeOptions, TransportError,
};
use mesh_core::subject::Filter;
use mesh_core::topology::{Inbox, ReplyAddress};

use super::publish::delicate;
use super::publish_refused::too_large;
use crate::fixtures::{message, module, module_name, permissions, subject, tool};
use crate::suite::scene::{closed, refused, same, text, unsupported};
use crate::suite::{Case, Failure, Scene, Stage, Verdict, case, ensure, ensure_eq};

pub(super) const CASES: &[Case] = &[
    case!(request_is_answered, else requests_are_unsupported),
    case!(request_reply_address_names_caller_and_responder, ScopedReplies),
    case!(request_to_nobody_is_no_responders),
    case!(request_without_an_answer_times_out),
    case!(request_to_a_denied_subject_is_denied, Permissions),
    case!(request_over_the_limit_is_too_large),
    case!(request_answers_are_not_mixed_up),
    case!(request_late_answer_reaches_nobody),
    case!(request_with_its_own_reply_address_is_invalid),
    case!(request_after_close_is_closed),
];

/// The module `mail` serving its tool `send`, and the module `crm` that calls it.
pub(super) struct Counter {
    pub(super) scene: Scene,
    pub(super) mail: Connection,
    pub(super) calls: Calls,
    pub(super) crm: Connection,
}

impl Counter {
    pub(super) async fn open(stage: &Stage<'_>) -> Result<Self, Failure> {
        let scene = stage.live().await?;
        let mail = scene.join("mail").await?;
        let calls = scene.serve(&mail).await?;
        let crm = scene.join("crm").await?;
        Ok(Self { scene, mail, calls, crm })
    }

    /// Asks, and meanwhile has the next call answered by `answer`.
    pub(super) async fn ask<F>(
        &mut self,
        question: Message,
        answer: impl FnOnce(Call) -> F + Send,
    ) -> Result<Message, Failure>
    where
        F: Future<Output = Verdict> + Send,
    {
        let asking = self.scene.ask(&self.crm, question, self.scene.patience());
        let answering = async {
            let call = self.scene.hear(&mut self.calls).await?;
            answer(call).await
        };
        let (asked, answered) = tokio::join!(asking, answering);
        answered?;
        Ok(asked??)
    }
}

impl Scene {
    /// Serves the tool `send` of the module `mail`.
    pub(super) async fn serve(&self, connection: &Connection) -> Result<Calls, Failure> {
        Ok(self.try_serve(connection, tool("mail", "send").into()).await??)
    }

    pub(super) async fn try_serve(
        &self,
        connection: &Connection,
        place: Filter,
    ) -> Result<Result<Calls, TransportError>, Failure> {
        let serving = connection.requests()?.serve(place, ServeOptions::default());
        self.soon("serve", serving).await
    }

    /// Asks the module `mail`.
    pub(super) async fn ask(
        &self,
        connection: &Connection,
        question: Message,
        timeout: Duration,
    ) -> Result<Result<Message, TransportError>, Failure> {
        let mail = Responder::Module(module_name("mail"));
        self.ask_of(mail, connection, question, timeout).await
    }

    pub(super) async fn ask_of(
        &self,
        responder: Responder,
        connection: &Connection,
        question: Message,
        timeout: Duration,
    ) -> Result<Result<Message, TransportError>, Failure> {
        let asking = connection.requests()?.request(responder, question, timeout);
        self.soon("an answer", asking).await
    }
}

/// A call of `mail`'s tool `send`.
pub(super) fn call(body: &str) -> Message {
    Message::new(tool("mail", "send"), body.to_owned())
}

async fn request_is_answered(stage: &Stage<'_>) -> Verdict {
    let mut counter = Counter::open(stage).await?;
    let messages = delicate("mesh.tools.mail.send");
    for (question, answer) in messages.iter().zip(messages.iter().rev()) {
        let (headers, payload) = (answer.headers().clone(), answer.payload().clone());
        let answered = counter
            .ask(question.clone(), |call| async move {
                same(call.message(), question)?;
                Ok(call.answer(headers, payload).await?)
            })
            .await?;
        let expected = Message::new(answered.subject().clone(), answer.payload().clone());
        same(&answered, &expected.with_headers(answer.headers().clone()))?;
    }
    Ok(())
}

async fn requests_are_unsupported(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let crm = scene.join("crm").await?;
    if crm.requests().is_err() {
        return Ok(());
    }
    let result = scene.ask(&crm, call("1"), scene.patience()).await?;
    unsupported(result, Capability::Requests)
}

async fn request_reply_address_names_caller_and_responder(stage: &Stage<'_>) -> Verdict {
    let mut counter = Counter::open(stage).await?;
    let responder = Responder::Module(module_name("mail"));
    let inbox = Inbox::of(counter.crm.principal()).filter();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let mut reply = None;
        let answering = |call: Call| {
            reply = call.message().reply().cloned();
            async move { Ok(call.answer(Headers::default(), Bytes::new()).await?) }
        };
        counter.ask(call("1"), answering).await?;
        let reply = reply.ok_or_else(|| Failure::new("no reply address"))?;
        ReplyAddress::check(&tool("mail", "send"), &reply, &responder)?;
        ensure!(inbox.matches(&reply), "{reply} is not the caller's inbox");
        ensure!(!seen.contains(&reply), "{reply} came twice");
        seen.push(reply);
    }
    Ok(())
}

async fn request_to_nobody_is_no_responders(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let crm = scene.join("crm").await?;
    let long = scene.patience() * 10;
    let result = scene.ask(&crm, call("1"), long).await?;
    refused(result, ErrorKind::NoResponders, "asking nobody")
}

async fn request_without_an_answer_times_out(stage: &Stage<'_>) -> Verdict {
    let mut counter = Counter::open(stage).await?;
    let clock = counter.crm.clock();
    let begin = clock.monotonic();
    let scene = &counter.scene;
    let asking = scene.ask(&counter.crm, call("1"), scene.span);
    let holding = scene.hear(&mut counter.calls);
    let (asked, held) = tokio::join!(scene.passing("an answer", asking), holding);
    let result = asked??;
    let waited = clock.monotonic().saturating_sub(begin);
    refused(result, ErrorKind::TimedOut, "asking without an answer")?;
    ensure!(waited >= scene.span, "it timed out after {waited:?}");
    drop(held);
    Ok(())
}

async fn request_to_a_denied_subject_is_denied(stage: &Stage<'_>) -> Verdict {
    let counter = Counter::open(stage).await?;
    let scene = &counter.scene;
    let log = module("n1", "log");
    let may = permissions(&log, &["mesh.tools.shop.>"], &[]);
    let log = scene.dial(log, Some(may)).await?;
    let long = scene.patience() * 10;
    let result = scene.ask(&log, call("1"), long).await?;
    refused(result, ErrorKind::Denied, "asking where it is denied")
}

async fn request_over_the_limit_is_too_large(stage: &Stage<'_>) -> Verdict {
    let mut counter = Counter::open(stage).await?;
    let limits = *counter.crm.transport().capabilities().limits();
    for question in too_large("mesh.tools.mail.send", &limits) {
        let scene = &counter.scene;
        let long = scene.patience() * 10;
        let result = scene.ask(&counter.crm, question, long).await?;
        refused(result, ErrorKind::TooLarge, "a question over a limit")?;
    }
    counter.ask(call("1"), echo).await?;
    Ok(())
}

/// Answers with what was asked.
pub(super) async fn echo(call: Call) -> Verdict {
    let payload = call.message().payload().clone();
    Ok(call.answer(Headers::default(), payload).await?)
}

async fn request_answers_are_not_mixed_up(stage: &Stage<'_>) -> Verdict {
    let mut counter = Counter::open(stage).await?;
    let (scene, crm) = (&counter.scene, &counter.crm);
    let asking = (0..20).map(|number| async move {
        let body = number.to_string();
        let answer = scene.ask(crm, call(&body), scene.patience()).await??;
        ensure_eq!(text(&answer), body, "the answer");
        Ok::<_, Failure>(())
    });
    let calls = &mut counter.calls;
    let answering = async {
        let mut held = Vec::new();
        for _ in 0..20 {
            held.push(scene.hear(calls).await?);
        }
        while let Some(call) = held.pop() {
            echo(call).await?;
        }
        Ok::<_, Failure>(())
    };
    let (asked, answered) = tokio::join!(join_all(asking), answering);
    answered?;
    asked.into_iter().collect()
}

async fn request_late_answer_reaches_nobody(stage: &Stage<'_>) -> Verdict {
    let mut counter = Counter::open(stage).await?;
    let scene = &counter.scene;
    let asking = scene.ask(&counter.crm, call("early"), scene.span);
    let holding = scene.hear(&mut counter.calls);
    let (asked, held) = tokio::join!(scene.passing("an answer", asking), holding);
    refused(asked??, ErrorKind::TimedOut, "asking without an answer")?;
    let late = held?;
    let answer = counter
        .ask(call("next"), |next| async move {
            // Whether it can still be sent is the broker's affair.
            let _ = late.answer(Headers::default(), Bytes::from("late")).await;
            echo(next).await
        })
        .await?;
    ensure_eq!(text(&answer), "next", "the answer");
    Ok(())
}

async fn request_with_its_own_reply_address_is_invalid(stage: &Stage<'_>) -> Verdict {
    let counter = Counter::open(stage).await?;
    let scene = &counter.scene;
    let mine = "_INBOX.crm.n1.mail.00112233445566778899aabbccddeeff";
    let question = call("1").with_reply(subject(mine));
    let result = scene.ask(&counter.crm, question, scene.patience() * 10);
    refused(result.await?, ErrorKind::Invalid, "a reply address")
}

async fn request_after_close_is_closed(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let crm = scene.join("crm").await?;
    scene.close(&crm).await?;
    let question = message("mesh.tools.mail.send", "1");
    let result = scene.ask(&crm, question, scene.patience()).await?;
    closed(result, "request")
}
