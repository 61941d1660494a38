use bytes::Bytes;
use mesh_core::identity::Responder;
use mesh_core::message::{Headers, Message};
use mesh_core::permissions::{ModuleGrants, Permissions};
use mesh_core::port::{Calls, Capability, Connection, ErrorKind, ReceiveError, RefusalReason};
use mesh_core::provision::{GRANT_TOOL, WITHDRAW_TOOL};
use mesh_core::subject::{Filter, Subject};

use super::request::{Counter, call, echo};
use crate::fixtures::{
    controller, filter, header, host, message, module, module_name, node, permissions, subject,
    tool, tool_name,
};
use crate::suite::scene::{closed, refused, text};
use crate::suite::{Case, Failure, Scene, Stage, Verdict, case, ensure, ensure_eq};

pub(super) const CASES: &[Case] = &[
    case!(serve_shares_calls_in_its_group),
    case!(serve_refuses_a_call_without_a_reply_address),
    case!(serve_refuses_a_foreign_reply_address, ScopedReplies),
    case!(serve_refuses_an_ask_or_a_grant_from_anothers_inbox, ScopedReplies),
    case!(serve_names_the_caller_where_it_is_proven),
    case!(serve_says_when_a_call_arrived),
    case!(serve_answer_over_the_limit_is_too_large),
    case!(serve_tells_of_an_answer_that_is_denied, Permissions),
    case!(serve_to_a_denied_subject_is_denied, Permissions),
    case!(serve_ends_when_dropped),
    case!(serve_after_close_is_closed),
];

const RANDOM: &str = "00112233445566778899aabbccddeeff";

async fn serve_shares_calls_in_its_group(stage: &Stage<'_>) -> Verdict {
    let mut counter = Counter::open(stage).await?;
    let another = counter.scene.join("mail").await?;
    let mut beside = counter.scene.serve(&another).await?;
    let scene = &counter.scene;
    for number in 0..10 {
        let body = number.to_string();
        let asking = scene.ask(&counter.crm, call(&body), scene.patience());
        let answering = async {
            let call = tokio::select! {
                call = scene.hear(&mut counter.calls) => call?,
                call = scene.hear(&mut beside) => call?,
            };
            ensure_eq!(text(call.message()), body, "the call");
            echo(call).await
        };
        let (asked, answered) = tokio::join!(asking, answering);
        answered?;
        ensure_eq!(text(&asked??), body, "the answer");
    }
    for (connection, calls) in [(&counter.mail, counter.calls), (&another, beside)] {
        let more = scene.rest(connection, calls).await?;
        ensure!(more.is_empty(), "{} calls came twice", more.len());
    }
    Ok(())
}

impl Counter {
    /// What the responder is told when this is published to its tool.
    async fn told(&mut self, sent: Message) -> Result<RefusalReason, Failure> {
        told(&self.scene, &self.crm, &mut self.calls, sent).await
    }
}

/// What who serves is told when this is published there.
async fn told(
    scene: &Scene,
    by: &Connection,
    calls: &mut Calls,
    sent: Message,
) -> Result<RefusalReason, Failure> {
    let place = sent.subject().clone();
    scene.publish(by, sent).await?;
    match scene.told(calls).await? {
        ReceiveError::Refused { subject, reason } if subject == place => Ok(reason),
        other => Err(Failure::new(format!("{other:?} came instead"))),
    }
}

async fn serve_refuses_a_call_without_a_reply_address(stage: &Stage<'_>) -> Verdict {
    let mut counter = Counter::open(stage).await?;
    let reason = counter.told(call("1")).await?;
    ensure_eq!(reason, RefusalReason::NoReply, "reason");
    let answer = counter.ask(call("2"), echo).await?;
    ensure_eq!(text(&answer), "2", "the answer");
    Ok(())
}

async fn serve_refuses_a_foreign_reply_address(stage: &Stage<'_>) -> Verdict {
    let mut counter = Counter::open(stage).await?;
    let log = counter.scene.join("log").await?;
    let foreign = [
        "mesh.control.n2.alive".to_owned(),
        "mesh.events.mail.sent".to_owned(),
        format!("_INBOX.crm.n1.shop.{RANDOM}"),
        format!("_INBOX.crm.n1.ack.{RANDOM}"),
        format!("_INBOX.mail.n1.echo.{RANDOM}"),
        format!("_INBOX.crm.mail.{RANDOM}"),
        format!("_INBOX.crm.n1.mail.{RANDOM}.more"),
        "_INBOX.crm.n1.mail.guessable".to_owned(),
    ];
    for reply in foreign {
        let mut target = counter.scene.subscribe(&log, &reply).await?;
        let reason = counter.told(call("1").with_reply(subject(&reply))).await?;
        ensure_eq!(reason, RefusalReason::ForeignReply, reply);
        counter.scene.flush(&counter.mail).await?;
        let sentinel = message(&reply, "sentinel");
        counter.scene.publish(&log, sentinel).await?;
        let heard = counter.scene.hear(&mut target).await?;
        ensure_eq!(text(&heard), "sentinel", "what was sent there");
    }
    Ok(())
}

