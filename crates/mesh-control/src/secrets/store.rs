use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use mesh_core::identity::Principal;
use mesh_core::manifest::MeshFile;
use mesh_core::name::UserName;
use mesh_core::time::Timestamp;

use crate::compose::{Composition, User, Verifier, Verifiers};
use crate::whole;

use super::folder::{self, Found, PRIVATE_FILE};
use super::lock::{self, Lock, NoLock};
use super::record::{self, Record};
use super::{FolderFault, Kept, Method, Minted, Recipient, State, StoreError, mint};

/// A folder of mode 700 with a file of mode 600 for each user: what proves its secret, when that was minted, whom
/// it was sealed to, and whether it counts. Never the secret.
///
/// While a process has the store open no other can open it. Each change is on the disk when its call returns.
#[derive(Debug)]
pub struct SecretStore {
    folder: PathBuf,
    records: BTreeMap<UserName, Record>,
    damaged: Vec<Damaged>,
    _lock: Lock,
}

/// Something in a store's folder that the store did not write, or not whole. It is left as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damaged {
    /// The file.
    pub file: PathBuf,
    /// The user whose file it should be; nobody, where the name is none of a user's file.
    pub user: Option<UserName>,
    /// What is wrong with it. Nothing of it is repeated.
    pub why: String,
}

impl SecretStore {
    /// Opens a store that is there. `what` says for what, to another who finds it held.
    ///
    /// A folder without users is a store without users: mode 700 makes it one.
    ///
    /// # Errors
    /// [`StoreError::Folder`] where it is absent, a link, or open to others; [`StoreError::Held`];
    /// [`StoreError::File`]. A file that is damaged is no error here, but one of [`damaged`](Self::damaged).
    pub fn open(path: impl Into<PathBuf>, what: &str) -> Result<Self, StoreError> {
        let folder = path.into();
        folder::check(&folder).map_err(|fault| in_folder(&folder, fault))?;
        let lock = Lock::take(&folder, what).map_err(|none| match none {
            NoLock::Held(holder) => StoreError::Held { folder: folder.clone(), holder },
            NoLock::System(source) => StoreError::File { file: folder.join(lock::NAME), source },
        })?;
        let mut store = Self { folder, records: BTreeMap::new(), damaged: Vec::new(), _lock: lock };
        store.read()?;
        Ok(store)
    }

    /// Makes a new store, and opens it.
    ///
    /// # Errors
    /// [`FolderFault::Exists`], else as [`open`](Self::open).
    pub fn create(path: impl Into<PathBuf>, what: &str) -> Result<Self, StoreError> {
        let folder = path.into();
        folder::create(&folder).map_err(|fault| in_folder(&folder, fault))?;
        Self::open(folder, what)
    }

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What is known of each user, in the order of their names.
    pub fn records(&self) -> impl ExactSizeIterator<Item = (&UserName, &Record)> {
        self.records.iter()
    }

    /// What is known of a user.
    #[must_use]
    pub fn record(&self, user: &str) -> Option<&Record> {
        self.records.get(user)
    }

    /// What is kept of a user whose secret counts.
    #[must_use]
    pub fn kept(&self, user: &str) -> Option<&Kept> {
        self.record(user).filter(|record| record.state != State::Revoked).map(|record| &record.kept)
    }

    /// What is not as this store writes it, in the order of the names.
    #[must_use]
    pub fn damaged(&self) -> &[Damaged] {
        &self.damaged
    }

    /// The users whose secrets count and were made another way than `method`, by another cost included. They stay
    /// as they are until they are [rotated](Self::rotate).
    pub fn old(&self, method: Method) -> impl Iterator<Item = &UserName> {
        let old =
            move |record: &Record| record.state != State::Revoked && !method.made(&record.kept);
        self.records.iter().filter(move |(_, record)| old(record)).map(|(user, _)| user)
    }

