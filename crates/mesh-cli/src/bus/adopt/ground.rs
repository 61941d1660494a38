//! What all phases look at: the mesh's files, the server, and what it was before.

use mesh_clock::SystemClock;
use mesh_control::adoption::{AdoptionFolder, Ours, Survey, seated};
use mesh_control::compose::{Composition, More, Verifiers as _};
use mesh_control::folder::FolderError;
use mesh_control::secrets::SecretStore;
use mesh_control::supervisor::Monitor;
use mesh_core::identity::Instance;
use mesh_core::manifest::SecretKind;
use mesh_core::name::SeatName;
use mesh_core::port::Clock as _;
use mesh_core::time::Timestamp;

use super::Adopt;
use crate::mesh_files::MeshFiles;
use crate::operator::store_failure;
use crate::shell::Failure;

pub(super) struct Ground {
    pub(super) composition: Composition,
    /// Which module has the seat, and where.
    pub(super) holder: Instance,
    pub(super) ours: Ours,
    pub(super) folder: AdoptionFolder,
    pub(super) store: Option<SecretStore>,
    pub(super) now: Timestamp,
    monitor: Monitor,
    /// What to do where it tells nothing.
    unseen: String,
}

impl Ground {
    pub(super) fn of(asked: &Adopt) -> Result<Self, Failure> {
        let files = MeshFiles::read(&asked.mesh)?;
        let open = |path| SecretStore::open(path, "mesh bus adopt");
        let store = asked.store.as_ref().map(open).transpose();
        let store = store.map_err(|error| store_failure(&error))?;
        let revoked = store.as_ref().map(|store| store.without_account(&files.file));
        let more = More { revoked: revoked.unwrap_or_default(), ..More::default() };
        let composition = files.compose(&more)?;
        let seat = SeatName::broker();
        let holder = composition.mesh().holder_of(&seat).ok_or_else(|| {
            let hint = format!(
                "let the manifest of the module that is the bus say `claims = [\"{seat}\"]`"
            );
            let what = format!("no module that runs claims the seat {seat}");
            Failure::new(what, hint).at(asked.mesh.display())
        })?;
        let bus = composition.bus();
        let mut ours = Ours::of(bus);
        for user in ["controller", "controller-edge"] {
            let key = store.as_ref().and_then(|store| store.verifier(user));
            if let Some(key) = key.filter(|key| key.kind() == SecretKind::NKey) {
                ours = ours.with_controller(key.as_str());
            }
        }
        let monitor = Monitor::at(asked.into.unwrap_or(bus.monitor));
        let unseen = match asked.into {
            None => format!("see that it runs, on this machine: mesh bus run --dir {}", asked.dir.display()),
            Some(_) => {
                "its monitoring port must be reached from this machine: `http: \"127.0.0.1:8222\"` in its file"
                    .to_owned()
            }
        };
        let (folder, now) = (AdoptionFolder::at(&asked.dir), SystemClock::new().now());
        Ok(Self { composition, holder, ours, folder, store, now, monitor, unseen })
    }

    /// The server as it is. One that can't be seen is not adopted.
    pub(super) async fn survey(&self) -> Result<Survey, Failure> {
        Survey::of(&self.monitor).await.map_err(|error| {
            Failure::new(
                format!("a server that can't be seen is not adopted: {error}"),
                self.unseen.clone(),
            )
        })
    }

    /// What the server was before the mesh's accounts came, where it is somebody else's.
    pub(super) fn before(&self, asked: &Adopt) -> Result<Option<Survey>, Failure> {
        if asked.into.is_none() {
            return Ok(None);
        }
        match self.folder.remembered().map_err(|error| unfiled(&error))? {
            Some(survey) => Ok(Some(survey)),
            None => {
                let what = "nothing says what the server was before";
                let hint = "begin with `mesh bus adopt --prepare` and the same arguments";
                Err(Failure::new(what, hint).at(self.folder.survey_file().display()))
            }
        }
    }

    /// What is kept of the claim, where the seat is this mesh's; and of those that are others'.
    pub(super) fn seats(&self, survey: &Survey) -> (Option<String>, Vec<(String, String)>) {
        let (own, others): (Vec<_>, Vec<_>) =
            seated(survey).into_iter().partition(|(account, _)| *account == self.ours.streams);
        (own.into_iter().next().map(|(_, by)| by), others)
    }
}

pub(super) fn unfiled(error: &FolderError) -> Failure {
    Failure::new(
        error.to_string(),
        "let this user read and write there, and see that there is room",
    )
}
