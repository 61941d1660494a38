//! `mesh federation watch`.

use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

use clap::Args;
use mesh_core::json::RawJson;
use mesh_core::mx::Topic;
use mesh_core::port::{ReceiveError, SubscribeOptions};
use mesh_core::text::Printable;
use mesh_federation::{OsRandom, Random as _};
use serde::Serialize;
use serde_json::value::RawValue;

use super::desk::{KEEP, Known, Line, To, Told, WatchBegun, Watching, path_of};
use super::operator::{Operator, Reach};
use super::runtime::{new, words};
use crate::shell::style::{FAINT, GOOD};
use crate::shell::{Answer, Exit, Failure, Shell, json};

/// Watch events of another realm, through the gateway of one's own: a line of JSON each.
///
/// Ends with the reason when the other realm ends it, on Ctrl-C, or after --count events. Where events
/// are or may be missing a line says so.
#[derive(Debug, Args)]
pub(super) struct Watch {
    /// The events, such as `matrix://shop.example/stock.emits.gone`.
    #[arg(value_name = "URI")]
    uri: String,
    /// End after so many events.
    #[arg(long, value_name = "NUMBER")]
    count: Option<NonZeroU64>,
    #[command(flatten)]
    reach: Reach,
}

pub(super) fn run(asked: &Watch, shell: &mut Shell) -> Result<Exit, Failure> {
    new()?.block_on(async {
        let operator = asked.reach.connect(shell).await?;
        let to = To { to: OsRandom::new().id() };
        let watched = tokio::select! {
            watched = read(asked, &operator, &to, shell) => watched,
            Ok(()) = tokio::signal::ctrl_c() => Ok(Exit::Interrupted),
        };
        // Where nobody answers any more, the gateway ends it by itself after a while.
        let _: Result<Known, Failure> = operator.ask("unwatch", &to).await;
        watched
    })
}

async fn read(
    asked: &Watch,
    operator: &Operator,
    to: &To,
    shell: &mut Shell,
) -> Result<Exit, Failure> {
    let unheard = |why: String| {
        let hint = "the credential must let one listen to mx/1/<realm>/watch.*.emits.*";
        Failure::new(why, hint)
    };
    let path = path_of(&to.to).ok_or_else(|| unheard("no path to listen to".to_owned()))?;
    let topic = Topic::internal(&operator.realm, &path).map_err(|error| unheard(words(&error)))?;
    let lines = operator.bus.transport().subscribe(topic.into(), SubscribeOptions::default());
    let mut lines = lines.await.map_err(|error| unheard(words(&error)))?;
    let watching = Watching { uri: asked.uri.clone(), to: to.to.clone() };
    let begun: WatchBegun = operator.ask_within("watch", &watching, BEGIN).await?;
    if let Some(failed) = begun.failed {
        return Err(failed.failure(&asked.uri, BEGIN));
    }
    shell.answer(&Seen::Watching { uri: asked.uri.clone() })?;
    let (mut last, mut events) = (0, 0);
    let mut again = tokio::time::interval(KEEP / 3);
    loop {
        let message = tokio::select! {
            message = lines.next() => message,
            _ = again.tick() => {
                let known: Known = operator.ask("watching", to).await?;
                if !known.known {
                    let reason = "the gateway was started anew".to_owned();
                    shell.answer(&Seen::Ended { reason })?;
                    return Ok(Exit::Fault);
                }
                continue;
            }
        };
        let told = match message {
            Some(Ok(message)) => {
                let read = RawJson::from_slice(message.payload(), usize::MAX).ok();
                let told = read.and_then(|text| serde_json::from_str::<Told>(text.as_str()).ok());
                let Some(told) = told else { continue };
                told
            }
            Some(Err(ReceiveError::Ended(error))) => return Err(unheard(words(&error))),
            // What is missing shows by the next number.
            Some(Err(_)) => continue,
            None => return Err(unheard("the bus was closed".to_owned())),
        };
        if told.number > last + 1 {
            let at_least = told.number - last - 1;
            shell.answer(&Seen::Missed { at_least })?;
        }
        last = told.number.max(last);
        match told.line {
            Line::Event(body) => {
                shell.answer(&Seen::Event { body: json::printed(&body) })?;
                events += 1;
                if asked.count.is_some_and(|count| events >= count.get()) {
                    return Ok(Exit::Good);
                }
            }
            Line::Missed(at_least) => shell.answer(&Seen::Missed { at_least })?,
            Line::Ended(reason) => {
                shell.answer(&Seen::Ended { reason })?;
                return Ok(Exit::Fault);
            }
        }
    }
}

/// How long the other realm has to give a lease.
const BEGIN: Duration = Duration::from_secs(15);

/// One line of a watch.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Seen {
    /// From now on.
    Watching {
        uri: String,
    },
    Event {
        body: Box<RawValue>,
    },
    Missed {
        at_least: u64,
    },
    Ended {
        reason: String,
    },
}

impl Answer for Seen {
    const SCHEMA: &'static str = "mesh.federation.watch/1";
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Seen::Watching { uri } => {
                writeln!(f, "{FAINT}# watching{FAINT:#} {GOOD}{}{GOOD:#}", Printable(uri))
            }
            Seen::Event { body } => writeln!(f, "{}", body.get()),
            Seen::Missed { at_least: 0 } => {
                writeln!(f, "{FAINT}# events may be missing here{FAINT:#}")
            }
            Seen::Missed { at_least } => {
                writeln!(f, "{FAINT}# missing here: {at_least} at least{FAINT:#}")
            }
            Seen::Ended { reason } => writeln!(f, "{FAINT}# ended:{FAINT:#} {}", Printable(reason)),
        }
    }
}