    /// The users that are to have no account: whoever was revoked, and the people of a mesh file who were never given
    /// a credential. For [`More::revoked`](crate::compose::More::revoked). One whose file is damaged is not among
    /// them: composing tells that then.
    #[must_use]
    pub fn without_account(&self, file: &MeshFile) -> BTreeSet<String> {
        let revoked = |(_, record): &(&UserName, &Record)| record.state == State::Revoked;
        let revoked = self.records().filter(revoked).map(|(user, _)| user.to_string());
        let people = file.people.iter().map(|person| format!("person.{}", person.name));
        let known = |user: &str| {
            let named =
                |damaged: &Damaged| damaged.user.as_ref().is_some_and(|n| n.as_str() == user);
            self.record(user).is_some() || self.damaged.iter().any(named)
        };
        revoked.chain(people.filter(|user| !known(user))).collect()
    }

    /// Makes a secret for a user that has none, or one that nobody got.
    ///
    /// # Errors
    /// [`StoreError::Exists`], [`StoreError::Revoked`], [`StoreError::Damaged`]; [`StoreError::Mint`] and
    /// [`StoreError::File`], where nothing has changed.
    pub fn mint(
        &mut self,
        user: &UserName,
        method: Method,
        now: Timestamp,
    ) -> Result<Minted, StoreError> {
        match self.records.get(user).map(|record| record.state) {
            None | Some(State::Minted) => self.make(user, method, now),
            Some(State::Live) => Err(StoreError::Exists { user: user.clone() }),
            Some(State::Revoked) => Err(StoreError::Revoked { user: user.clone() }),
        }
    }

    /// Makes a secret for a user in place of the one that it has, if it has one: that one counts no more, and a
    /// user that was revoked counts again.
    ///
    /// # Errors
    /// As [`mint`](Self::mint), but for those that say what is there.
    pub fn rotate(
        &mut self,
        user: &UserName,
        method: Method,
        now: Timestamp,
    ) -> Result<Minted, StoreError> {
        self.make(user, method, now)
    }

