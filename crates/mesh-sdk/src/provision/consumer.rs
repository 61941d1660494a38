use std::env;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use mesh_core::identity::{Instance, Principal};
use mesh_core::name::ProvisionName;
use mesh_core::provision::{Granted, Handover, MAX_HANDOVER_BYTES, ProvisionKey};
use serde::de::DeserializeOwned;

use super::{NoProvisions, RequiredError, folder, shape};
use crate::broker::Broker;
use crate::scope::Scope;

/// The variable that names the folder with what a module was given.
pub const PROVISIONS_VARIABLE: &str = "MESH_PROVISIONS";

/// A consumer's end of provisioning: what this module was given of what it requires. How it gets there is
/// told in [`provision`](super).
///
/// Each reading is one of the file, which is small: it blocks for as long as that takes.
#[derive(Debug, Clone)]
pub struct Provisions {
    folder: PathBuf,
    consumer: Instance,
    requires: Vec<ProvisionName>,
}

impl Provisions {
    /// What is in the folder that `MESH_PROVISIONS` names, for the module of this broker, which was built
    /// with its manifest.
    ///
    /// # Errors
    /// [`NoProvisions`].
    pub fn from_env<S: Scope>(broker: &Broker<S>) -> Result<Self, NoProvisions> {
        let folder = env::var_os(PROVISIONS_VARIABLE).filter(|folder| !folder.is_empty());
        Self::in_folder(broker, folder.ok_or(NoProvisions::NoFolder)?)
    }

    /// The same in this folder.
    ///
    /// # Errors
    /// [`NoProvisions::NotAModule`].
    pub fn in_folder<S: Scope>(
        broker: &Broker<S>,
        folder: impl Into<PathBuf>,
    ) -> Result<Self, NoProvisions> {
        let consumer = match broker.principal().clone() {
            Principal::Module { node, module } => Instance { node, module },
            principal => return Err(NoProvisions::NotAModule { principal }),
        };
        let requires = broker.0.settings.requires.clone();
        Ok(Self { folder: folder.into(), consumer, requires })
    }

    /// The credential of this module's instance as a `T`, as it is now. A field that is a
    /// [`Secret`](mesh_core::credential::Secret) is shown by nobody's `Debug`.
    ///
    /// # Errors
    /// [`RequiredError`]; `NotGranted` where it is not there (yet).
    pub fn read<T, N>(&self, provision: N) -> Result<T, RequiredError>
    where
        T: DeserializeOwned,
        N: TryInto<ProvisionName>,
        RequiredError: From<N::Error>,
    {
        let provision = provision.try_into()?;
        let granted = self.open(&provision)?;
        shape::decode(&granted).map_err(|error| RequiredError::Shape { provision, error })
    }

    /// The same with the fields as they were granted, byte for byte.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn granted<N>(&self, provision: N) -> Result<Granted, RequiredError>
    where
        N: TryInto<ProvisionName>,
        RequiredError: From<N::Error>,
    {
        self.open(&provision.try_into()?)
    }

    fn open(&self, provision: &ProvisionName) -> Result<Granted, RequiredError> {
        let provision = provision.clone();
        if !self.requires.contains(&provision) {
            return Err(RequiredError::NotRequired { provision });
        }
        let file = folder::file(&self.folder, &provision);
        let document = match read(&file) {
            Ok(document) if document.len() > MAX_HANDOVER_BYTES => {
                return Err(RequiredError::TooLarge { file });
            }
            Ok(document) => document,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(RequiredError::NotGranted { provision, file });
            }
            Err(error) => return Err(RequiredError::Unreadable { file, error }),
        };
        let handover = match Handover::decode(&document) {
            Ok(handover) => handover,
            Err(error) => return Err(RequiredError::Document { file, error }),
        };
        let mine = ProvisionKey { provision, consumer: self.consumer.clone() };
        if *handover.key() != mine {
            return Err(RequiredError::Another { file, key: handover.key().clone() });
        }
        Ok(handover.into_granted())
    }
}

/// What a file holds; of one that is too long only so much that it shows.
fn read(file: &Path) -> io::Result<Vec<u8>> {
    // A pipe would be waited for.
    if !fs::metadata(file)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut document = Vec::new();
    let most = u64::try_from(MAX_HANDOVER_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    File::open(file)?.take(most).read_to_end(&mut document)?;
    Ok(document)
}
