//! A child process that ends with the test, however the test ends.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

/// Waits for the word to go on, and becomes the program. The end of input is the end of the test.
const RUNNER: &str = r#"read -r word || exit 1
exec "$@" </dev/null"#;

/// Waits for a word, which says that there is nothing left to do. The end of input without one says
/// that the test was killed: then the program goes, and its folder. Ctrl-C must not end it first.
const WATCHDOG: &str = r#"trap '' INT TERM HUP QUIT
read -r word || { kill -KILL "$1"; rm -rf -- "$2"; }"#;

/// A running program with a watchdog. Both are children of this process, and both are gone when this
/// is dropped; if this process is killed, the watchdog ends the program.
#[derive(Debug)]
pub(crate) struct Guarded {
    program: Child,
    watchdog: Child,
    pid: Pid,
}

impl Guarded {
    /// Runs `program`, with what it prints in `log`. A killed test's watchdog removes `folder`.
    pub(crate) fn start(
        program: &Path,
        arguments: &[&OsStr],
        log: &File,
        folder: &Path,
    ) -> io::Result<Self> {
        Self::start_in(program, arguments, log, folder, |_| {})
    }

    /// The same in a folder or an environment of its own, which `surround` sets. `sh` must be found
    /// there.
    pub(crate) fn start_in(
        program: &Path,
        arguments: &[&OsStr],
        log: &File,
        folder: &Path,
        surround: impl FnOnce(&mut Command),
    ) -> io::Result<Self> {
        let mut command = Command::new("sh");
        surround(&mut command);
        command.args(["-c", RUNNER, "sh"]).arg(program).args(arguments);
        command.stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log.try_clone()?);
        let mut program = command.spawn()?;
        // Nothing runs yet but a shell that ends with this process.
        let pid = i32::try_from(program.id()).ok().and_then(Pid::from_raw);
        let watchdog = Command::new("sh")
            .args(["-c", WATCHDOG, "sh", &program.id().to_string()])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let go = program.stdin.take();
        let (Some(pid), Ok(watchdog), Some(mut go)) = (pid, watchdog, go) else {
            program.kill()?;
            program.wait()?;
            return Err(io::Error::other("no watchdog for the program"));
        };
        let guarded = Self { program, watchdog, pid };
        go.write_all(b"go\n")?;
        Ok(guarded)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.program.id()
    }

    /// Sends a signal. The process is still there: nobody but this value waits for it.
    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(self.pid, signal)?)
    }

    /// Stops it where it is, and returns when all of it stands still or it has ended.
    pub(crate) fn pause(&self) -> io::Result<()> {
        self.signal(Signal::STOP)?;
        let told = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.pid), told)?;
        Ok(())
    }

    /// How it ended, if it did.
    pub(crate) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.program.try_wait()
    }

    /// Ends it now, without a chance to tidy up, and returns when it is gone.
    fn end(&mut self) -> io::Result<()> {
        // Fails only if it has ended already and was waited for.
        let killed = self.program.kill();
        self.program.wait()?;
        if let Some(mut word) = self.watchdog.stdin.take() {
            // Told only now, so that no moment is without it. It may have been killed, too.
            let _ = word.write_all(b"done\n");
        }
        self.watchdog.wait()?;
        killed
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // Nothing can be done about a process that can't be killed, and nobody be told.
        let _ = self.end();
    }
}
