//! From a folder to a server that runs.

use super::candidate::Candidate;
use super::children::Children;
use super::monitor::Monitor;
use super::place::Place;
use super::server::Server;
use super::{Settings, StartError};
use crate::folder::Outcome;

/// What has started.
pub(super) struct Started {
    pub(super) place: Place,
    pub(super) children: Children,
    pub(super) server: Server,
    pub(super) running: Candidate,
    /// The composed file as it was seen.
    pub(super) seen: Option<Vec<u8>>,
    pub(super) outcome: Outcome,
    pub(super) error: Option<String>,
}

/// Starts the server with the composed file. Where that one is bad or gone, with the one that ran last: a
/// bus that was restarted with a bad file in its folder serves as before.
pub(super) async fn start(settings: &Settings) -> Result<Started, StartError> {
    let folder = settings.folder.path();
    if !folder.is_dir() {
        return Err(StartError::Missing(settings.folder.composed_file()));
    }
    let place = Place::hold(settings.folder.clone())?;
    let place = place.ok_or_else(|| StartError::Supervised(folder.to_owned()))?;
    let children = Children::wait_for(settings.reap_orphans)
        .map_err(|error| StartError::Server(error.to_string()))?;
    let seen = place.bus().read()?;
    let program = &settings.program;
    let (running, outcome, error) = match seen.clone() {
        Some(bytes) => match Candidate::examine(bytes, &place, program, &children).await {
            Ok(candidate) => (candidate, Outcome::Live, None),
            Err(problem) => {
                let error = problem.told();
                let before = ran_before(settings, &place, &children).await;
                let before = before.ok_or_else(|| StartError::Refused(error.clone()))?;
                (before, Outcome::Refused, Some(error))
            }
        },
        None => {
            let file = place.bus().composed_file();
            let before = ran_before(settings, &place, &children).await;
            let error = format!("{}: there is no composed file", file.display());
            (before.ok_or(StartError::Missing(file))?, Outcome::Missing, Some(error))
        }
    };
    let monitor = Monitor::at(running.monitor);
    if let Ok(varz) = monitor.varz().await {
        let pid = place.bus().report().ok().flatten().and_then(|report| report.pid);
        let name = varz.server_name;
        return Err(StartError::Occupied { name, monitor: running.monitor, pid });
    }
    place.write(&place.running_file(), &running.bytes)?;
    let file = place.running_file();
    let log = settings.log.clone();
    let failed = |error: std::io::Error| StartError::Server(error.to_string());
    let mut server =
        Server::start(program, &file, place.path(), monitor, &children, log).map_err(failed)?;
    let varz = server.serves().await.map_err(StartError::Server)?;
    if varz.config_digest != Some(running.digest) {
        let told = format!("it runs with {:?}, not {}", varz.config_digest, running.digest);
        return Err(StartError::Server(told));
    }
    Ok(Started { place, children, server, running, seen, outcome, error })
}

/// The file that ran last, if it is still good.
async fn ran_before(settings: &Settings, place: &Place, children: &Children) -> Option<Candidate> {
    let bytes = place.ran_last()?;
    Candidate::examine(bytes, place, &settings.program, children).await.ok()
}
