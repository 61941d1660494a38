//! The server itself, and whether it runs with the composed file.

use std::net::SocketAddr;

use mesh_control::folder::{BusFolder, Digest, FolderError, Outcome, ReloadReport};
use mesh_control::genesis::Alarm;
use mesh_control::supervisor::{Monitor, Varz};
use serde::Serialize;

use super::super::reach::Said;
use crate::shell::Failure;

/// What was seen of the server.
#[derive(Debug, Serialize)]
pub(super) struct Server {
    /// Where it was asked.
    monitor: SocketAddr,
    pub(super) name: Option<String>,
    pub(super) version: Option<String>,
    pub(super) uptime: Option<String>,
    pub(super) connections: Option<u64>,
    /// Of what it runs with.
    pub(super) config_digest: Option<Digest>,
    pub(super) reload: Option<Reload>,
    /// Why some of it can't be seen.
    pub(super) unseen: Vec<String>,
    #[serde(skip)]
    pub(super) alarms: Vec<Alarm>,
}

/// What became of the composed file.
#[derive(Debug, Serialize)]
pub(super) struct Reload {
    /// Of the composed file's bytes.
    composed: Option<Digest>,
    /// Whether a supervisor watches the folder.
    supervised: bool,
    /// What it said last.
    report: Option<ReloadReport>,
    /// Whether the server runs with the composed file.
    pub(super) live: bool,
}

impl Server {
    /// Looks. A monitoring port that was named must answer.
    pub(super) async fn look(
        said: &Said,
        folder: Option<&BusFolder>,
        named: Option<SocketAddr>,
    ) -> Result<Self, Failure> {
        let mut reload = match folder {
            None => None,
            Some(folder) => Some(Reload::look(folder).map_err(|error| unread(&error))?),
        };
        let reported = reload.as_ref().and_then(|reload| reload.report.as_ref()?.monitor);
        let composed = said.composition.bus();
        let monitor = named.or(reported).unwrap_or(composed.monitor);
        let mut unseen = Vec::new();
        let mut alarms = Vec::new();
        let varz = match Monitor::at(monitor).varz().await {
            Ok(varz) if named.is_none() && varz.server_name != composed.name.as_str() => {
                let other = &varz.server_name;
                unseen.push(format!(
                    "the server: at {monitor} another one answers, {other}; the bus may run elsewhere"
                ));
                None
            }
            Ok(varz) => Some(varz),
            Err(error) if named.is_some() => {
                let hint = "run it where the server runs: it tells of itself on loopback alone";
                return Err(Failure::new(error.to_string(), hint));
            }
            Err(error) => {
                unseen.push(format!("the server: {error}; it tells of itself on loopback alone"));
                None
            }
        };
        match (&mut reload, folder) {
            (Some(reload), Some(folder)) => alarms.extend(reload.judge(folder, varz.as_ref())),
            _ => unseen
                .push("whether the composed file is live: say --dir where the bus runs".to_owned()),
        }
        let of = |take: fn(&Varz) -> &String| varz.as_ref().map(|varz| take(varz).clone());
        Ok(Self {
            monitor,
            name: of(|varz| &varz.server_name),
            version: of(|varz| &varz.version),
            uptime: of(|varz| &varz.uptime),
            connections: varz.as_ref().map(|varz| varz.connections),
            config_digest: varz.as_ref().and_then(|varz| varz.config_digest),
            reload,
            unseen,
            alarms,
        })
    }
}

impl Reload {
    fn look(folder: &BusFolder) -> Result<Self, FolderError> {
        Ok(Self {
            composed: folder.read()?.map(Digest::of),
            supervised: folder.is_supervised()?,
            report: folder.report()?,
            live: false,
        })
    }

    /// Whether it is live, and if not, what to do.
    fn judge(&mut self, folder: &BusFolder, varz: Option<&Varz>) -> Option<Alarm> {
        let place = folder.path().display();
        let run = format!("run `mesh bus run --dir {place}`");
        let Some(composed) = self.composed else {
            let what = format!("{place} has no composed file");
            let next = "see that --dir is the bus's folder, or compose it: `mesh perm compose`";
            return Some(Alarm::new(what, next));
        };
        let Some(report) = &self.report else {
            let what = format!("nothing was ever said of the composed file in {place}");
            return Some(Alarm::new(what, run));
        };
        if !self.supervised {
            let what = format!("no supervisor watches {place}: a change goes live nowhere");
            return Some(Alarm::new(what, run));
        }
        if report.file != Some(composed) {
            let what = "the composed file was not looked at yet".to_owned();
            let next = "look again in some seconds; a reload goes through every connected user";
            return Some(Alarm::new(what, next));
        }
        let why = report.error.as_deref().unwrap_or("it says no reason");
        let what = match report.outcome {
            Outcome::Live => {
                let runs = varz.map(|varz| (varz.config_digest, report.digest));
                if let Some((found, Some(said))) = runs
                    && found != Some(said)
                {
                    let what = "the server runs with something else than its supervisor said";
                    return Some(Alarm::new(
                        what,
                        "see who else reloads it; then touch nothing, and look again",
                    ));
                }
                self.live = true;
                return None;
            }
            Outcome::Refused => {
                format!("the composed file is refused, and the one before runs: {why}")
            }
            Outcome::NeedsRestart => {
                format!("the composed file needs a restart of the server: {why}")
            }
            outcome => format!("the composed file is not live ({outcome}): {why}"),
        };
        let next = match report.outcome {
            Outcome::Refused => "mend what the file is composed of, and compose it again",
            Outcome::NeedsRestart => "restart the bus when that suits, or take the change back",
            Outcome::Missing => "compose it: `mesh perm compose`",
            Outcome::Ended => "start the bus again: `mesh bus run`",
            Outcome::Live | Outcome::Unconfirmed => {
                "see the server's log; it may be busy with a reload"
            }
        };
        Some(Alarm::new(what, next))
    }
}

fn unread(error: &FolderError) -> Failure {
    Failure::new(error.to_string(), "let this user read in the bus's folder")
}
