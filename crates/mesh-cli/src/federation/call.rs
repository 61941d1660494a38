//! `mesh federation call`.

use std::fmt;
use std::time::Duration;

use clap::Args;
use mesh_core::text::Printable;
use serde::Serialize;
use serde_json::value::RawValue;

use super::config::{ProfileName, Span};
use super::desk::{Called, Calling, Failed, FailedKind, LONGEST};
use super::operator::Reach;
use super::runtime::until_interrupted;
use crate::shell::style::ERROR;
use crate::shell::{Answer, Exit, Failure, Shell, input, json};

/// Call a command of another realm, through the gateway of one's own.
///
/// Prints the answer. Exits 1 where the other realm refuses it, and tells its code and reason.
#[derive(Debug, Args)]
pub(super) struct Call {
    /// The command, such as `matrix://shop.example/stock.accepts.count`.
    #[arg(value_name = "URI")]
    uri: String,
    /// What it is given: JSON, or `-` for stdin. `null` if not given.
    #[arg(value_name = "JSON", default_value = "null")]
    body: String,
    /// How long it may take, such as `2s`; ten minutes at most.
    #[arg(long, value_name = "SPAN", default_value = "10s")]
    deadline: Span,
    /// In which profile it is sent; the one of the gateway's file if not given.
    #[arg(long, value_name = "PROFILE", value_enum)]
    profile: Option<ProfileName>,
    #[command(flatten)]
    reach: Reach,
}

/// The largest body, in bytes.
const MOST: usize = 1 << 20;
/// How much longer than the call its gateway has to say that it took too long.
const SLACK: Duration = Duration::from_secs(5);

pub(super) fn run(asked: &Call, shell: &mut Shell) -> Result<Exit, Failure> {
    let body = match asked.body.as_str() {
        input::STDIN => {
            let bytes = input::bytes(input::STDIN.as_ref(), MOST)?;
            String::from_utf8(bytes)
                .map_err(|_| Failure::new("not UTF-8", "give it JSON").at("(stdin)"))?
        }
        text => text.to_owned(),
    };
    let body: Box<RawValue> = serde_json::from_str(&body).map_err(|error| {
        Failure::new(format!("no JSON: {error}"), "quote it for the shell: '{\"article\": 7}'")
    })?;
    let deadline = asked.deadline.0.min(LONGEST);
    let calling = Calling {
        uri: asked.uri.clone(),
        body: Some(body),
        deadline_ms: Some(u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX)),
        profile: asked.profile.map(|name| mesh_core::mx::Profile::from(name).name().to_owned()),
    };
    until_interrupted(async {
        let operator = asked.reach.connect(shell).await?;
        let called: Called = operator.ask_within("call", &calling, deadline + SLACK).await?;
        let uri = asked.uri.clone();
        match called {
            Called::Answer(answer) => {
                let answer = Some(json::printed(&answer));
                shell.answer(&Outcome { uri, good: true, answer, refused: None })?;
                Ok(Exit::Good)
            }
            Called::Failed(failed) if failed.kind == FailedKind::Refused => {
                shell.answer(&Outcome { uri, good: false, answer: None, refused: Some(failed) })?;
                Ok(Exit::Fault)
            }
            Called::Failed(failed) => Err(failed.failure(&uri, deadline)),
        }
    })
}

/// What came of a call.
#[derive(Debug, Serialize)]
struct Outcome {
    uri: String,
    good: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<Failed>,
}

impl Answer for Outcome {
    const SCHEMA: &'static str = "mesh.federation.call/1";
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(answer) = &self.answer {
            writeln!(f, "{}", answer.get())?;
        }
        if let Some(refused) = &self.refused {
            let code = refused.code.as_deref().unwrap_or("refused");
            write!(f, "{ERROR}refused{ERROR:#}: {}: ", Printable(code))?;
            writeln!(f, "{}", Printable(&refused.message))?;
            if let Some(details) = &refused.details {
                writeln!(f, "{}", json::printed(details).get())?;
            }
        }
        Ok(())
    }
}
