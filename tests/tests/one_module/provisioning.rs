//! A provider, the controller and a consumer. Nothing here knows what carries it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::credential::Secret;
use mesh_core::identity::Instance;
use mesh_core::json::JsonText;
use mesh_core::manifest::{Mesh, ModuleManifest};
use mesh_core::provision::{GrantRequest, Granted, Handover, ProvisionKey, WithdrawRequest};
use mesh_core::tool::{ToolFailure, codes};
use mesh_sdk::provision::{
    AskError, Provider, Provisioner, Provisioning, Provisions, RequiredError, Wanted, remove, write,
};
use mesh_sdk::{Asking, Broker, RequestError};
use mesh_testkit::fixtures::{module_name, node};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::module::Ground;
use crate::soon;

const LEDGER: &str = r#"
name = "ledger"
version = "1"
provides = [{ name = "account", credential = ["user", "password"] }]
"#;

const MAIL: &str = r#"
name = "mail"
version = "1"
requires = [{ provision = "account", contributes = { purpose = "postage" } }]
"#;

const AUDIT: &str = r#"
name = "audit"
version = "1"
requires = [{ provision = "account" }]
"#;

pub(crate) fn mesh() -> Mesh {
    Mesh::on_one_node(&node("n1"), [LEDGER, MAIL, AUDIT].map(manifest)).unwrap()
}

fn manifest(text: &str) -> ModuleManifest {
    ModuleManifest::parse("module.toml", text).unwrap()
}

async fn broker(ground: &impl Ground, name: &str, text: &str) -> Broker {
    let connection = ground.connect(name).await;
    Broker::builder(connection).manifest(&manifest(text)).build().unwrap()
}

/// What consumers contribute here: what is to be done for them, beside what they say of it.
#[derive(Deserialize)]
struct Contributed {
    purpose: Option<String>,
}

/// Opens accounts, each with another password.
#[derive(Clone, Default)]
struct Accounts(Arc<Mutex<BTreeMap<ProvisionKey, u32>>>);

#[derive(Serialize)]
struct Made {
    user: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<String>,
}

impl Provisioner for Accounts {
    type Credential = Made;

    async fn grant(&self, wanted: Wanted) -> Result<Made, ToolFailure> {
        let Contributed { purpose } = wanted.decode()?;
        match purpose.as_deref() {
            Some("theft") => return Err(ToolFailure::new("ledger.no", "not for that: \u{e9}")),
            Some("panic") => panic!("s3cr3t"),
            Some("nothing") => return Ok(Made { user: "u".into(), password: None }),
            Some("waiting") => std::future::pending().await,
            _ => {}
        }
        let mut made = self.0.lock();
        let times = made.entry(wanted.key.clone()).or_default();
        *times += 1;
        Ok(Made { user: wanted.key.to_string(), password: Some(format!("s3cr3t {times}")) })
    }

    async fn withdraw(&self, _: ProvisionKey) -> Result<(), ToolFailure> {
        Ok(())
    }
}

/// Who asks, as the controller or in its place.
struct Desk(Provisioning, Mesh);

impl Desk {
    /// Asks whoever provides what this consumer requires.
    async fn grant(&self, key: &ProvisionKey) -> Result<Granted, AskError> {
        let required = &self.1.module(&key.consumer.module).unwrap().manifest.requires[0];
        self.grant_with(key, required.contributes.as_str()).await
    }

    async fn grant_with(&self, key: &ProvisionKey, contributed: &str) -> Result<Granted, AskError> {
        let required = &self.1.module(&key.consumer.module).unwrap().manifest.requires[0];
        let (provider, promised) = self.1.provider_of(required).unwrap();
        let contributed = JsonText::new(contributed.to_owned()).unwrap();
        let request = GrantRequest::new(key.clone(), contributed).unwrap();
        soon(self.0.grant(&provider.manifest.name, &request, &promised.credential)).await
    }

    async fn withdraw(&self, key: &ProvisionKey) -> Result<(), AskError> {
        let request = WithdrawRequest::new(key.clone());
        soon(self.0.withdraw(&module_name("ledger"), &request)).await
    }
}

fn key(consumer: &str) -> ProvisionKey {
    let consumer = Instance { node: node("n1"), module: module_name(consumer) };
    ProvisionKey { provision: "account".parse().unwrap(), consumer }
}

