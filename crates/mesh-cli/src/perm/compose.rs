//! `mesh perm compose`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use mesh_control::compose::{ComposeError, Composition, More, Place};
use mesh_control::folder::{BusFolder, Digest};
use mesh_control::secrets::{Method, Overwrite, SecretStore, write_document};
use mesh_core::credential::Secret;

use super::composed::{Checked, Composed, Handed};
use super::files::{MeshAt, left_out, mesh_file};
use super::minting::{Minting, Wanted};
use crate::mesh_files::MeshFiles;
use crate::operator;
use crate::shell::{Exit, Failure, Shell, input};

const AFTER_HELP: &str = "\
Exit codes:
  0  the file is written; with --check: it is what would be composed
  1  the file is written without modules whose manifests are refused; with --check: it is another
  2  nothing is written: the mesh file has mistakes, or something can't be read or written";

/// How long a server may take for a new file.
const PATIENCE: Duration = Duration::from_secs(30);

/// Compose the server's file from a mesh's files: who has an account, with which rights.
///
/// Who has no secret yet gets one, and a credential with it in the folder of --credentials; but people, who are
/// given theirs by `mesh operator issue`. A module whose manifest is wrong has no account, and harms no other.
/// The file is written whole. Where a server runs from its folder, credentials are written once it runs with it.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Compose {
    #[command(flatten)]
    at: MeshAt,
    /// The store of what proves the secrets: a folder of mode 700.
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    /// The bus's folder, in which the file is nats-server.conf; or a file that ends with .conf.
    #[arg(long, value_name = "DIR|FILE")]
    out: PathBuf,
    /// Write and mint nothing; say whether the file is what would be composed.
    #[arg(long, conflicts_with_all = ["credentials", "recipient", "replace"])]
    check: bool,
    /// Where the credentials of those who have none yet are written, each in a file of mode 600.
    #[arg(long, value_name = "DIR")]
    credentials: Option<PathBuf>,
    /// The key that they are sealed to (`age1…`), or several; plain, if not given.
    #[arg(long, value_name = "KEY", requires = "credentials")]
    recipient: Vec<String>,
    /// Replace credentials that are there. Of who has none that counts, what is there is of no use.
    #[arg(long, requires = "credentials")]
    replace: bool,
    #[command(flatten)]
    bus: operator::At,
}

pub(super) fn run(asked: &Compose, shell: &mut Shell) -> Result<Exit, Failure> {
    let recipients = operator::recipients(&asked.recipient)?;
    let files = MeshFiles::read(&mesh_file(&asked.at.mesh)?)?;
    let mut store = SecretStore::open(&asked.store, "mesh perm compose")
        .map_err(|error| operator::store_failure(&error))?;
    let more = More { revoked: store.without_account(&files.file), ..More::default() };
    let mesh = files.compose(&more)?;
    let place = Out::of(&asked.out);
    if asked.check {
        return check(&files, &mesh, &store, &place, shell);
    }
    let wanted = Wanted {
        folder: asked.credentials.as_deref(),
        recipients: &recipients,
        overwrite: if asked.replace { Overwrite::Replace } else { Overwrite::Never },
        bus: &asked.bus,
        home: place.home(),
    };
    let minting = Minting::of(&mesh, &store, &wanted)?;
    let minted = match &minting {
        None => Vec::new(),
        Some(minting) => minting.mint(&mut store)?,
    };
    let text = mesh.nats(&store, &Place::default()).map_err(|error| uncomposed(&error))?;
    let changed = place.write(&text)?;
    // Who is handed a credential is let in by then.
    let reached = match &place {
        Out::Folder(folder) => Some(operator::wait(folder, Digest::of(&text), PATIENCE)?),
        Out::File(_) => None,
    };
    let mut handed = Vec::new();
    if let Some(minting) = &minting {
        for minted in &minted {
            let file = minting.hand_over(&mut store, minted)?;
            handed
                .push(Handed { user: minted.user().to_string(), file: file.display().to_string() });
        }
    }
    let left_out = left_out(&files, mesh.refused());
    let exit = if left_out.is_empty() { Exit::Good } else { Exit::Fault };
    shell.answer(&Composed {
        file: place.path().display().to_string(),
        digest: Digest::of(&text).to_string(),
        users: mesh.users().len(),
        changed,
        reached,
        handed,
        old: store.old(Method::of(mesh.bus())).map(ToString::to_string).collect(),
        warnings: mesh.warnings().iter().map(ToString::to_string).collect(),
        left_out,
    })?;
    Ok(exit)
}

