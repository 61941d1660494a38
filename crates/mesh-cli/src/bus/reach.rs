//! A mesh's files and its bus, as the controller reaches it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use mesh_control::compose::{Composition, More};
use mesh_control::genesis::{Genesis, Judged, ONE_ACCOUNT, Stranger, Verdict};
use mesh_core::manifest::{Isolation, Problem};
use mesh_core::name::ModuleName;
use mesh_core::port::{Connection, ErrorKind, Held, TransportError};
use serde::Serialize;

use crate::mesh_files::MeshFiles;
use crate::runtime::dial;
use crate::shell::Failure;

/// Which mesh, and who asks its broker.
#[derive(Debug, Args)]
pub(super) struct Reach {
    /// The mesh file; its manifests are found relative to it.
    #[arg(long, value_name = "FILE")]
    mesh: PathBuf,
    /// The file with the controller's credential. Else the one that MESH_CREDENTIAL names.
    #[arg(long, value_name = "FILE")]
    credential: Option<PathBuf>,
}

/// What the mesh's files say.
pub(super) struct Said {
    pub(super) composition: Composition,
    pub(super) refused: Vec<RefusedManifest>,
}

/// A manifest that counts for nothing.
#[derive(Debug, Clone, Serialize)]
pub(super) struct RefusedManifest {
    /// Whose, as far as that can be told.
    pub(super) module: Option<String>,
    pub(super) file: String,
    /// What is wrong with it.
    pub(super) problems: Vec<String>,
}

impl Reach {
    pub(super) fn read(&self) -> Result<Said, Failure> {
        let files = MeshFiles::read(&self.mesh)?;
        let composition = files.compose(&More::default())?;
        let mut refused: Vec<RefusedManifest> = composition
            .refused()
            .iter()
            .map(|refused| RefusedManifest {
                module: refused.module.clone(),
                file: refused.file.clone(),
                problems: refused.problems.iter().map(ToString::to_string).collect(),
            })
            .collect();
        // Of a manifest that can't be read the composer knows only that it is not there; the reader knows why.
        for (index, problem) in unread(&files) {
            let module = files.file.assignments[index].module.as_str();
            let told = vec![problem.to_string()];
            match refused.iter_mut().find(|refused| refused.module.as_deref() == Some(module)) {
                Some(refused) => refused.problems = told,
                None => refused.push(RefusedManifest {
                    module: Some(module.to_owned()),
                    file: problem.file.to_string(),
                    problems: told,
                }),
            }
        }
        Ok(Said { composition, refused })
    }

    pub(super) async fn connect(&self) -> Result<Connection, Failure> {
        let path = match &self.credential {
            Some(path) => path.clone(),
            None => mesh_sdk::credential_path().map_err(|error| {
                Failure::new(
                    error.to_string(),
                    "name the controller's credential, or say --credential",
                )
            })?,
        };
        dial(&path).await
    }
}

/// Manifests that can't be read, by the number of their assignment.
fn unread(files: &MeshFiles) -> impl Iterator<Item = (usize, &Problem)> {
    let path = |index: usize| format!("assignments[{index}].manifest");
    files.unread.iter().filter_map(move |problem| {
        let count = files.file.assignments.len();
        let index = (0..count).find(|index| problem.field == path(*index))?;
        Some((index, problem))
    })
}

impl Said {
    pub(super) fn genesis(&self) -> Genesis<'_> {
        let refused = self.composition.refused().iter();
        let modules: BTreeSet<ModuleName> = refused
            .filter_map(|refused| ModuleName::new(refused.module.as_deref()?).ok())
            .collect();
        Genesis::of(self.composition.topology()).with_refused(modules)
    }

    /// What is dangerous about how this mesh is laid out.
    pub(super) fn dangers(&self) -> Vec<&'static str> {
        match self.composition.bus().isolation {
            Isolation::OneAccount => vec![ONE_ACCOUNT],
            Isolation::Split => Vec::new(),
        }
    }
}

/// A difference, as it is answered.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Difference {
    pub(super) object: String,
    pub(super) field: &'static str,
    pub(super) expected: String,
    pub(super) found: String,
    /// `mended`, `mendable`, `refused` or `stuck`.
    pub(super) verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next: Option<String>,
}

impl From<&Judged> for Difference {
    fn from(judged: &Judged) -> Self {
        let drift = &judged.drift;
        let (verdict, why, next) = match &judged.verdict {
            Verdict::Mended => ("mended", None, None),
            Verdict::Mendable => ("mendable", None, Some("run genesis with `--mend`".to_owned())),
            Verdict::Refused { why, then } => ("refused", Some(why.clone()), Some(then.clone())),
            Verdict::Stuck { why, then } => ("stuck", Some(why.clone()), Some(then.clone())),
        };
        Self {
            object: drift.object.clone(),
            field: drift.field,
            expected: drift.expected.clone(),
            found: drift.found.clone(),
            verdict,
            why,
            next,
        }
    }
}

/// Something that no file names, as it is answered.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Unnamed {
    pub(super) object: String,
    /// `stream`, `consumer` or `other`.
    pub(super) kind: &'static str,
    /// What it has yet to settle, of a consumer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) owed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) is_read: Option<bool>,
    /// Whether the mesh has its module, whose manifest is refused.
    pub(super) manifest_is_refused: bool,
}

impl From<&Stranger> for Unnamed {
    fn from(stranger: &Stranger) -> Self {
        Self {
            object: stranger.held.to_string(),
            kind: match &stranger.held {
                Held::Stream(_) => "stream",
                Held::Consumer(_) => "consumer",
                Held::Other(_) => "other",
            },
            owed: stranger.state.map(|state| state.owed()),
            is_read: stranger.state.and_then(|state| state.is_read),
            manifest_is_refused: stranger.is_of_refused,
        }
    }
}

/// What to do when the broker can't be asked, or refuses.
pub(super) fn hint(error: &TransportError) -> &'static str {
    match error.kind() {
        ErrorKind::Denied => {
            "use the controller's credential, which may ask the server's API; see that its user is composed"
        }
        ErrorKind::Unsupported => {
            "use the controller's credential, for the account that has the streams; nobody else administers"
        }
        ErrorKind::Full => {
            "give the account's streams more room on the server's disk, and run it again"
        }
        ErrorKind::Disconnected | ErrorKind::TimedOut | ErrorKind::NoResponders => {
            "see that the server runs and has JetStream, and run it again: it goes on where it was"
        }
        _ => "it is the server's word; its log may tell more. Run again, it goes on where it was",
    }
}
