//! `mesh perm compose`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use mesh_control::compose::Composition;
use mesh_control::folder::{BusFolder, Digest};
use mesh_control::secrets::{Overwrite, SecretStore, write_document};
use mesh_core::credential::Secret;

use super::broker::{Format, Text};
use super::composed::{Checked, Composed, Handed};
use super::files::{MeshAt, left_out, mesh_file};
use super::minting::{Minting, Wanted, made, without_secret};
use crate::mesh_files::MeshFiles;
use crate::operator;
use crate::shell::{Exit, Failure, Shell, input};

const AFTER_HELP: &str = "\
Exit codes:
  0  the file is written; with --check: it is what would be composed
  1  the file is written without modules whose manifests are refused; with --check: it is another
  2  nothing is written: the mesh file has mistakes, or something can't be read or written; or the file is
     written, and the server does not run with it: stderr says why";

/// How long a server may take for a new file.
const PATIENCE: Duration = Duration::from_secs(30);

/// Compose the server's file from a mesh's files: who has an account, with which rights.
///
/// Who has no secret yet gets one, and a credential with it in the folder of --credentials; but people of a
/// nats-server, who are given theirs by `mesh operator issue`. A module whose manifest is wrong has no account, and
/// harms no other. The file is written whole. Where a server runs from its folder, credentials are written once it
/// runs with it.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Compose {
    #[command(flatten)]
    at: MeshAt,
    /// The store of what proves the secrets: a folder of mode 700.
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    /// The bus's folder, in which the file is nats-server.conf or rabbitmq-definitions.json; or a file that ends
    /// with .conf or .json.
    #[arg(long, value_name = "DIR|FILE")]
    out: PathBuf,
    /// The broker that it is for.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Nats)]
    format: Format,
    /// The virtual host of the mesh, where it is for RabbitMQ.
    #[arg(long, value_name = "NAME", default_value = "mesh")]
    vhost: String,
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
    asked.format.owns(&store)?;
    let mesh = files.compose(&asked.format.more(&store, &files.file))?;
    let place = Out::of(&asked.out, asked.format);
    if asked.check {
        return check(asked, &files, &mesh, &store, &place, shell);
    }
    let wanted = Wanted {
        folder: asked.credentials.as_deref(),
        recipients: &recipients,
        overwrite: if asked.replace { Overwrite::Replace } else { Overwrite::Never },
        bus: &asked.bus,
        home: place.home(),
    };
    let method = asked.format.method(&mesh);
    let accounts = asked.format.accounts(&mesh)?;
    let minting = Minting::of(accounts, method, mesh.bus(), &store, &wanted)?;
    let minted = match &minting {
        None => Vec::new(),
        Some(minting) => minting.mint(&mut store)?,
    };
    let text = match asked.format.text(&mesh, &store, &asked.vhost)? {
        Text::Whole(text) => text,
        Text::Without(users) => return Err(without_secret(users.iter().map(String::as_str))),
    };
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
        old: store.old(method).map(ToString::to_string).collect(),
        warnings: mesh.warnings().iter().map(ToString::to_string).collect(),
        left_out,
    })?;
    Ok(exit)
}

/// Says whether what is there is what would be composed.
fn check(
    asked: &Compose,
    files: &MeshFiles,
    mesh: &Composition,
    store: &SecretStore,
    place: &Out,
    shell: &mut Shell,
) -> Result<Exit, Failure> {
    let (composed, without) = match asked.format.text(mesh, store, &asked.vhost)? {
        Text::Whole(text) => (Some(Digest::of(&text)), Vec::new()),
        Text::Without(users) => (None, users),
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
    fn of(path: &Path, format: Format) -> Self {
        let ending = match format {
            Format::Nats => "conf",
            Format::Rabbit => "json",
        };
        let is_file = path.extension().is_some_and(|found| found == ending) && !path.is_dir();
        match format {
            _ if is_file => Self::File(path.to_owned()),
            Format::Nats => Self::Folder(BusFolder::at(path)),
            Format::Rabbit => Self::File(path.join("rabbitmq-definitions.json")),
        }
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
                if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty())
                {
                    made(folder)?;
                }
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