/// Says whether what is there is what would be composed.
fn check(
    files: &MeshFiles,
    mesh: &Composition,
    store: &SecretStore,
    place: &Out,
    shell: &mut Shell,
) -> Result<Exit, Failure> {
    let (composed, without) = match mesh.nats(store, &Place::default()) {
        Ok(text) => (Some(Digest::of(&text)), Vec::new()),
        Err(ComposeError::NoVerifier(users)) => (None, users),
        Err(error) => return Err(uncomposed(&error)),
    };
    let found = place.read()?.map(Digest::of);
    let good = composed.is_some() && composed == found;
    let shown_digest = |digest: Option<Digest>| digest.map(|digest| digest.to_string());
    shell.answer(&Checked {
        good,
        file: place.path().display().to_string(),
        found: shown_digest(found),
        composed: shown_digest(composed),
        without_secret: without,
        left_out: left_out(files, mesh.refused()),
    })?;
    Ok(if good { Exit::Good } else { Exit::Fault })
}

/// Where the composed file goes.
enum Out {
    /// A bus's folder, with the path of the file in it.
    Folder(BusFolder),
    File(PathBuf),
}

impl Out {
    fn of(path: &Path) -> Self {
        let is_file = path.extension().is_some_and(|ending| ending == "conf") && !path.is_dir();
        if is_file { Self::File(path.to_owned()) } else { Self::Folder(BusFolder::at(path)) }
    }

    fn path(&self) -> PathBuf {
        match self {
            Self::Folder(folder) => folder.composed_file(),
            Self::File(path) => path.clone(),
        }
    }

    /// Where relative paths of the mesh file begin.
    fn home(&self) -> &Path {
        match self {
            Self::Folder(folder) => folder.path(),
            Self::File(path) => path.parent().unwrap_or(Path::new("")),
        }
    }

    /// Writes it whole; whether it is another than before.
    fn write(&self, text: &str) -> Result<bool, Failure> {
        match self {
            Self::Folder(folder) => {
                let written = folder.write(text).map_err(|error| operator::untold(&error))?;
                Ok(written.changed)
            }
            Self::File(path) => {
                let changed = self.read()?.as_deref() != Some(text.as_bytes());
                let text = Secret::new(text.to_owned());
                write_document(path, &text, Overwrite::Replace)
                    .map_err(|error| operator::document_failure(&error))?;
                Ok(changed)
            }
        }
    }

    /// What is there, if anything is.
    fn read(&self) -> Result<Option<Vec<u8>>, Failure> {
        let path = self.path();
        let folder = match self {
            Self::Folder(folder) => return folder.read().map_err(|error| operator::untold(&error)),
            Self::File(path) => path,
        };
        match std::fs::read(folder) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(input::unread(&path.display().to_string(), &error)),
        }
    }
}

fn uncomposed(error: &ComposeError) -> Failure {
    let hint = match error {
        ComposeError::NoVerifier(_) => {
            "--credentials DIR mints them, and writes the credentials there"
        }
        ComposeError::Verifier { .. } => {
            "mend the user's file in the store, or move it away and mint again"
        }
        _ => "change what the mesh file says of it",
    };
    Failure::new(error.to_string(), hint)
}