async fn serve_refuses_an_ask_or_a_grant_from_anothers_inbox(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    // Beside those who ask, which need not be where the streams are: without the server's API.
    let beside = ["mesh.tools.>", "_INBOX.>"];
    let beside = || permissions(&controller(), &beside, &["mesh.ask.>"]);
    let beside = stage.has(Capability::Permissions).then(beside);
    let controller = scene.dial(controller(), beside).await?;
    let mail = scene.join("mail").await?;
    let host = scene.dial(host("n1"), None).await?;
    let asked = subject("mesh.ask.n1.status");
    let asks = match stage.has(Capability::Wildcards) {
        true => filter("mesh.ask.*.*"),
        false => Filter::from(asked.clone()),
    };
    let mut calls = scene.try_serve(&controller, asks).await??;
    let others = ["host.n2", "person.alice", "mail.n1", "builder.n1", "controller.c1"];
    let inboxes = others.map(|inbox| format!("_INBOX.{inbox}.controller.{RANDOM}"));
    let guarded =
        Guarded { scene: &scene, by: &host, to: Responder::Controller, calls: &mut calls };
    guarded.serves_only_its_caller(asked, &inboxes).await?;
    let others = ["person.alice", "host.n1", "crm.n1", "mail.n1"];
    let inboxes = others.map(|inbox| format!("_INBOX.{inbox}.mail.{RANDOM}"));
    for reserved in [GRANT_TOOL, WITHDRAW_TOOL] {
        let asked = tool("mail", reserved);
        let mut calls = scene.try_serve(&mail, asked.clone().into()).await??;
        let to = Responder::Module(module_name("mail"));
        let guarded = Guarded { scene: &scene, by: &controller, to, calls: &mut calls };
        guarded.serves_only_its_caller(asked, &inboxes).await?;
    }
    Ok(())
}

/// Where only one may ask: `by`.
struct Guarded<'a> {
    scene: &'a Scene,
    by: &'a Connection,
    to: Responder,
    calls: &'a mut Calls,
}

impl Guarded<'_> {
    async fn serves_only_its_caller(self, asked: Subject, others: &[String]) -> Verdict {
        let Self { scene, by, to, calls } = self;
        for reply in others {
            let forged = Message::new(asked.clone(), "").with_reply(subject(reply));
            let reason = told(scene, by, calls, forged).await?;
            ensure_eq!(reason, RefusalReason::ForeignReply, format!("{asked} from {reply}"));
        }
        let asking = scene.ask_of(to, by, Message::new(asked, "1"), scene.patience());
        let answering = async { echo(scene.hear(calls).await?).await };
        let (answer, answered) = tokio::join!(asking, answering);
        answered?;
        ensure_eq!(text(&answer??), "1", "the answer");
        Ok(())
    }
}

async fn serve_names_the_caller_where_it_is_proven(stage: &Stage<'_>) -> Verdict {
    let mut counter = Counter::open(stage).await?;
    let truth = counter.crm.principal().clone();
    let claims =
        [("x-source", "shop"), ("x-node", "n9"), ("x-caller", "shop"), ("user-id", "shop")];
    let headers: Headers = claims.map(|(name, value)| header(name, value)).into_iter().collect();
    let mut callers = Vec::new();
    let answering = |call: mesh_core::port::Call| {
        callers.push(call.caller().cloned());
        echo(call)
    };
    counter.ask(call("1").with_headers(headers.clone()), answering).await?;
    if stage.has(Capability::ScopedReplies) {
        // A reply address of the right shape that names another caller.
        let reply = subject(&format!("_INBOX.shop.n9.mail.{RANDOM}"));
        let forged = call("2").with_headers(headers).with_reply(reply);
        counter.scene.publish(&counter.crm, forged).await?;
        let call = counter.scene.hear(&mut counter.calls).await?;
        callers.push(call.caller().cloned());
    }
    for caller in callers.into_iter().flatten() {
        ensure_eq!(caller, truth, "caller");
    }
    Ok(())
}

async fn serve_says_when_a_call_arrived(stage: &Stage<'_>) -> Verdict {
    let mut counter = Counter::open(stage).await?;
    // A broker is slow now and then. Who counts from when a call is read is late each time.
    for _ in 0..5 {
        if counter.is_counted_from_before_it_waited().await? {
            return Ok(());
        }
    }
    Err(Failure::new("a call that waited for its reader is counted from after it waited"))
}

