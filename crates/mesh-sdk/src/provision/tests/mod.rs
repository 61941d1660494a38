mod consumer;
mod failures;
mod grants;
mod refused;
mod stores;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::identity::{Instance, Principal};
use mesh_core::json::JsonText;
use mesh_core::manifest::{Mesh, ModuleManifest};
use mesh_core::permissions::Permissions;
use mesh_core::provision::{GrantRequest, Granted, ProvisionKey, WithdrawRequest};
use mesh_core::tool::ToolFailure;
use mesh_testkit::clock::ManualClock;
use mesh_testkit::fixtures::{module, module_name, node};
use mesh_transport_mem::{InMemoryDurableBroker, InMemoryMesh};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::*;
use crate::{Asking, Broker, RequestError};

pub(super) const LEDGER: &str = "name = 'ledger'\nversion = '1'
    provides = [{ name = 'account', credential = ['user', 'password'] },
                { name = 'box', credential = ['password'] }]";
const MAIL: &str = "name = 'mail'\nversion = '1'\nrequires = [{ provision = 'account' }]";
const AUDIT: &str = "name = 'audit'\nversion = '1'\nrequires = [{ provision = 'account' }]";

/// In every password that a [`Bank`] makes.
pub(super) const SECRET: &str = "s3cr3t";

/// `ledger` provides accounts and boxes to `mail` and `audit`, on a clock that is moved by hand.
pub(super) struct Bed {
    pub(super) clock: ManualClock,
    pub(super) mesh: InMemoryMesh,
}

impl Bed {
    pub(super) async fn new() -> Self {
        let clock = ManualClock::new();
        let broker = InMemoryDurableBroker::builder(Arc::new(clock.clone())).seed(1).build();
        let files = [LEDGER, MAIL, AUDIT].map(manifest);
        let mesh = Mesh::on_one_node(&node("n1"), files).unwrap();
        Self { clock, mesh: InMemoryMesh::raise_on(broker, mesh).await.unwrap() }
    }

    pub(super) fn broker(&self, name: &str) -> Broker {
        let connection = self.mesh.connect(module("n1", name)).unwrap();
        let assigned = self.mesh.mesh().module(&module_name(name)).unwrap();
        Broker::builder(connection).manifest(&assigned.manifest).seed(1).build().unwrap()
    }

    pub(super) fn controller(&self) -> Provisioning {
        let controller = self.mesh.controller().clone();
        let controller = Broker::builder(controller).seed(2).build_only::<Asking>();
        Provisioning::over(&controller.unwrap())
    }

    /// `ledger` serves, over this bank; lives as long as what is given.
    pub(super) async fn serve(&self, bank: &Bank) -> Broker {
        let ledger = self.broker("ledger");
        Provider::new(bank.clone()).serve(&ledger).await.unwrap();
        ledger
    }
}

pub(super) fn manifest(text: &str) -> ModuleManifest {
    ModuleManifest::parse("module.toml", text).unwrap()
}

pub(super) fn key(provision: &str, consumer: &str) -> ProvisionKey {
    let consumer = Instance { node: node("n1"), module: module_name(consumer) };
    ProvisionKey { provision: provision.parse().unwrap(), consumer }
}

pub(super) fn request(provision: &str, consumer: &str) -> GrantRequest {
    GrantRequest::new(key(provision, consumer), JsonText::new("{}").unwrap()).unwrap()
}

pub(super) async fn grant(controller: &Provisioning, consumer: &str) -> Result<Granted, AskError> {
    let request = request("account", consumer);
    controller.grant(&module_name("ledger"), &request, &["user", "password"]).await
}

pub(super) async fn withdraw(controller: &Provisioning, consumer: &str) -> Result<(), AskError> {
    let request = WithdrawRequest::new(key("account", consumer));
    controller.withdraw(&module_name("ledger"), &request).await
}

