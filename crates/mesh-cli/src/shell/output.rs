//! Where answers go, and in which form.

use std::fmt::Display;
use std::io::{self, ErrorKind, Stdout, Write};
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::{Exit, Failure, json};

/// What holds for every command.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct Output {
    /// Answer in JSON, one object a line; failures too, on stderr.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to colour; `auto` does on a terminal, unless the environment says otherwise.
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = Color::Auto)]
    pub(crate) color: Color,
}

/// When to colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

impl From<Color> for ColorChoice {
    fn from(color: Color) -> Self {
        match color {
            Color::Auto => Self::Auto,
            Color::Always => Self::Always,
            Color::Never => Self::Never,
        }
    }
}

/// What a command answers: for programs by its keys, for people as its text, in
/// [colours](super::style), which ends with a newline.
pub(crate) trait Answer: Serialize + Display {
    /// What the JSON is and which version of that, such as `mesh.check/1`: the key `schema`. A key
    /// may be added to a version; one that goes or means something else makes another.
    const SCHEMA: &'static str;
}

/// Stdout and stderr, as they were asked for.
#[derive(Debug)]
pub(crate) struct Shell {
    asked: Output,
    out: AutoStream<Stdout>,
}

impl Shell {
    pub(crate) fn new(asked: Output) -> Self {
        Self { asked, out: AutoStream::new(io::stdout(), asked.color.into()) }
    }

    /// Whether programs read it.
    pub(crate) fn is_json(&self) -> bool {
        self.asked.json
    }

    /// Answers.
    ///
    /// That whoever read has left is no failure: they have what they wanted, and the code still says
    /// what was found.
    pub(crate) fn answer(&mut self, answer: &impl Answer) -> Result<(), Failure> {
        let text = if self.asked.json {
            line(answer).map_err(Failure::unwritten)?
        } else {
            answer.to_string()
        };
        self.write(text.as_bytes())
    }

    /// Tells a failure that isn't the end.
    pub(crate) fn tell(&mut self, failure: &Failure) {
        refuse(failure, self.asked);
    }

    /// A text for another program, which is the same in every form.
    pub(crate) fn script(&mut self, text: &[u8]) -> Result<Exit, Failure> {
        self.write(text).map(|()| Exit::Good)
    }

    /// Where a command writes that goes on for long, and wants to know when its reader has left.
    pub(crate) fn out(&mut self) -> &mut (impl Write + Send + use<>) {
        &mut self.out
    }

    /// Ends the program: tells a failure.
    pub(crate) fn end(mut self, done: Result<Exit, Failure>) -> ExitCode {
        let flushed = match self.out.flush() {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::unwritten(error)),
            _ => Ok(()),
        };
        match flushed.and(done) {
            Ok(exit) => exit.into(),
            Err(failure) => refuse(&failure, self.asked),
        }
    }

    fn write(&mut self, text: &[u8]) -> Result<(), Failure> {
        match self.out.write_all(text).and_then(|()| self.out.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::unwritten(error)),
            _ => Ok(()),
        }
    }
}

/// Tells a failure on stderr.
pub(super) fn refuse(failure: &Failure, asked: Output) -> ExitCode {
    let text = match asked.json {
        true => line(failure).unwrap_or_else(|_| failure.to_string()),
        false => failure.to_string(),
    };
    // Nothing is left to tell a person whose terminal is gone.
    drop(AutoStream::new(io::stderr(), asked.color.into()).write_all(text.as_bytes()));
    Exit::Refused.into()
}

fn line<A: Answer>(answer: &A) -> io::Result<String> {
    json::line(A::SCHEMA, answer)
}
