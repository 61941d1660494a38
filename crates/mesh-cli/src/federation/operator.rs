//! The way to a gateway that runs: over its realm's bus, as somebody who may command it.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use mesh_core::json::RawJson;
use mesh_core::mx::{MxPath, MxUri};
use mesh_core::name::RealmName;
use mesh_core::port::Connection;
use mesh_federation::{LocalError, LocalOptions, LocalRequestReplyClient};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::config::{self, Bus, GatewayFile};
use super::desk::ours;
use super::runtime::{dial, words};
use crate::shell::{Failure, Shell};

/// Which gateway, and how it is reached.
#[derive(Debug, Args)]
pub(super) struct Reach {
    /// The gateway's file: its realm, and the credential for its bus.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The realm, where no --config says it.
    #[arg(long, value_name = "REALM")]
    realm: Option<RealmName>,
    /// The file with a credential for the realm's own bus, which lets one publish to
    /// `mx/1/<realm>/_operator.accepts.*`. Else the one of --config, else the one that
    /// MESH_CREDENTIAL names.
    #[arg(long, value_name = "FILE")]
    credential: Option<PathBuf>,
}

/// How long a gateway has to answer what it knows without asking.
const AT_ONCE: Duration = Duration::from_secs(5);

/// A gateway that can be asked.
pub(super) struct Operator {
    pub(super) realm: RealmName,
    pub(super) bus: Connection,
    asks: LocalRequestReplyClient,
}

impl Reach {
    /// Connects to the realm's bus.
    pub(super) async fn connect(&self, shell: &mut Shell) -> Result<Operator, Failure> {
        let file = match &self.config {
            None => None,
            Some(path) => match config::read(path)? {
                Ok(file) => Some(file),
                Err(mistakes) => {
                    shell.answer(&mistakes)?;
                    let hint = "mend it, or say --realm and --credential instead";
                    let failure = Failure::new("the gateway's file has mistakes", hint);
                    return Err(failure.at(path.display()));
                }
            },
        };
        let realm =
            self.realm.clone().or_else(|| file.as_ref().map(|file| file.config.realm.clone()));
        let Some(realm) = realm else {
            return Err(Failure::new("no realm is named", "say --realm, or --config"));
        };
        let credential = match (&self.credential, &file) {
            (Some(path), _) => path.clone(),
            (None, Some(file)) => of_file(file)?,
            (None, None) => mesh_sdk::credential_path().map_err(|error| {
                Failure::new(error.to_string(), "name it, or say --credential or --config")
            })?,
        };
        let bus = dial(&credential).await?;
        let options = LocalOptions::default();
        let asks = LocalRequestReplyClient::new(realm.clone(), bus.clone(), options).await;
        let asks = asks.map_err(|error| {
            let hint = format!(
                "see that {realm} is the realm of this credential, which must let one listen to \
                 mx/1/{realm}/_reply.*"
            );
            Failure::new(words(&error), hint).at(credential.display())
        })?;
        Ok(Operator { realm, bus, asks })
    }
}

fn of_file(file: &GatewayFile) -> Result<PathBuf, Failure> {
    match &file.config.local {
        Bus::Credential(path) => Ok(file.path(path)),
        Bus::Memory => Err(Failure::new(
            "the realm's own bus is in its gateway's memory, where nobody else reaches it",
            "give `local` a credential in the gateway's file",
        )),
    }
}

/// Whether a text is a URI at all, before anybody is asked.
pub(super) fn uri(text: &str) -> Result<(), Failure> {
    MxUri::parse(text).map(drop).map_err(|error| {
        let hint = "`mesh uri explain` says what is wrong with it, and what may be meant";
        Failure::new(error.to_string(), hint).at(text)
    })
}

impl Operator {
    /// Asks what the gateway knows.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        command: &str,
        body: &(impl Serialize + Sync),
    ) -> Result<T, Failure> {
        self.ask_within(command, body, AT_ONCE).await
    }

    /// Asks what the gateway has to find out within a time.
    pub(super) async fn ask_within<T: DeserializeOwned>(
        &self,
        command: &str,
        body: &(impl Serialize + Sync),
        within: Duration,
    ) -> Result<T, Failure> {
        let answer = self.raw(&ours(command), body, within).await?;
        serde_json::from_str(answer.as_str()).map_err(|error| {
            let hint = "see that this program and the gateway's are of one version";
            Failure::new(format!("the gateway's answer can't be read: {error}"), hint)
        })
    }

    async fn raw(
        &self,
        path: &MxPath<'_>,
        body: &(impl Serialize + Sync),
        within: Duration,
    ) -> Result<RawJson<'static>, Failure> {
        let unusual =
            |error: serde_json::Error| Failure::new(error.to_string(), "see that the body is JSON");
        let text = serde_json::to_string(body).map_err(unusual)?;
        let body = RawJson::new(text).map_err(|error| {
            Failure::new(error.to_string(), "JSON may be 128 levels deep, and has no key twice")
        })?;
        self.asks.request_within(path, &body, within).await.map_err(|error| self.failure(&error))
    }

    fn failure(&self, error: &LocalError) -> Failure {
        let realm = &self.realm;
        let hint = match error {
            LocalError::NoResponders { .. } => format!(
                "see that `mesh federation serve` runs for {realm}, on the bus that this credential leads to"
            ),
            LocalError::TimedOut => {
                format!("see that the gateway of {realm} runs, and is not overloaded")
            }
            LocalError::Denied(_) => {
                format!("let this user publish to mx/1/{realm}/_operator.accepts.*")
            }
            LocalError::TooLarge(_) => "send less".to_owned(),
            LocalError::Failed(_) => "it is the gateway's word; its log may tell more".to_owned(),
            _ => "MESH_LOG=debug tells more of what happened".to_owned(),
        };
        Failure::new(words(error), hint).at(realm)
    }
}
