use std::time::Duration;

use mesh_core::identity::Responder;
use mesh_core::message::Headers;
use mesh_core::port::{Calls, ErrorKind, ReceiveError, RefusalReason, ServeOptions};

use super::*;
use crate::InMemoryFilterBroker;

struct Tools {
    clock: Arc<ManualClock>,
    broker: InMemoryFilterBroker,
    caller: Connection,
    server: Connection,
}

impl Tools {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::new());
        let broker = InMemoryFilterBroker::seeded(clock.clone(), 1);
        Self {
            clock,
            caller: broker.connect(module("mail")),
            server: broker.connect(module("vault")),
            broker,
        }
    }

    async fn serve(&self, connection: &Connection) -> Calls {
        let requests = connection.requests().unwrap();
        let tool = filter("mesh.tools.vault.open");
        requests.serve(tool, ServeOptions::default()).await.unwrap()
    }

    async fn until_pending(&self, count: usize) {
        while self.broker.statistics().pending_requests != count {
            tokio::task::yield_now().await;
        }
    }

    async fn ask(&self, timeout: Duration) -> Result<Message, ErrorKind> {
        self.ask_with("q", timeout).await
    }

    async fn ask_with(&self, body: &'static str, timeout: Duration) -> Result<Message, ErrorKind> {
        let requests = self.caller.requests().unwrap();
        let question = message("mesh.tools.vault.open", body);
        let answer = requests.request(vault(), question, timeout).await;
        answer.map_err(|error| error.kind())
    }
}

fn vault() -> Responder {
    Responder::Module(ModuleName::new("vault").unwrap())
}

const WAIT: Duration = Duration::from_millis(5);

#[tokio::test]
async fn nothing_is_left_of_ten_thousand_calls_without_an_answer() {
    let tools = Arc::new(Tools::new());
    let mut calls = tools.serve(&tools.server).await;
    let mut tasks = Vec::new();
    for _ in 0..10_000 {
        let tools = Arc::clone(&tools);
        tasks.push(tokio::spawn(async move { tools.ask(WAIT).await }));
    }
    tools.until_pending(10_000).await;
    for task in tasks.iter().step_by(100) {
        task.abort();
    }
    tools.until_pending(9_900).await;
    tools.clock.advance(WAIT);
    let (mut timed_out, mut dropped) = (0, 0);
    for task in tasks {
        match task.await {
            Ok(answer) => {
                assert_eq!(answer.unwrap_err(), ErrorKind::TimedOut);
                timed_out += 1;
            }
            Err(error) => {
                assert!(error.is_cancelled());
                dropped += 1;
            }
        }
    }
    assert_eq!((timed_out, dropped), (9_900, 100));
    assert_eq!(tools.broker.statistics().pending_requests, 0);
    assert_eq!(tools.broker.statistics().subscriptions, 1);
    assert_eq!(tools.clock.sleepers(), 0);

    // One answer comes late: it is counted, and the next question is not confused by it.
    let late = calls.next().await.unwrap().unwrap();
    late.answer(Headers::default(), "late".into()).await.unwrap();
    assert_eq!(tools.broker.statistics().late_answers, 1);
    let (answer, ()) = tokio::join!(tools.ask_with("last", WAIT), async {
        // Behind those that nobody waits for any more, and word of those that had no room.
        loop {
            let Ok(call) = calls.next().await.unwrap() else {
                continue;
            };
            if &call.message().payload()[..] == b"last" {
                let answer = call.answer(Headers::default(), "in time".into());
                return answer.await.unwrap();
            }
        }
    });
    assert_eq!(&answer.unwrap().payload()[..], b"in time");
}

#[tokio::test]
async fn nobody_there_is_told_without_the_clock() {
    let tools = Tools::new();
    assert_eq!(tools.ask(WAIT).await, Err(ErrorKind::NoResponders));
    assert_eq!(tools.broker.statistics().pending_requests, 0);
}

#[tokio::test]
async fn calls_with_a_reply_address_of_another_kind_are_refused() {
    let tools = Tools::new();
    let mut calls = tools.serve(&tools.server).await;
    let random = "0123456789abcdef0123456789abcdef";
    for reply in [
        None,
        Some("mesh.node.n2.declare".to_owned()),
        Some(format!("_INBOX.mail.n1.other.{random}")),
        Some(format!("_INBOX.mail.n1.ack.{random}")),
        Some("_INBOX.mail.n1.vault.short".to_owned()),
    ] {
        let mut forged = message("mesh.tools.vault.open", "x");
        if let Some(reply) = &reply {
            forged = forged.with_reply(subject(reply));
        }
        let transport = tools.caller.transport();
        transport.publish(forged, Default::default()).await.unwrap();
        let Some(Err(ReceiveError::Refused { reason, .. })) = calls.next().await else {
            panic!("{reply:?} was not refused");
        };
        let expected = match reply {
            None => RefusalReason::NoReply,
            Some(_) => RefusalReason::ForeignReply,
        };
        assert_eq!(reason, expected);
    }
}

