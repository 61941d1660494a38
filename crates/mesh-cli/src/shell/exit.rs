use std::process::ExitCode;

/// How a command ended. That it could not do what it was asked is a [`Failure`](super::Failure).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// What was looked at is good.
    Good,
    /// What was looked at has a fault.
    Fault,
    /// A [`Failure`](super::Failure): the command was not understood, or what it needs can't be read.
    Refused,
    /// Ctrl-C.
    Interrupted,
    /// As a program ended that was run.
    #[cfg_attr(not(unix), expect(dead_code, reason = "no program is run there"))]
    As(u8),
}

/// The same for people.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    what was looked at is good
  1    what was looked at has a fault; the output says which
  2    it could not be looked at: the arguments have mistakes, or something can't be read or written;
       stderr says what, and what to do next
  130  Ctrl-C

Environment:
  NO_COLOR, CLICOLOR, CLICOLOR_FORCE, TERM=dumb  as everywhere; --color goes before them
  MESH_LOG  what to log to stderr: a level (`debug`) or levels of parts (`mesh_sdk=trace,warn`);
            nothing is logged unless it is set";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Good => 0,
            Exit::Fault => 1,
            Exit::Refused => 2,
            Exit::Interrupted => 130,
            Exit::As(code) => code,
        })
    }
}
