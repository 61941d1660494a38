//! `mesh bus genesis`.

mod report;

use clap::Args;
use mesh_control::genesis::{Accepted, Mode, Owed, RetireError, retire};
use mesh_core::name::ConsumerName;
use mesh_core::port::Connection;
use mesh_core::topology::{ConsumerRef, StreamName};

use self::report::{Report, Retired};
use super::reach::{Reach, Said, hint};
use crate::runtime::until_interrupted;
use crate::shell::{Exit, Failure, Shell};

const AFTER_HELP: &str = "\
Exit codes:
  0  the bus has what the mesh needs, as it should be
  1  something is missing or differs and was left, or a manifest or a retirement was refused
  2  it could not be told, or broke off; stderr says why, and what was done is answered

Run again, it goes on where it was; where nothing differs it changes nothing.";

/// Raise what a mesh needs on its bus: streams and consumers, as its files say.
///
/// What is missing is made. What differs is named, and left unless --mend is said; then it is put right where
/// nothing is lost by it. What no file names is told and left.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Genesis {
    #[command(flatten)]
    reach: Reach,
    /// Change nothing: tell what is missing and what differs.
    #[arg(long, conflicts_with_all = ["mend", "retire"])]
    report_only: bool,
    /// Put right what differs, where nothing is lost by it.
    #[arg(long)]
    mend: bool,
    /// Put this right, too, and accept what was said to come of it: such as EVENTS.discard.
    #[arg(long, value_name = "OBJECT.FIELD", requires = "mend", value_parser = accepted)]
    accept: Vec<Accepted>,
    /// Take away this consumer that no file names: such as EVENTS/n1_mail. Refused while it owes anything.
    #[arg(long, value_name = "STREAM/CONSUMER", value_parser = consumer)]
    retire: Vec<ConsumerRef>,
    /// Take it away even if it owes something or is read: what it owes is given up.
    #[arg(long, requires = "retire")]
    give_up_owed: bool,
}

fn accepted(text: &str) -> Result<Accepted, String> {
    let (object, field) =
        text.rsplit_once('.').ok_or("not an object and a field, such as EVENTS.discard")?;
    Ok(Accepted { object: object.to_owned(), field: field.to_owned() })
}

fn consumer(text: &str) -> Result<ConsumerRef, String> {
    let (stream, name) =
        text.split_once('/').ok_or("not a stream and a consumer, such as EVENTS/n1_mail")?;
    let stream = StreamName::from_name(stream).ok_or_else(|| {
        let all = StreamName::ALL.map(StreamName::as_str).join(", ");
        format!("no stream {stream}: they are {all}")
    })?;
    let name = ConsumerName::new(name).map_err(|error| error.to_string())?;
    Ok(ConsumerRef::new(stream, name))
}

pub(super) fn run(asked: &Genesis, shell: &mut Shell) -> Result<Exit, Failure> {
    let said = asked.reach.read()?;
    until_interrupted(async {
        let controller = asked.reach.connect().await?;
        let (report, failures) = asked.raise(&said, &controller).await;
        shell.answer(&report)?;
        for failure in &failures {
            shell.tell(failure);
        }
        Ok(match report.good {
            _ if !failures.is_empty() => Exit::Refused,
            true => Exit::Good,
            false => Exit::Fault,
        })
    })
}

impl Genesis {
    fn mode(&self) -> Mode {
        match (self.report_only, self.mend) {
            (true, _) => Mode::Look,
            (_, true) => Mode::Mend,
            (false, false) => Mode::Raise,
        }
    }

    /// What came of it, and why it could not be told or done to its end.
    async fn raise(&self, said: &Said, controller: &Connection) -> (Report, Vec<Failure>) {
        let mode = self.mode();
        let genesis = said.genesis().accepting(self.accept.iter().cloned());
        let raised = genesis.run(controller, mode).await;
        let mut failures = Vec::new();
        if let Some(stopped) = &raised.stopped {
            let what = format!("it broke off, {}: {}", stopped.doing, stopped.error);
            failures.push(Failure::new(what, hint(&stopped.error)));
        }
        if mode == Mode::Look
            && raised.unseen.iter().any(|unseen| unseen.starts_with("what differs"))
        {
            let what = "what differs can't be told by this broker without making what is missing";
            failures.push(Failure::new(
                what,
                "run it without --report-only, or look by the broker's own tools",
            ));
        }
        let mut retired = Vec::new();
        if raised.stopped.is_none() {
            for consumer in &self.retire {
                retired.push(self.retire(said, controller, consumer, &mut failures).await);
            }
        }
        (Report::new(said, mode, &raised, retired), failures)
    }

    async fn retire(
        &self,
        said: &Said,
        controller: &Connection,
        consumer: &ConsumerRef,
        failures: &mut Vec<Failure>,
    ) -> Retired {
        let owed = if self.give_up_owed { Owed::GiveUp } else { Owed::Keep };
        let topology = said.composition.topology();
        let done = match controller.administration() {
            Ok(administration) => retire(&**administration, topology, consumer, owed).await,
            Err(error) => Err(error.into()),
        };
        let (gave_up, error) = match done {
            Ok(owed) => (Some(owed), None),
            Err(error) => (None, Some(error)),
        };
        let next = error.as_ref().and_then(|error| match error {
            RetireError::Transport(error) => {
                failures.push(Failure::new(error.to_string(), hint(error)).at(consumer));
                None
            }
            RetireError::Named(_) => Some("take its module out of the mesh's files first"),
            RetireError::Absent(_) => Some("`mesh bus genesis` names those that are there"),
            RetireError::Owes { .. } | RetireError::Unknown(_) => {
                Some("let its module settle that, or say --give-up-owed")
            }
            RetireError::Read(_) => Some("end its reader, or say --give-up-owed"),
            _ => None,
        });
        Retired {
            consumer: consumer.to_string(),
            gave_up,
            refused: error.map(|error| error.to_string()),
            next,
        }
    }
}
