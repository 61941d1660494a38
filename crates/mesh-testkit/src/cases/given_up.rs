use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use bytes::Bytes;
use mesh_core::identity::Responder;
use mesh_core::message::Headers;
use mesh_core::port::{ErrorKind, ServeOptions};

use super::request::{Counter, call, echo};
use crate::fixtures::{filter, message, module_name, tool};
use crate::suite::scene::{refused, text};
use crate::suite::{Case, Failure, Stage, Verdict, case, ensure, ensure_eq};

pub(super) const LIVE: &[Case] = &[case!(subscribe_given_up_midway_leaves_nobody, ReceiverCheck)];

pub(super) const REQUESTS: &[Case] =
    &[case!(request_given_up_midway_confuses_no_other), case!(serve_given_up_midway_leaves_nobody)];

/// How far calls are let go before they are given up: some have sent nothing yet, some wait for the
/// broker, some are as good as done.
pub(super) const POLLS: [usize; 8] = [1, 2, 3, 5, 9, 17, 65, 257];

/// Polls a call so often, while others run, and then gives it up; what it gave if it was done before.
pub(super) async fn midway<F: Future + Send>(future: F, polls: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    for _ in 0..polls {
        let polled = poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
        if let Poll::Ready(output) = polled {
            return Some(output);
        }
        tokio::task::yield_now().await;
    }
    None
}

async fn subscribe_given_up_midway_leaves_nobody(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let (mail, shop) = (scene.join("mail").await?, scene.join("shop").await?);
    for polls in POLLS {
        let place = format!("test.{polls}");
        let subscribing = mail.transport().subscribe(filter(&place), Default::default());
        drop(midway(subscribing, polls).await.transpose()?);
        scene.flush(&mail).await?;
        let result = scene.publish_to_somebody(&shop, message(&place, "1")).await?;
        refused(result, ErrorKind::NoResponders, &format!("after {polls} polls, publishing"))?;
        let mut subscription = scene.subscribe(&mail, &place).await?;
        scene.publish_to_somebody(&shop, message(&place, "2")).await??;
        ensure_eq!(text(&scene.hear(&mut subscription).await?), "2", "the first message");
    }
    Ok(())
}

async fn serve_given_up_midway_leaves_nobody(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let (mail, crm) = (scene.join("mail").await?, scene.join("crm").await?);
    for polls in POLLS {
        let place = tool("mail", "send").into();
        let serving = mail.requests()?.serve(place, ServeOptions::default());
        drop(midway(serving, polls).await.transpose()?);
        scene.flush(&mail).await?;
        let nobody = scene.ask(&crm, call("1"), scene.patience() * 10).await?;
        refused(nobody, ErrorKind::NoResponders, &format!("after {polls} polls, asking"))?;
        let mut calls = scene.serve(&mail).await?;
        let asking = scene.ask(&crm, call("2"), scene.patience());
        let answering = async { echo(scene.hear(&mut calls).await?).await };
        let (asked, answered) = tokio::join!(asking, answering);
        answered?;
        ensure_eq!(text(&asked??), "2", "the answer");
        drop(calls);
        scene.flush(&mail).await?;
    }
    Ok(())
}

async fn request_given_up_midway_confuses_no_other(stage: &Stage<'_>) -> Verdict {
    const GIVEN_UP: &str = "given up";
    let Counter { scene, mut calls, crm, .. } = Counter::open(stage).await?;
    for polls in POLLS {
        let mail = Responder::Module(module_name("mail"));
        let asking = crm.requests()?.request(mail, call(GIVEN_UP), scene.patience());
        let done = midway(asking, polls).await;
        ensure!(done.is_none(), "before anybody answered came {done:?}");
        let body = polls.to_string();
        let asking = scene.ask(&crm, call(&body), scene.patience());
        let answering = async {
            // What was given up may have arrived. Its answer is sent while the next is waited for.
            let mut late = Vec::new();
            loop {
                let next = scene.hear(&mut calls).await?;
                if text(next.message()) == GIVEN_UP {
                    late.push(next);
                    continue;
                }
                for given_up in late {
                    let answer = given_up.answer(Headers::default(), Bytes::from("late"));
                    // Whether it can still be sent is the broker's affair.
                    let _ = scene.soon("a late answer", answer).await?;
                }
                return echo(next).await;
            }
        };
        let (asked, answered) = tokio::join!(asking, answering);
        answered?;
        ensure_eq!(text(&asked??), body, "the answer");
    }
    Ok::<_, Failure>(())
}
