//! How a composed file reaches a running server, and how one learns what became of it.
//!
//! A bus has a folder. Whoever composes writes `nats-server.conf` in it, whole, and never talks to the
//! server. The supervisor (`mesh bus run`) watches the folder, has each file checked, reloads the server
//! with it, and says in `reload.json` what came of it. So the two need not run as the same user, in the
//! same container, or at the same time.

mod digest;
mod error;
mod report;

#[cfg(test)]
mod tests;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

pub use digest::{Digest, NotADigest};
pub use error::FolderError;
pub use report::{Outcome, ReloadReport};

use crate::whole;

/// The longest file that is read. A mesh of 10 000 modules has some ten megabytes.
const MAX_COMPOSED: u64 = 256 * 1024 * 1024;

/// The longest report that is read.
const MAX_REPORT: u64 = 1024 * 1024;

/// How long a server that nobody supervises has to say that it runs.
const ANSWER: Duration = Duration::from_secs(2);

/// Between two looks at a report that will come.
const LOOK: Duration = Duration::from_millis(20);

/// A bus's folder.
///
/// ```
/// use mesh_control::folder::{BusFolder, Digest};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let somewhere = tempfile::tempdir()?;
/// let bus = BusFolder::at(somewhere.path().join("bus"));
/// let written = bus.write("port: 4222\n")?;
/// assert_eq!(written.digest, Digest::of("port: 4222\n"));
/// assert!(!bus.write("port: 4222\n")?.changed);      // it is there already
/// assert!(!bus.is_supervised()?);                    // nobody reloads a server with it
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusFolder {
    path: PathBuf,
}

/// A composed file that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// The [digest of its bytes](Digest::of), to [wait for](BusFolder::wait).
    pub digest: Digest,
    /// Whether it is another than was there before.
    pub changed: bool,
}

/// What is known of a file that was written.
///
/// Exhaustive: who waits must decide on each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// The supervisor has looked at it: its [`Outcome`](ReloadReport::outcome) says what it made of it.
    Judged(Box<ReloadReport>),
    /// Another file has taken its place, and nothing was said of this one.
    Replaced,
    /// No supervisor watches this folder.
    Unsupervised,
    /// No supervisor watches this folder, and the server of this process runs on with what was composed before:
    /// whoever supervised it was killed.
    LeftAlone(Option<u32>),
    /// Nothing was said of it in time.
    Silence,
}

impl BusFolder {
    /// The folder at this path, whether it is there yet or not.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The composed file: `nats-server.conf`.
    #[must_use]
    pub fn composed_file(&self) -> PathBuf {
        self.path.join("nats-server.conf")
    }

    /// What became of it: `reload.json`.
    #[must_use]
    pub fn report_file(&self) -> PathBuf {
        self.path.join("reload.json")
    }

    /// Writes the composed file, whole, unless the one that is there is the same. A folder that is missing
    /// is made, for this user alone; so is the file, and a group that could read the one before still can.
    ///
    /// # Errors
    /// [`FolderError::Io`]; the file before stays.
    pub fn write(&self, text: &str) -> Result<Written, FolderError> {
        let file = self.composed_file();
        let digest = Digest::of(text);
        // One that can't be read is replaced.
        if read(&file, MAX_COMPOSED).is_ok_and(|old| old.as_deref() == Some(text.as_bytes())) {
            return Ok(Written { digest, changed: false });
        }
        make(&self.path).map_err(FolderError::io("making", &self.path))?;
        let mode = mode(&file).map_or(0o600, |before| before & 0o040 | 0o600);
        whole::write(&file, text.as_bytes(), mode).map_err(FolderError::io("writing", &file))?;
        Ok(Written { digest, changed: true })
    }

    /// The composed file's bytes, if there is one.
    ///
    /// # Errors
    /// [`FolderError::Io`], [`FolderError::TooLong`].
    pub fn read(&self) -> Result<Option<Vec<u8>>, FolderError> {
        read_composed(&self.composed_file())
    }

    /// What the supervisor said last, if one ever ran here.
    ///
    /// # Errors
    /// [`FolderError`], also where the report has another shape.
    pub fn report(&self) -> Result<Option<ReloadReport>, FolderError> {
        let path = self.report_file();
        let Some(bytes) = read(&path, MAX_REPORT)? else { return Ok(None) };
        serde_json::from_slice(&bytes).map(Some).map_err(|error| FolderError::Unreadable {
            path,
            problem: format!("no report of a supervisor: {error}"),
        })
    }

    /// Writes what became of the composed file; everybody may read it.
    ///
    /// # Errors
    /// [`FolderError::Io`].
    pub fn tell(&self, report: &ReloadReport) -> Result<(), FolderError> {
        let path = self.report_file();
        let written = serde_json::to_vec(report).map_err(io::Error::other);
        written
            .and_then(|bytes| whole::write(&path, &[&bytes, &b"\n"[..]].concat(), 0o644))
            .map_err(FolderError::io("writing", &path))
    }

