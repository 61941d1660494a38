//! `mesh perm who`.

use std::fmt;

use clap::Args;
use mesh_control::perm::{ActError, Who, who_may_publish, who_may_subscribe};
use mesh_core::subject::Filter;
use mesh_core::text::Printable;
use serde::Serialize;

use super::can_i::nothing_to_try;
use super::files::MeshAt;
use super::shown::{Right, left_out};
use crate::shell::style::{FAINT, STRONG};
use crate::shell::{Answer, Exit, Failure, Shell};

/// Say who may publish to a subject and who may subscribe to it, each with the line.
#[derive(Debug, Args)]
pub(super) struct AskWho {
    /// The subject, or a pattern to subscribe to.
    #[arg(value_name = "SUBJECT")]
    subject: String,
    #[command(flatten)]
    at: MeshAt,
}

pub(super) fn run(asked: &AskWho, shell: &mut Shell) -> Result<Exit, Failure> {
    let filter = Filter::new(asked.subject.as_str());
    let filter = filter.map_err(|error| nothing_to_try(&ActError::Subject(error)))?;
    let read = asked.at.read()?;
    let publish = match filter.as_subject() {
        Some(subject) => who_may_publish(&read.mesh, &subject),
        // A message goes to one subject.
        None => Vec::new(),
    };
    let subscribe = who_may_subscribe(&read.mesh, &filter);
    let told = |all: Vec<Who<'_>>| all.iter().map(Somebody::of).collect();
    shell.answer(&Answered {
        subject: asked.subject.clone(),
        is_pattern: filter.has_wildcard(),
        publish: told(publish),
        subscribe: told(subscribe),
        left_out: read.left_out(),
    })?;
    Ok(Exit::Good)
}

#[derive(Debug, Serialize)]
struct Somebody {
    user: String,
    /// The queue group in which alone they may.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    why: Vec<Right>,
}

impl Somebody {
    fn of(who: &Who<'_>) -> Self {
        Self {
            user: who.user.name().to_owned(),
            group: who.group.as_ref().map(ToString::to_string),
            why: who.decision.why.iter().map(|grant| Right::of(grant)).collect(),
        }
    }
}

#[derive(Debug, Serialize)]
struct Answered {
    subject: String,
    #[serde(skip)]
    is_pattern: bool,
    publish: Vec<Somebody>,
    subscribe: Vec<Somebody>,
    /// Modules without an account, and why.
    left_out: Vec<String>,
}

impl Answer for Answered {
    const SCHEMA: &'static str = "mesh.perm.who/1";
}

impl fmt::Display for Answered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{STRONG}{}{STRONG:#}", Printable(&self.subject))?;
        let publish = ("may publish there", &self.publish);
        let subscribe = ("may subscribe to it", &self.subscribe);
        let both = [publish, subscribe];
        // Nothing is published to a pattern.
        for (what, all) in both.into_iter().skip(usize::from(self.is_pattern)) {
            if all.is_empty() {
                writeln!(f, "\nnobody {what}")?;
            }
            for somebody in all {
                let group = match &somebody.group {
                    None => String::new(),
                    Some(group) => format!(", in queue group {group}"),
                };
                writeln!(f, "\n{} {what}{group}", somebody.user)?;
                for right in &somebody.why {
                    writeln!(f, "  {FAINT}{}{FAINT:#}", Printable(&right.why()))?;
                }
            }
        }
        left_out(f, &self.left_out)
    }
}