#[tokio::test]
async fn calls_that_a_server_has_not_read_go_to_another_when_it_closes() {
    let tools = Tools::new();
    let mut first = tools.serve(&tools.server).await;
    let asked = tools.ask(WAIT);
    let mut asked = Box::pin(asked);
    assert!(poll(&mut asked).is_pending());
    let other = tools.broker.connect(module("vault"));
    let mut second = tools.serve(&other).await;
    let report = tools.server.transport().close(WAIT).await;
    assert_eq!(report.released, 1);
    assert!(first.next().await.is_none());
    let call = second.next().await.unwrap().unwrap();
    assert_eq!(call.caller(), Some(&module("mail")));
    call.answer(Headers::default(), "yes".into()).await.unwrap();
    assert!(asked.await.is_ok());

    // Without another the caller is told at once.
    let mut asked = Box::pin(tools.ask(WAIT));
    assert!(poll(&mut asked).is_pending());
    drop(second);
    assert_eq!(asked.await, Err(ErrorKind::NoResponders));
}

#[tokio::test]
async fn a_connection_that_closes_fails_its_own_questions() {
    let tools = Tools::new();
    let _calls = tools.serve(&tools.server).await;
    let mut asked = Box::pin(tools.ask(WAIT));
    assert!(poll(&mut asked).is_pending());
    tools.caller.transport().close(WAIT).await;
    assert_eq!(asked.await, Err(ErrorKind::Closed));
    assert_eq!(tools.broker.statistics().pending_requests, 0);
}

#[tokio::test]
async fn reply_addresses_follow_from_the_seed() {
    let mut replies = Vec::new();
    for _ in 0..2 {
        let tools = Tools::new();
        let mut calls = tools.serve(&tools.server).await;
        for _ in 0..2 {
            let mut asked = Box::pin(tools.ask(WAIT));
            assert!(poll(&mut asked).is_pending());
            let call = calls.next().await.unwrap().unwrap();
            replies.push(call.message().reply().unwrap().clone());
        }
    }
    assert_eq!(replies[..2], replies[2..]);
    assert_ne!(replies[0], replies[1]);
    assert!(replies[0].as_str().starts_with("_INBOX.mail.n1.vault."));
}

#[tokio::test]
async fn calls_behind_the_one_that_was_read_are_handed_on_too() {
    let tools = Arc::new(Tools::new());
    let mut first = tools.serve(&tools.server).await;
    let mut tasks = Vec::new();
    for _ in 0..5 {
        let tools = Arc::clone(&tools);
        tasks.push(tokio::spawn(async move { tools.ask(WAIT).await }));
    }
    tools.until_pending(5).await;
    let read = first.next().await.unwrap().unwrap();
    let other = tools.broker.connect(module("vault"));
    let mut second = tools.serve(&other).await;
    assert_eq!(tools.server.transport().close(WAIT).await.released, 4);
    drop((read, first));
    for _ in 0..4 {
        let call = arrived(&mut second).await.unwrap().unwrap();
        call.answer(Headers::default(), "yes".into()).await.unwrap();
    }
    tools.until_pending(1).await;
    tools.clock.advance(WAIT);
    let mut answered = 0;
    for task in tasks {
        answered += usize::from(task.await.unwrap().is_ok());
    }
    assert_eq!(answered, 4, "all but the one that was read and dropped");
}

#[tokio::test]
async fn a_call_that_was_handed_on_is_counted_from_when_it_was_asked() {
    let tools = Tools::new();
    let _first = tools.serve(&tools.server).await;
    let mut asked = Box::pin(tools.ask(WAIT));
    assert!(poll(&mut asked).is_pending());
    let other = tools.broker.connect(module("vault"));
    let mut second = tools.serve(&other).await;
    tools.clock.advance(WAIT / 2);
    tools.server.transport().close(WAIT).await;
    tools.clock.advance(WAIT / 4);
    let call = second.next().await.unwrap().unwrap();
    assert_eq!(call.arrived(), Some(Duration::ZERO));
}
