use super::{FlowName, Step};
use crate::demo::journal::Handling;
use crate::demo::raise::{Note, Raised};
use crate::demo::story::list;

/// The first consumer of the first consumed event fails once and then succeeds; the others are not
/// troubled a second time.
pub(super) async fn run(raised: &Raised) -> Vec<Step> {
    let Some((emitter, event, consumers)) = raised.a_consumed_event(0) else {
        return Vec::new();
    };
    let Some(broker) = raised.modules.get(&emitter) else {
        return Vec::new();
    };
    let failing = consumers[0].to_string();
    let note = Note { flow: FlowName::Retry, fails_at: Some(failing.clone()) };
    let what = format!("{emitter} publishes {event}");
    let expected = describe(consumers.iter().flat_map(|consumer| {
        let name = consumer.to_string();
        if name == failing {
            vec![attempt(&name, 1, false), attempt(&name, 2, true)]
        } else {
            vec![attempt(&name, 1, true)]
        }
    }));
    let found = match broker.publish(event, &note).await {
        Err(error) => format!("not published: {error}"),
        Ok(published) => {
            let enough = |runs: &[Handling]| runs.len() > consumers.len();
            raised.journal.wait(&published.id, enough).await;
            let runs = raised.journal.of(&published.id);
            describe(runs.iter().map(|run| attempt(&run.at.to_string(), run.attempt, run.ok)))
        }
    };
    vec![Step::new(what, expected, found)]
}

fn attempt(who: &str, number: u32, succeeds: bool) -> String {
    let outcome = if succeeds { "succeeds" } else { "fails" };
    format!("{who} {outcome} at try {number}")
}

fn describe(runs: impl Iterator<Item = String>) -> String {
    let mut runs: Vec<String> = runs.collect();
    runs.sort();
    match runs.is_empty() {
        true => "handled by nobody".to_owned(),
        false => list(runs),
    }
}
