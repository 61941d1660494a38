//! The program as a process that goes on for long: its lines, as they come.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr, ChildStdout, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::super::program;

/// Killed when dropped.
pub(super) struct Process {
    child: Child,
    lines: BufReader<ChildStdout>,
    stderr: Option<ChildStderr>,
}

impl Process {
    /// Starts `mesh --json …`.
    pub(super) fn start(arguments: &[&str]) -> Self {
        let mut child = program()
            .arg("--json")
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let stderr = child.stderr.take();
        Self { child, lines, stderr }
    }

    /// A gateway, once it listens.
    pub(super) fn serve(file: &str) -> (Self, Value) {
        let mut process = Self::start(&["federation", "serve", file]);
        let listening = process.until("listening");
        (process, listening)
    }

    /// The next line. Fails the test where there is none.
    pub(super) fn line(&mut self) -> Value {
        let mut line = String::new();
        if self.lines.read_line(&mut line).unwrap() == 0 {
            let mut told = String::new();
            self.stderr.take().unwrap().read_to_string(&mut told).unwrap();
            assert!(!line.is_empty(), "it ended: {:?}: {told}", self.child.wait().unwrap());
        }
        serde_json::from_str(&line).unwrap()
    }

    /// The next line of this kind.
    pub(super) fn until(&mut self, kind: &str) -> Value {
        loop {
            let line = self.line();
            if line["kind"] == kind {
                return line;
            }
        }
    }

    pub(super) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// How it ends, with its last line.
    pub(super) fn end(mut self) -> (ExitStatus, Option<Value>) {
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        let last = rest.lines().last().map(|line| serde_json::from_str(line).unwrap());
        (self.child.wait().unwrap(), last)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
