//! `mesh perm can-i`.

use std::fmt;

use clap::{Args, ValueEnum};
use mesh_control::perm::{Act, ActError, can};
use mesh_core::text::Printable;
use serde::Serialize;

use super::files::MeshAt;
use super::shown::{Judged, left_out};
use super::user;
use crate::shell::style::{ERROR, GOOD};
use crate::shell::{Answer, Exit, Failure, Shell};

const AFTER_HELP: &str = "\
Exit codes:
  0  yes
  1  no
  2  nobody can say: the user or the subject is none, or the files can't be read";

/// Say whether a user may publish or subscribe, and by which line.
///
/// It is what the broker would say that has the composed file. The mesh's files alone are asked: neither a
/// server nor the store of secrets.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct CanI {
    /// Who, as it logs in: mail.n1, host.n1, person.ada, controller
    #[arg(value_name = "USER")]
    user: String,
    /// What it tries.
    #[arg(value_name = "ACT", value_enum)]
    act: Verb,
    /// Where: for `publish` one subject; for `subscribe` a pattern too, where `*` is one token and a last `>`
    /// one or more.
    #[arg(value_name = "SUBJECT")]
    subject: String,
    /// The reply address that it publishes with.
    #[arg(long, value_name = "SUBJECT", conflicts_with = "group")]
    reply: Option<String>,
    /// The queue group that it subscribes in.
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    #[command(flatten)]
    at: MeshAt,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Verb {
    /// Send a message.
    Publish,
    /// Listen.
    Subscribe,
}

pub(super) fn run(asked: &CanI, shell: &mut Shell) -> Result<Exit, Failure> {
    let act = match (asked.act, &asked.reply, &asked.group) {
        (Verb::Publish, reply, None) => Act::publish(&asked.subject, reply.as_deref()),
        (Verb::Subscribe, None, group) => Act::subscribe(&asked.subject, group.as_deref()),
        (Verb::Publish, ..) => {
            let hint = "`subscribe` has one; or leave --group out";
            return Err(Failure::new("a message is sent in no queue group", hint));
        }
        (Verb::Subscribe, ..) => {
            let hint = "`publish` has one; or leave --reply out";
            return Err(Failure::new("a subscription has no reply address", hint));
        }
    };
    let act = act.map_err(|error| nothing_to_try(&error))?;
    let read = asked.at.read()?;
    let user = user::find(&read, &asked.user)?;
    let judged = Judged::of(&can(&read.mesh, user, &act), &read);
    let allowed = judged.allowed;
    shell.answer(&Answered {
        user: user.name(),
        act: Tried::of(&act),
        judged,
        left_out: read.left_out(),
    })?;
    Ok(if allowed { Exit::Good } else { Exit::Fault })
}

/// That nobody can try this.
pub(super) fn nothing_to_try(error: &ActError) -> Failure {
    let hint = match error {
        ActError::Subject(_) | ActError::Reply(_) => {
            "words with dots between them, such as mesh.events.mail.sent; wildcards are for `subscribe` alone"
        }
        _ => "letters, digits, - and _",
    };
    Failure::new(error.to_string(), hint)
}

/// What was tried, for programs.
#[derive(Debug, Serialize)]
struct Tried {
    act: &'static str,
    subject: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    #[serde(skip)]
    words: String,
}

impl Tried {
    fn of(act: &Act) -> Self {
        let words = act.to_string();
        match act {
            Act::Publish { subject, reply } => Self {
                act: "publish",
                subject: subject.to_string(),
                reply: reply.as_ref().map(ToString::to_string),
                group: None,
                words,
            },
            Act::Subscribe { filter, group } => Self {
                act: "subscribe",
                subject: filter.to_string(),
                reply: None,
                group: group.as_ref().map(ToString::to_string),
                words,
            },
        }
    }
}

#[derive(Debug, Serialize)]
struct Answered<'r> {
    user: &'r str,
    #[serde(flatten)]
    act: Tried,
    #[serde(flatten)]
    judged: Judged,
    /// Modules without an account, and why.
    left_out: Vec<String>,
}

impl Answer for Answered<'_> {
    const SCHEMA: &'static str = "mesh.perm.can-i/1";
}

impl fmt::Display for Answered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, act) = (self.user, Printable(&self.act.words));
        if self.judged.allowed {
            writeln!(f, "{GOOD}yes{GOOD:#}: {user} may {act}")?;
        } else {
            writeln!(f, "{ERROR}no{ERROR:#}: {user} may not {act}{}", self.judged.reason())?;
        }
        self.judged.fmt(f)?;
        left_out(f, &self.left_out)
    }
}
