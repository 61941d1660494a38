use super::{FlowName, Step};
use crate::demo::journal::Handling;
use crate::demo::raise::Raised;
use crate::demo::reader::Note;
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
    let note = Note::new(FlowName::Retry).aimed_at(&consumers[0]);
    let what = format!("{emitter} publishes {event}");
    let expected = describe(consumers.iter().flat_map(|consumer| {
        let name = consumer.to_string();
        if name == failing {
            vec![attempt(&name, 1, FAILS), attempt(&name, 2, SUCCEEDS)]
        } else {
            vec![attempt(&name, 1, SUCCEEDS)]
        }
    }));
    let found = match broker.publish(event, &note).await {
        Err(error) => format!("not published: {error}"),
        Ok(published) => {
            let enough = |runs: &[Handling]| runs.len() > consumers.len();
            raised.journal.wait(&published.id, enough).await;
            let runs = raised.journal.of(&published.id);
            describe(runs.iter().map(|run| {
                attempt(&run.at.to_string(), run.attempt, if run.ok { SUCCEEDS } else { FAILS })
            }))
        }
    };
    vec![Step::new(what, expected, found)]
}

const FAILS: &str = "fails";
const SUCCEEDS: &str = "succeeds";

fn attempt(who: &str, number: u32, outcome: &str) -> String {
    format!("{who} {outcome} at try {number}")
}

pub(super) fn describe(runs: impl Iterator<Item = String>) -> String {
    let mut runs: Vec<String> = runs.collect();
    runs.sort();
    match runs.is_empty() {
        true => "handled by nobody".to_owned(),
        false => list(runs),
    }
}
