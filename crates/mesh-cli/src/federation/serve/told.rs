//! What a gateway says while it is served.

use std::fmt;

use mesh_core::port::Connection;
use mesh_core::text::Printable;
use serde::Serialize;

use crate::shell::Answer;
use crate::shell::style::{FAINT, GOOD, STRONG, WARNING};

#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum Serving {
    /// The file is in order.
    Good { realm: String },
    /// It hears its mailboxes.
    Listening {
        realm: String,
        backbone: String,
        local: String,
        topics: Vec<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        https: Option<String>,
        router: bool,
        /// Where it keeps what it has to remember.
        state: &'static str,
        /// How many it knows already.
        leases: usize,
    },
    /// Other rules are in force.
    Reloaded {
        /// Tables and keys that changed, and want a restart.
        restart: Vec<&'static str>,
    },
    /// The file can't be used: the rules are as they were.
    Kept { why: String },
    /// It has ended.
    Closed(Closed),
}

/// What became of what was under way.
#[derive(Debug, Serialize)]
pub(super) struct Closed {
    pub(super) finished: u64,
    pub(super) given_up: u64,
    pub(super) abandoned: u64,
    pub(super) events_given_up: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) router_lost: Option<u64>,
}

/// Where both connections lead.
pub(super) struct Ends {
    pub(super) backbone: String,
    pub(super) local: String,
}

impl Ends {
    pub(super) fn of(backbone: &Connection, local: &Connection) -> Self {
        let place = |connection: &Connection| {
            connection.broker().map_or_else(|| "memory".to_owned(), ToOwned::to_owned)
        };
        Self { backbone: place(backbone), local: place(local) }
    }
}

impl Answer for Serving {
    const SCHEMA: &'static str = "mesh.federation.serve/1";
}

impl fmt::Display for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Good { realm } => {
                writeln!(f, "{GOOD}good{GOOD:#}: a gateway of {}", Printable(realm))
            }
            Self::Listening { realm, backbone, local, topics, https, router, state, leases } => {
                writeln!(f, "{STRONG}{}{STRONG:#} {GOOD}listens{GOOD:#}", Printable(realm))?;
                writeln!(f, "  backbone  {}", Printable(backbone))?;
                writeln!(f, "  inside    {}", Printable(local))?;
                for (index, topic) in topics.iter().enumerate() {
                    let label = if index == 0 { "topics" } else { "" };
                    writeln!(f, "  {label:<9} {}", Printable(topic))?;
                }
                if let Some(https) = https {
                    writeln!(f, "  https     {}", Printable(https))?;
                }
                if *router {
                    writeln!(f, "  router    passes on what is for its neighbours")?;
                }
                writeln!(f, "  state     {state}, {leases} leases")
            }
            Self::Reloaded { restart } => {
                writeln!(f, "{GOOD}reloaded{GOOD:#}: other rules are in force")?;
                if !restart.is_empty() {
                    let keys = restart.join(", ");
                    writeln!(
                        f,
                        "{WARNING}note{WARNING:#}: changed, and wanting a restart: {keys}"
                    )?;
                }
                Ok(())
            }
            Self::Kept { why } => {
                writeln!(
                    f,
                    "{WARNING}kept{WARNING:#}: the rules are as they were: {}",
                    Printable(why)
                )
            }
            Self::Closed(closed) => {
                let Closed { finished, given_up, abandoned, events_given_up, router_lost } = closed;
                write!(f, "ended: {finished} finished at the end, {given_up} given up, ")?;
                write!(f, "{abandoned} abandoned, {events_given_up} events not sent")?;
                if let Some(lost) = router_lost {
                    write!(f, ", {lost} not passed on")?;
                }
                writeln!(f, "{FAINT}.{FAINT:#}")
            }
        }
    }
}