/// The provider's failure.
pub(super) fn failure<T: std::fmt::Debug>(answer: Result<T, AskError>) -> ToolFailure {
    match answer {
        Err(AskError::Request(RequestError::Tool(failure))) => failure,
        other => panic!("{other:?}"),
    }
}

/// A provisioner that counts what it is asked, and does as it is told. Each account that it makes has
/// another password.
#[derive(Clone, Default)]
pub(super) struct Bank(Arc<Inside>);

#[derive(Default)]
struct Inside {
    /// What it was asked, in order: `+account for mail on n1`, `-account for …`.
    asked: Mutex<Vec<String>>,
    /// What it answers in place of what it makes.
    answer: Mutex<Option<Answer>>,
    /// What is there, and how often it was made.
    accounts: Mutex<BTreeMap<ProvisionKey, usize>>,
    /// Told at every question.
    asking: Notify,
    /// Lets a call go on that hangs.
    goes_on: Notify,
}

#[derive(Clone)]
pub(super) enum Answer {
    Fails,
    Panics,
    Hangs,
    Gives(Value),
    NoJson,
}

impl Bank {
    pub(super) fn answer(&self, answer: Answer) {
        *self.0.answer.lock() = Some(answer);
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.0.asked.lock().clone()
    }

    /// Returns once it has been asked so often.
    pub(super) async fn asked_times(&self, times: usize) {
        loop {
            let asking = self.0.asking.notified();
            tokio::pin!(asking);
            asking.as_mut().enable();
            if self.0.asked.lock().len() >= times {
                return;
            }
            asking.await;
        }
    }

    pub(super) fn go_on(&self) {
        self.0.goes_on.notify_one();
    }

    async fn do_as_told(
        &self,
        sign: char,
        key: &ProvisionKey,
    ) -> Result<Option<Made>, ToolFailure> {
        self.0.asked.lock().push(format!("{sign}{key}"));
        self.0.asking.notify_waiters();
        let told = self.0.answer.lock().take();
        match told {
            None => Ok(None),
            Some(Answer::Fails) => Err(ToolFailure::new("bank.closed", "come back tomorrow")),
            Some(Answer::Panics) => panic!("the password is {SECRET}"),
            Some(Answer::Hangs) => {
                self.0.goes_on.notified().await;
                Ok(None)
            }
            Some(Answer::Gives(value)) => Ok(Some(Made::Value(value))),
            Some(Answer::NoJson) => Ok(Some(Made::Unwritten)),
        }
    }
}

/// What is written in place of a credential.
pub(super) enum Made {
    Value(Value),
    Unwritten,
}

impl serde::Serialize for Made {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(value) => value.serialize(serializer),
            Self::Unwritten => Err(serde::ser::Error::custom(format!("{SECRET} has no form"))),
        }
    }
}

impl Provisioner for Bank {
    type Credential = Made;

    async fn grant(&self, wanted: Wanted) -> Result<Made, ToolFailure> {
        if let Some(made) = self.do_as_told('+', &wanted.key).await? {
            return Ok(made);
        }
        let mut accounts = self.0.accounts.lock();
        let made = accounts.entry(wanted.key.clone()).or_default();
        *made += 1;
        let (user, password) = (wanted.key.to_string(), format!("{SECRET} {made}"));
        Ok(Made::Value(match wanted.key.provision.as_str() {
            "box" => json!({ "password": password }),
            _ => json!({ "user": user, "password": password }),
        }))
    }

    async fn withdraw(&self, key: ProvisionKey) -> Result<(), ToolFailure> {
        self.do_as_told('-', &key).await.map(drop)
    }
}

pub(super) async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(30), future).await.expect("not in time")
}

/// The connection of a module that may do everything.
pub(super) fn unbound(bed: &Bed, principal: Principal) -> mesh_core::port::Connection {
    bed.mesh.broker().connect(principal, Permissions::everything()).unwrap()
}
