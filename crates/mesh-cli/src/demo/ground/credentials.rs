//! The credentials of a mesh: a document for each who takes part (protocol §5), by the names of their
//! files.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use mesh_core::credential::{Credential, MAX_DOCUMENT_BYTES};
use mesh_core::identity::Principal;
use mesh_core::manifest::Mesh;

use super::way::{Kind, Way, WayError};
use crate::shell::input;

/// The controller's name among the files: there is one, whatever it is called.
pub(super) const CONTROLLER: &str = "controller";

/// Its name in the account of modules and people, on a nats-server where the streams are in another.
pub(super) const BESIDE_MODULES: &str = "controller-edge";

/// The name of a principal's file, without its ending: `n1.mail`, `person.ada`, `controller`.
pub(super) fn name_of(principal: &Principal) -> String {
    match principal {
        Principal::Controller { .. } => CONTROLLER.to_owned(),
        other => other.amqp_user(),
    }
}

/// Everybody's way in.
#[derive(Debug, Default)]
pub(super) struct Credentials(BTreeMap<String, Way>);

/// What is wrong with the files in a folder.
#[derive(Debug)]
pub(crate) struct Mistakes {
    folder: PathBuf,
    /// A file's name, and what is wrong with it.
    found: Vec<(String, Mistake)>,
}

/// What is wrong with one file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Mistake {
    #[error("it is missing")]
    Missing,
    #[error("it can't be read: {0}")]
    Unread(#[from] io::Error),
    #[error("it is longer than {MAX_DOCUMENT_BYTES} bytes")]
    TooLarge,
    #[error(transparent)]
    Document(#[from] mesh_core::credential::CredentialError),
    #[error("it is the credential of {0}")]
    Another(Principal),
    #[error(transparent)]
    Way(#[from] WayError),
}

impl Credentials {
    /// Those of the controller, of each module on each of its nodes and of each person.
    pub(super) fn read(kind: Kind, folder: &Path, mesh: &Mesh) -> Result<Self, Mistakes> {
        let modules =
            mesh.instances().map(|at| Principal::Module { node: at.node, module: at.module });
        let people = mesh.people().map(|(name, _)| Principal::Person { name: name.clone() });
        let mut names = vec![CONTROLLER.to_owned()];
        names.extend(modules.chain(people).map(|principal| name_of(&principal)));
        let mut all = Self::default();
        let mut found = Vec::new();
        for name in names {
            let file = format!("{name}.json");
            match read(kind, &folder.join(&file), &name) {
                Ok(way) => drop(all.0.insert(name, way)),
                Err(mistake) => found.push((file, mistake)),
            }
        }
        let file = format!("{BESIDE_MODULES}.json");
        match read(kind, &folder.join(&file), CONTROLLER) {
            Ok(way) => drop(all.0.insert(BESIDE_MODULES.to_owned(), way)),
            // Where there is one account for all, the controller has but one user.
            Err(Mistake::Missing) => {}
            Err(mistake) => found.push((file, mistake)),
        }
        if found.is_empty() { Ok(all) } else { Err(Mistakes { folder: folder.to_owned(), found }) }
    }

    /// The same with one more.
    #[cfg(unix)]
    pub(super) fn with(self, kind: Kind, credential: &Credential) -> Result<Self, WayError> {
        let name = name_of(credential.principal());
        self.with_named(&name, kind, credential)
    }

    /// The same with one more, under this name.
    #[cfg(unix)]
    pub(super) fn with_named(
        mut self,
        name: &str,
        kind: Kind,
        credential: &Credential,
    ) -> Result<Self, WayError> {
        self.0.insert(name.to_owned(), Way::of(kind, credential)?);
        Ok(self)
    }

    /// The way in of this principal, if it is among them.
    pub(super) fn way(&self, name: &str) -> Option<&Way> {
        self.0.get(name)
    }
}

fn read(kind: Kind, file: &Path, name: &str) -> Result<Way, Mistake> {
    let document = match input::upto(file, MAX_DOCUMENT_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Mistake::Missing),
        read => read?,
    };
    if document.len() > MAX_DOCUMENT_BYTES {
        return Err(Mistake::TooLarge);
    }
    let credential = Credential::parse(document)?;
    if name_of(credential.principal()) != name {
        return Err(Mistake::Another(credential.principal().clone()));
    }
    Ok(Way::of(kind, &credential)?)
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the credentials in {} have mistakes:", self.folder.display())?;
        for (file, mistake) in &self.found {
            write!(f, "\n  {file}: {mistake}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Mistakes {}
