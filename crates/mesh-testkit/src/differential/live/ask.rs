use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{pending, select_all};
use mesh_core::message::Headers;
use mesh_core::port::{Call, Calls, Capability, ReceiveError};

use super::ears::{Ear, describe};
use super::world::{BRIEF, TOOLS, module_of, responder};
use super::{Answering, Live};
use crate::differential::seen::{done, outcome};
use crate::fixtures::{header, message};
use crate::suite::{Failure, Scene};

impl Live {
    /// Asks while whoever serves does as it is told. The answer says what the asker saw, what the one
    /// who was called saw, and what came of its answer.
    pub(super) async fn request(
        &mut self,
        by: usize,
        tool: usize,
        answering: Answering,
    ) -> Result<String, Failure> {
        if !self.common.has(Capability::Requests) {
            return Ok(String::new());
        }
        self.sent += 1;
        let (place, module) = TOOLS[tool];
        let (name, value) = header("X-Number", &self.sent.to_string());
        let question = message(place, &format!("question {}", self.sent)).with_header(name, value);
        let most = self
            .connections
            .iter()
            .map(|joined| joined.connection.transport().capabilities().limits().max_payload);
        let answer = match answering {
            Answering::TooMuch => Bytes::from(vec![b'x'; most.max().unwrap_or(0) + 1]),
            _ => Bytes::from_static(b"yes"),
        };
        let can_answer =
            self.ears.iter().any(|ear| ear.serves(tool) && module_of(ear.by) == module);
        let mut calls: Vec<_> = self.ears.iter_mut().filter_map(Ear::calls).collect();
        let waits = can_answer && answering == Answering::Answers;
        let timeout = if waits { self.scene.patience() } else { BRIEF };
        let requests = self.connections[by].connection.requests()?;
        let asking = requests.request(responder(module), question, timeout);
        let mut asking = pin!(asking);
        let mut passing = pin!(pass(&self.scene, timeout, !waits));
        let mut seen = Vec::new();
        let mut late = Vec::new();
        let due = tokio::time::sleep(timeout + self.scene.patience());
        let mut due = pin!(due);
        let heard = loop {
            tokio::select! {
                biased;
                heard = &mut asking => break heard,
                call = next_of(&mut calls) => match call {
                    Some(Ok(call)) => {
                        seen.push(format!("asked {}", describe(call.message())));
                        match answering {
                            Answering::Ignores => drop(call),
                            Answering::TooLate => late.push(call),
                            Answering::Answers | Answering::TooMuch => {
                                seen.push(answer_with(&self.scene, call, answer.clone()).await?);
                            }
                        }
                    }
                    Some(Err(word)) => seen.push(format!("told {word}")),
                    None => return Err(Failure::new("a service ended meanwhile")),
                },
                never = &mut passing => match never {},
                () = &mut due => return Err(Failure::new("it neither answers nor gives up")),
            }
        };
        seen.insert(0, outcome(heard, |heard| describe(&heard)));
        for call in late {
            seen.push(answer_with(&self.scene, call, answer.clone()).await?);
        }
        Ok(seen.join("; "))
    }
}

/// Lets time pass, if it is to.
async fn pass(scene: &Scene, span: Duration, passes: bool) -> Infallible {
    if passes {
        scene.pass(span).await;
    }
    pending().await
}

async fn next_of(calls: &mut [&mut Calls]) -> Option<Result<Call, ReceiveError>> {
    let next: Vec<_> = calls.iter_mut().map(|calls| calls.next().boxed()).collect();
    if next.is_empty() {
        return pending().await;
    }
    select_all(next).await.0
}

async fn answer_with(scene: &Scene, call: Call, with: Bytes) -> Result<String, Failure> {
    let (name, value) = header("X-Answer", "kept");
    let mut headers = Headers::default();
    headers.append(name, value);
    let answering = call.answer(headers, with);
    Ok(done(scene.soon("answering", answering).await?))
}
