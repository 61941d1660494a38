use super::{FlowName, Step};
use crate::demo::journal::Handling;
use crate::demo::raise::{Note, Raised};

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
    let what = format!("{emitter} publishes {event}; {failing} fails once");
    let expected = describe(consumers.iter().flat_map(|consumer| {
        let name = consumer.to_string();
        if name == failing {
            vec![format!("{name} #1 failed"), format!("{name} #2 ok")]
        } else {
            vec![format!("{name} #1 ok")]
        }
    }));
    let found = match broker.publish(event, &note).await {
        Err(error) => format!("not published: {error}"),
        Ok(published) => {
            let enough = |runs: &[Handling]| runs.len() > consumers.len();
            raised.journal.wait(&published.id, enough).await;
            let runs = raised.journal.of(&published.id);
            describe(runs.iter().map(|run| {
                let outcome = if run.ok { "ok" } else { "failed" };
                format!("{} #{} {outcome}", run.at, run.attempt)
            }))
        }
    };
    vec![Step::new(what, expected, found)]
}

fn describe(runs: impl Iterator<Item = String>) -> String {
    let mut runs: Vec<String> = runs.collect();
    runs.sort();
    runs.join(", ")
}