    /// Makes secrets for those of `users` that have none, or one that nobody got. Who was revoked stays so.
    ///
    /// # Errors
    /// As [`mint`](Self::mint). What was minted before is lost with it, and will be minted again.
    pub fn ensure<'a>(
        &mut self,
        users: impl IntoIterator<Item = &'a UserName>,
        method: Method,
        now: Timestamp,
    ) -> Result<Vec<Minted>, StoreError> {
        let mut minted = Vec::new();
        for user in users {
            match self.records.get(user).map(|record| record.state) {
                None | Some(State::Minted) => minted.push(self.make(user, method, now)?),
                Some(State::Live | State::Revoked) => {}
            }
        }
        Ok(minted)
    }

    /// [`ensure`](Self::ensure) for the users of a composition, the way its mesh file asks for. A person's secret is
    /// made when a credential is issued, and not here.
    ///
    /// # Errors
    /// As [`ensure`](Self::ensure).
    pub fn ensure_composed(
        &mut self,
        composition: &Composition,
        now: Timestamp,
    ) -> Result<Vec<Minted>, StoreError> {
        let person = |user: &&User| matches!(user.principal(), Principal::Person { .. });
        let users = composition.users().iter().filter(|user| !person(user));
        // Each name was checked when it was composed.
        let users: Vec<UserName> = users.filter_map(|user| user.name().parse().ok()).collect();
        self.ensure(&users, Method::of(composition.bus()), now)
    }

    /// Notes that the user's secret is with whom it is for: sealed to these, or written plainly where there are
    /// none. Until then it can be minted again without taking anything from anybody.
    ///
    /// # Errors
    /// [`StoreError::Unknown`], [`StoreError::Revoked`], [`StoreError::File`].
    pub fn handed_over(&mut self, user: &UserName, to: &[Recipient]) -> Result<(), StoreError> {
        let record = self.known(user)?;
        if record.state == State::Revoked {
            return Err(StoreError::Revoked { user: user.clone() });
        }
        let record = Record { state: State::Live, sealed_to: to.to_vec(), ..record.clone() };
        self.put(user, record)
    }

    /// Notes that the user's secret counts no more; answers whether it did.
    ///
    /// # Errors
    /// [`StoreError::Unknown`], [`StoreError::Damaged`], [`StoreError::File`].
    pub fn revoke(&mut self, user: &UserName) -> Result<bool, StoreError> {
        let record = self.known(user)?;
        if record.state == State::Revoked {
            return Ok(false);
        }
        let record = Record { state: State::Revoked, ..record.clone() };
        self.put(user, record).map(|()| true)
    }

    fn known(&self, user: &UserName) -> Result<&Record, StoreError> {
        self.sound(user)?;
        self.records.get(user).ok_or_else(|| StoreError::Unknown { user: user.clone() })
    }

    /// Nothing is made in the place of what may be somebody's.
    fn sound(&self, user: &UserName) -> Result<(), StoreError> {
        match self.damaged.iter().find(|damaged| damaged.user.as_ref() == Some(user)) {
            None => Ok(()),
            Some(Damaged { file, why, .. }) => {
                Err(StoreError::Damaged { file: file.clone(), why: why.clone() })
            }
        }
    }

    fn make(
        &mut self,
        user: &UserName,
        method: Method,
        made: Timestamp,
    ) -> Result<Minted, StoreError> {
        self.sound(user)?;
        let (minted, kept) = mint::mint(user, method)?;
        let record = Record { kept, made, sealed_to: Vec::new(), state: State::Minted };
        self.put(user, record)?;
        Ok(minted)
    }

    fn put(&mut self, user: &UserName, record: Record) -> Result<(), StoreError> {
        let file = self.folder.join(format!("{user}{}", record::ENDING));
        let written = record.written(user).map_err(std::io::Error::other);
        written
            .and_then(|text| whole::write(&file, &text, PRIVATE_FILE))
            .map_err(|source| StoreError::File { file, source })?;
        self.records.insert(user.clone(), record);
        Ok(())
    }

    fn read(&mut self) -> Result<(), StoreError> {
        let failed = |file: &Path, source| StoreError::File { file: file.to_owned(), source };
        let entries = fs::read_dir(&self.folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut entries = entries.map_err(|source| failed(&self.folder, source))?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (name, file) = (entry.file_name(), entry.path());
            let name = name.to_string_lossy();
            if name == lock::NAME {
                continue;
            }
            // Whoever holds the lock writes alone: this is of one who was killed.
            if name.starts_with('.') && name.ends_with(whole::SUFFIX) {
                fs::remove_file(&file).map_err(|source| failed(&file, source))?;
                continue;
            }
            let user = name.strip_suffix(record::ENDING).and_then(|user| UserName::new(user).ok());
            let found =
                folder::read(&file, record::MOST).map_err(|source| failed(&file, source))?;
            let record = match (&user, found) {
                (None, _) => Err("not a file of this store".to_owned()),
                (Some(_), Found::Nothing) => continue,
                (Some(_), Found::NoFile) => Err("a link, or no file".to_owned()),
                (Some(_), Found::Exposed) => {
                    Err("others may use it (needed is mode 600)".to_owned())
                }
                (Some(user), Found::File(text)) => Record::read(user, &text),
            };
            match (user, record) {
                (Some(user), Ok(record)) => {
                    self.records.insert(user, record);
                }
                (user, Err(why)) => self.damaged.push(Damaged { file, user, why }),
                (None, Ok(_)) => {}
            }
        }
        Ok(())
    }
}

/// Of those whose secrets count. RabbitMQ's hashes are no nats-server's.
impl Verifiers for SecretStore {
    fn verifier(&self, user: &str) -> Option<Verifier> {
        match self.kept(user)? {
            Kept::Bcrypt(hash) => Verifier::bcrypt(hash).ok(),
            Kept::NKey(public) => Verifier::nkey(public).ok(),
            Kept::Rabbit(_) => None,
        }
    }
}

fn in_folder(folder: &Path, fault: FolderFault) -> StoreError {
    StoreError::Folder { folder: folder.to_owned(), fault }
}