impl Counter {
    /// Whether a call that waits for its reader is counted from when it had come.
    async fn is_counted_from_before_it_waited(&mut self) -> Result<bool, Failure> {
        let Self { scene, mail, calls, crm } = self;
        let clock = mail.clock();
        let before = clock.monotonic();
        let asking = scene.ask(crm, call("1"), scene.patience() * 10);
        let reading = async {
            scene.pass(scene.span).await;
            // Whatever the broker has for it is at the other end then.
            scene.flush(mail).await?;
            let there = clock.monotonic();
            scene.pass(scene.span).await;
            let call = scene.hear(calls).await?;
            let Some(arrived) = call.arrived() else {
                return Err(Failure::new("it does not say when"));
            };
            ensure!(arrived >= before, "it arrived at {arrived:?}, and was sent at {before:?}");
            echo(call).await?;
            Ok(arrived <= there)
        };
        let (asked, counted) = tokio::join!(asking, reading);
        let counted = counted?;
        asked??;
        Ok(counted)
    }
}

async fn serve_answer_over_the_limit_is_too_large(stage: &Stage<'_>) -> Verdict {
    let mut counter = Counter::open(stage).await?;
    let max = counter.mail.transport().capabilities().limits().max_payload;
    let scene = &counter.scene;
    let asking = scene.ask(&counter.crm, call("1"), scene.span);
    let answering = async {
        let call = scene.hear(&mut counter.calls).await?;
        let payload = Bytes::from(vec![b'x'; max + 1]);
        let sent = call.answer(Headers::default(), payload);
        refused(sent.await, ErrorKind::TooLarge, "an answer over the limit")
    };
    let (asked, answered) = tokio::join!(scene.passing("an answer", asking), answering);
    answered?;
    refused(asked??, ErrorKind::TimedOut, "asking without an answer")
}

async fn serve_tells_of_an_answer_that_is_denied(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let (crm, shop) = (scene.join("crm").await?, scene.join("shop").await?);
    // Where no reply address names its caller, the right to answer one is the right to answer all.
    let scoped = stage.has(Capability::ScopedReplies);
    let answers: &[&str] = if scoped { &["_INBOX.crm.n1.mail.>"] } else { &[] };
    let may = permissions(&module("n1", "mail"), answers, &["mesh.tools.mail.send"]);
    let mail = scene.dial(module("n1", "mail"), Some(may)).await?;
    let mut calls = scene.serve(&mail).await?;
    for body in ["1", "2"] {
        let asking = scene.ask(&shop, call(body), scene.span);
        let answering = async {
            let call = scene.hear(&mut calls).await?;
            let reply = call.message().reply().cloned();
            let answered = call.answer(Headers::default(), Bytes::new()).await;
            scene.flush(&mail).await?;
            let error = match answered {
                Err(error) => error,
                Ok(()) => match scene.told(&mut calls).await? {
                    ReceiveError::AnswerLost { subject, error } => {
                        ensure_eq!(subject, tool("mail", "send"), "what was asked");
                        error
                    }
                    other => return Err(Failure::new(format!("{other:?} came instead"))),
                },
            };
            ensure_eq!(error.kind(), ErrorKind::Denied, "why it was lost");
            ensure_eq!(error.subject(), reply.as_ref().map(Subject::as_str), "the reply address");
            Ok(())
        };
        let (asked, told) = tokio::join!(scene.passing("an answer", asking), answering);
        told?;
        refused(asked??, ErrorKind::TimedOut, "asking who may not answer")?;
        if !scoped {
            continue;
        }
        let asking = scene.ask(&crm, call(body), scene.patience());
        let answering = async { echo(scene.hear(&mut calls).await?).await };
        let (answer, answered) = tokio::join!(asking, answering);
        answered?;
        ensure_eq!(text(&answer??), body, "the answer to another");
    }
    Ok(())
}

async fn serve_to_a_denied_subject_is_denied(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let grants = ModuleGrants { tools: vec![tool_name("read")], ..ModuleGrants::default() };
    let may = Permissions::of_module(&node("n1"), &module_name("mail"), &grants)?;
    let mail = scene.dial(module("n1", "mail"), Some(may)).await?;
    for place in [tool("mail", "send"), tool("shop", "read")] {
        let what = place.as_str().to_owned();
        let result = scene.try_serve(&mail, place.into()).await?;
        refused(result, ErrorKind::Denied, &what)?;
    }
    Ok(())
}

async fn serve_ends_when_dropped(stage: &Stage<'_>) -> Verdict {
    let mut counter = Counter::open(stage).await?;
    counter.ask(call("1"), echo).await?;
    drop(counter.calls);
    let scene = &counter.scene;
    scene.flush(&counter.mail).await?;
    let long = scene.patience() * 10;
    let result = scene.ask(&counter.crm, call("2"), long).await?;
    refused(result, ErrorKind::NoResponders, "asking who left")
}

async fn serve_after_close_is_closed(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let mail = scene.join("mail").await?;
    scene.close(&mail).await?;
    closed(scene.try_serve(&mail, tool("mail", "send").into()).await?, "serve")
}