    /// Waits until the supervisor has looked at the file of this digest, for at most `patience`. It blocks
    /// this thread.
    ///
    /// # Errors
    /// As [`report`](Self::report) and [`read`](Self::read).
    pub fn wait(&self, file: Digest, patience: Duration) -> Result<Awaited, FolderError> {
        let deadline = Instant::now() + patience;
        loop {
            if !self.is_supervised()? {
                return Ok(match self.report().ok().flatten().filter(runs_on) {
                    // With this very file.
                    Some(left) if left.file == Some(file) && left.running == left.file => {
                        Awaited::Judged(Box::new(left))
                    }
                    Some(left) => Awaited::LeftAlone(left.pid),
                    None => Awaited::Unsupervised,
                });
            }
            if let Some(report) = self.report()?.filter(|report| report.file == Some(file)) {
                return Ok(Awaited::Judged(Box::new(report)));
            }
            if self.read()?.map(Digest::of) != Some(file) {
                return Ok(Awaited::Replaced);
            }
            if Instant::now() >= deadline {
                return Ok(Awaited::Silence);
            }
            thread::sleep(LOOK);
        }
    }

    /// Whether a supervisor watches this folder.
    ///
    /// # Errors
    /// [`FolderError::Io`].
    pub fn is_supervised(&self) -> Result<bool, FolderError> {
        let path = self.lock_file();
        let failed = FolderError::io("looking at", &path);
        match opened(&path, File::options().read(true), Links::Refuse) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(failed(error)),
            // Closing it gives the lock back at once.
            Ok(file) => match file.try_lock_shared() {
                Ok(()) => Ok(false),
                Err(fs::TryLockError::WouldBlock) => Ok(true),
                Err(fs::TryLockError::Error(error)) => Err(failed(error)),
            },
        }
    }

    /// Held by the supervisor for as long as it lives.
    pub(crate) fn lock_file(&self) -> PathBuf {
        self.path.join(".supervisor.lock")
    }
}

/// Whether the server of which a supervisor told last still says that it runs with the same.
fn runs_on(report: &ReloadReport) -> bool {
    let told = report.monitor.zip(report.digest);
    told.is_some_and(|(monitor, digest)| {
        asked(monitor).is_ok_and(|answer| answer.contains(&digest.to_string()))
    })
}

/// What a server says of itself, as far as it comes in time.
fn asked(monitor: SocketAddr) -> io::Result<String> {
    let deadline = Instant::now() + ANSWER;
    let mut stream = TcpStream::connect_timeout(&monitor, ANSWER)?;
    stream.set_write_timeout(Some(ANSWER))?;
    stream.set_read_timeout(Some(ANSWER))?;
    // At once: an end that answers early may not read the rest.
    stream.write_all(format!("GET /varz HTTP/1.0\r\nHost: {monitor}\r\n\r\n").as_bytes())?;
    let (mut answer, mut part) = (Vec::new(), [0; 4096]);
    while Instant::now() < deadline && (answer.len() as u64) < MAX_REPORT {
        match stream.read(&mut part)? {
            0 => break,
            read => answer.extend_from_slice(&part[..read]),
        }
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn make(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(unix)]
fn mode(file: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    Some(fs::metadata(file).ok()?.permissions().mode())
}

#[cfg(not(unix))]
fn mode(_: &Path) -> Option<u32> {
    None
}

/// What is done with a link.
#[derive(Clone, Copy)]
pub(crate) enum Links {
    /// It leads to the file: who composes may swap what is behind it.
    Follow,
    /// It is refused: behind it would be a file of somebody's choice, for the supervisor to make.
    Refuse,
}

/// Opens a file, and never waits for one: a pipe without somebody at its other end would be waited for.
pub(crate) fn opened(path: &Path, options: &mut OpenOptions, links: Links) -> io::Result<File> {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = match links {
            Links::Follow => OFlags::NONBLOCK,
            Links::Refuse => OFlags::NONBLOCK | OFlags::NOFOLLOW,
        };
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags.bits().cast_signed());
    }
    #[cfg(not(unix))]
    let _ = links;
    options.open(path)
}

/// The bytes of a composed file, if it is there.
pub(crate) fn read_composed(path: &Path) -> Result<Option<Vec<u8>>, FolderError> {
    read(path, MAX_COMPOSED)
}

/// The whole file, if it is there.
fn read(path: &Path, most: u64) -> Result<Option<Vec<u8>>, FolderError> {
    let file = match opened(path, File::options().read(true), Links::Follow) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(FolderError::io("reading", path))?,
    };
    if !file.metadata().map_err(FolderError::io("reading", path))?.is_file() {
        let problem = "it is no file, but a folder, a pipe or the like".to_owned();
        return Err(FolderError::Unreadable { path: path.to_owned(), problem });
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(FolderError::io("reading", path))?;
    if bytes.len() as u64 > most {
        return Err(FolderError::TooLong { path: path.to_owned(), most });
    }
    Ok(Some(bytes))
}
