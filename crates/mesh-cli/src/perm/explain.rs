//! `mesh perm explain`.

use std::fmt;

use clap::Args;
use mesh_control::compose::{Account, Composition, User};
use mesh_control::perm::{Act, ActError, can};
use mesh_core::permissions::{Responses, Side};
use mesh_core::subject::Filter;
use mesh_core::text::Printable;
use serde::Serialize;

use super::can_i::nothing_to_try;
use super::files::{MeshAt, Read};
use super::shown::{Judged, Right, left_out};
use super::user;
use crate::shell::style::{ERROR, FAINT, GOOD, STRONG};
use crate::shell::{Answer, Exit, Failure, Shell};

/// Say what a user may do, and what it follows from; or what it may do with one subject.
#[derive(Debug, Args)]
pub(super) struct Explain {
    /// Who, as it logs in: mail.n1, host.n1, person.ada, controller
    #[arg(value_name = "USER")]
    user: String,
    /// A subject, or a pattern to subscribe to.
    #[arg(value_name = "SUBJECT")]
    subject: Option<String>,
    #[command(flatten)]
    at: MeshAt,
}

pub(super) fn run(asked: &Explain, shell: &mut Shell) -> Result<Exit, Failure> {
    let subject = asked.subject.as_deref().map(Filter::new).transpose();
    let subject = subject.map_err(|error| nothing_to_try(&ActError::Subject(error)))?;
    let read = asked.at.read()?;
    let user = user::find(&read, &asked.user)?;
    let left_out = read.left_out();
    match subject {
        None => shell.answer(&Everything::of(&read.mesh, user, left_out))?,
        Some(filter) => shell.answer(&About::of(&read, user, &filter, left_out))?,
    }
    Ok(Exit::Good)
}

/// All that a user may.
#[derive(Debug, Serialize)]
struct Everything {
    user: String,
    /// Who logs in as it.
    principal: String,
    account: String,
    /// The line of the mesh file that it is there for.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<String>,
    rights: Vec<Right>,
    /// What it may answer by having been asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    answers: Option<Budget>,
    /// Modules without an account, and why.
    left_out: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Budget {
    max: u32,
    expires_ms: u128,
}

impl Everything {
    fn of(mesh: &Composition, user: &User, left_out: Vec<String>) -> Self {
        // By what they let it do: publish first.
        let of = |side: Side| user.grants().iter().filter(move |grant| grant.side == side);
        let rights = of(Side::Publish).chain(of(Side::Subscribe)).map(Right::of).collect();
        let budget = |Responses { max, expires }| Budget { max, expires_ms: expires.as_millis() };
        let prefix = mesh.bus().account_prefix.as_str();
        Self {
            user: user.name().to_owned(),
            principal: match user.account() {
                // Its instances share it.
                Account::Bus => "the controller, beside the streams".to_owned(),
                Account::Edge if user.name() == "controller-edge" => {
                    "the controller, beside everybody else".to_owned()
                }
                _ if user.name() == "controller" => "the controller".to_owned(),
                _ => user.principal().to_string(),
            },
            account: format!("{prefix}{}", user.account()),
            line: user.line().map(ToString::to_string),
            rights,
            answers: user.responses().map(budget),
            left_out,
        }
    }
}

impl Answer for Everything {
    const SCHEMA: &'static str = "mesh.perm.rights/1";
}

impl fmt::Display for Everything {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{STRONG}{}{STRONG:#}: {}, in {}", self.user, self.principal, self.account)?;
        if let Some(line) = &self.line {
            writeln!(f, "{FAINT}there for {}{FAINT:#}", Printable(line))?;
        }
        for (side, what) in [("publish", "publishes to"), ("subscribe", "subscribes to")] {
            let mut rights = self.rights.iter().filter(|right| right.side == side).peekable();
            if rights.peek().is_none() {
                writeln!(f, "\n{what} nothing")?;
                continue;
            }
            writeln!(f, "\n{what}")?;
            for right in rights {
                writeln!(f, "  {}", Printable(&right.what()))?;
                writeln!(f, "      {FAINT}{}{FAINT:#}", Printable(&right.why()))?;
            }
        }
        if let Some(Budget { max, expires_ms }) = self.answers {
            let seconds = expires_ms / 1000;
            writeln!(
                f,
                "\nand wherever a message asks for it: {max} answers each, within {seconds} s"
            )?;
        }
        left_out(f, &self.left_out)
    }
}

/// What a user may do with one subject.
#[derive(Debug, Serialize)]
struct About {
    user: String,
    subject: String,
    /// Nothing for a pattern: a message goes to one subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    publish: Option<Judged>,
    /// Without a queue group, and in each that has to do with it.
    subscribe: Vec<InGroup>,
    /// Modules without an account, and why.
    left_out: Vec<String>,
}

#[derive(Debug, Serialize)]
struct InGroup {
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    #[serde(flatten)]
    judged: Judged,
}

impl About {
    fn of(read: &Read, user: &User, filter: &Filter, left_out: Vec<String>) -> Self {
        let judged = |act: &Act| Judged::of(&can(&read.mesh, user, act), read);
        let publish = filter.as_subject().map(|subject| Act::Publish { subject, reply: None });
        let held = user.grants().iter().filter(|grant| grant.side == Side::Subscribe);
        let held = held.filter(|grant| grant.rule.holds_for(filter));
        let mut groups: Vec<_> = held.map(|grant| grant.rule.group.clone()).collect();
        if groups.is_empty() {
            groups.push(None);
        }
        groups.sort();
        groups.dedup();
        let in_group = |group: Option<mesh_core::port::QueueGroup>| {
            let name = group.as_ref().map(ToString::to_string);
            let act = Act::Subscribe { filter: filter.clone(), group };
            InGroup { group: name, judged: judged(&act) }
        };
        Self {
            user: user.name().to_owned(),
            subject: filter.to_string(),
            publish: publish.as_ref().map(judged),
            subscribe: groups.into_iter().map(in_group).collect(),
            left_out,
        }
    }
}

impl Answer for About {
    const SCHEMA: &'static str = "mesh.perm.subject/1";
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = Printable(&self.subject);
        writeln!(f, "{STRONG}{}{STRONG:#} and {STRONG}{subject}{STRONG:#}", self.user)?;
        if let Some(judged) = &self.publish {
            line(f, "publish to it", None, judged)?;
        }
        for InGroup { group, judged } in &self.subscribe {
            line(f, "subscribe to it", group.as_deref(), judged)?;
        }
        left_out(f, &self.left_out)
    }
}

fn line(
    f: &mut fmt::Formatter<'_>,
    what: &str,
    group: Option<&str>,
    judged: &Judged,
) -> fmt::Result {
    let group = group.map_or_else(String::new, |group| format!(" in queue group {group}"));
    if judged.allowed {
        writeln!(f, "\n{GOOD}yes{GOOD:#}: it may {what}{group}")?;
    } else {
        writeln!(f, "\n{ERROR}no{ERROR:#}: it may not {what}{group}{}", judged.reason())?;
    }
    write!(f, "{judged}")
}