/// What a consumer reads of its credential.
#[derive(Deserialize)]
struct Login {
    user: String,
    password: Secret,
}

impl Login {
    fn parts(&self) -> (&str, &str) {
        (&self.user, self.password.expose())
    }
}

pub(crate) async fn run(ground: &impl Ground) {
    let ledger = broker(ground, "ledger", LEDGER).await;
    let (mail, audit) = (broker(ground, "mail", MAIL).await, broker(ground, "audit", AUDIT).await);
    let controller = Broker::builder(ground.controller().await).build_only::<Asking>().unwrap();
    let desk = Desk(Provisioning::over(&controller), mesh());
    let (mails, audits) = (key("mail"), key("audit"));

    let away = desk.grant(&mails).await;
    assert!(matches!(away, Err(AskError::Request(RequestError::Unavailable(_)))), "{away:?}");

    let accounts = Accounts::default();
    soon(Provider::new(accounts.clone()).serve(&ledger)).await.unwrap();

    // Granted once, however often it is asked for; withdrawn for one, and granted anew.
    let (first, again) = tokio::join!(desk.grant(&mails), desk.grant(&mails));
    let granted = first.unwrap();
    assert_eq!(again.unwrap(), granted);
    let others = desk.grant(&audits).await.unwrap();
    assert_eq!(granted.field("password").unwrap().as_str(), r#""s3cr3t 1""#);

    // How it reaches whoever requires it.
    let folder = tempfile::tempdir().unwrap();
    let read = Provisions::in_folder(&mail, folder.path()).unwrap();
    write(folder.path(), &Handover::new(mails.clone(), granted)).unwrap();
    let login: Login = read.read("account").unwrap();
    assert_eq!(login.parts(), ("account for mail on n1", "s3cr3t 1"));
    let foreign = Provisions::in_folder(&audit, folder.path()).unwrap().granted("account");
    assert!(matches!(foreign, Err(RequiredError::Another { .. })), "{foreign:?}");

    for _ in 0..2 {
        desk.withdraw(&mails).await.unwrap();
    }
    remove(folder.path(), &mails.provision).unwrap();
    assert!(matches!(read.granted("account"), Err(RequiredError::NotGranted { .. })));
    assert_eq!(desk.grant(&audits).await.unwrap(), others, "which nobody withdrew");
    let anew = desk.grant(&mails).await.unwrap();
    write(folder.path(), &Handover::new(mails.clone(), anew)).unwrap();
    let login: Login = read.read("account").unwrap();
    assert_eq!(login.parts(), ("account for mail on n1", "s3cr3t 2"));

    // Nobody but the controller.
    for broker in [&mail, &audit] {
        let module = Desk(Provisioning::over(broker), mesh());
        for denied in [module.grant(&mails).await.map(drop), module.withdraw(&mails).await] {
            assert!(
                matches!(denied, Err(AskError::Request(RequestError::Denied(_)))),
                "{denied:?}"
            );
        }
    }

    // Whatever goes wrong is told, and grants nothing.
    desk.withdraw(&mails).await.unwrap();
    for (purpose, code) in
        [("theft", "ledger.no"), ("panic", codes::PANICKED), ("nothing", codes::BAD_CREDENTIAL)]
    {
        let asked = desk.grant_with(&mails, &format!(r#"{{"purpose": "{purpose}"}}"#)).await;
        match asked.unwrap_err() {
            AskError::Request(RequestError::Tool(failure)) => {
                assert_eq!(failure.code, code);
                assert!(!failure.message.contains("s3cr3t"), "{failure}");
            }
            other => panic!("{other}"),
        }
    }
    let brief = Desk(Provisioning::over(&controller).timeout(Duration::from_millis(300)), mesh());
    let late = brief.grant_with(&mails, r#"{"purpose": "waiting"}"#).await;
    assert!(matches!(late, Err(AskError::Request(RequestError::TimedOut(_)))), "{late:?}");
    assert_eq!(accounts.0.lock()[&mails], 2, "none of that made one");
    soon(controller.close(Duration::from_secs(1))).await;
    for module in [mail, audit, ledger] {
        soon(module.close(Duration::from_secs(1))).await;
    }
}
