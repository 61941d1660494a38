//! Grants and withdrawals as a provider answers them, in any order and side by side, beside what they
//! should come to.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::json::JsonText;
use mesh_core::manifest::{Mesh, ModuleManifest};
use mesh_core::provision::{GrantRequest, ProvisionKey, WithdrawRequest};
use mesh_core::tool::ToolFailure;
use mesh_sdk::provision::{GrantStore, MemoryGrants, Provider, Provisioner, Provisioning, Wanted};
use mesh_sdk::{Asking, Broker};
use mesh_testkit::fixtures::{module, module_name, node};
use mesh_testkit::strategies::{few_provision_keys, json_object};
use mesh_transport_mem::InMemoryMesh;
use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::cases;

const PG: &str = "name = 'pg'\nversion = '1'
    provides = [{ name = 'database', credential = ['n'] }, { name = 'queue', credential = ['n'] }]";

#[derive(Debug, Clone)]
enum Step {
    /// So many at once, each contributing something.
    Grant(ProvisionKey, Vec<JsonText>),
    Withdraw(ProvisionKey),
    /// The next question to the provisioner fails.
    Fail,
    /// The provider's process is another, with the same store or with one that knows nothing.
    Restart {
        forgets: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let contributed = prop::collection::vec(json_object(), 1..=3);
    prop_oneof![
        5 => (few_provision_keys(), contributed).prop_map(|(key, with)| Step::Grant(key, with)),
        3 => few_provision_keys().prop_map(Step::Withdraw),
        1 => Just(Step::Fail),
        1 => any::<bool>().prop_map(|forgets| Step::Restart { forgets }),
    ]
}

/// Numbers what it makes. What is there is found again.
#[derive(Clone, Default)]
struct Numbers(Arc<Mutex<Inside>>);

#[derive(Default)]
struct Inside {
    there: BTreeMap<ProvisionKey, u64>,
    made: u64,
    fails: bool,
}

impl Provisioner for Numbers {
    type Credential = Value;

    async fn grant(&self, wanted: Wanted) -> Result<Value, ToolFailure> {
        tokio::task::yield_now().await;
        let mut inside = self.0.lock();
        if std::mem::take(&mut inside.fails) {
            return Err(ToolFailure::new("no", ""));
        }
        inside.made += 1;
        let next = inside.made;
        Ok(json!({ "n": inside.there.entry(wanted.key).or_insert(next) }))
    }

    async fn withdraw(&self, key: ProvisionKey) -> Result<(), ToolFailure> {
        tokio::task::yield_now().await;
        let mut inside = self.0.lock();
        if std::mem::take(&mut inside.fails) {
            return Err(ToolFailure::new("no", ""));
        }
        inside.there.remove(&key);
        Ok(())
    }
}

struct World {
    mesh: InMemoryMesh,
    controller: Provisioning,
    numbers: Numbers,
    store: Arc<MemoryGrants>,
    provider: Broker,
}

impl World {
    async fn new() -> Self {
        let files = [ModuleManifest::parse("pg.toml", PG).unwrap()];
        let mesh = Mesh::on_one_node(&node("n1"), files).unwrap();
        let mesh = InMemoryMesh::raise(mesh).await.unwrap();
        let controller = Broker::builder(mesh.controller().clone()).build_only::<Asking>().unwrap();
        let (numbers, store) = (Numbers::default(), Arc::new(MemoryGrants::default()));
        let provider = provide(&mesh, &numbers, &store).await;
        Self { mesh, controller: Provisioning::over(&controller), numbers, store, provider }
    }

    async fn grant(&self, key: &ProvisionKey, contributed: JsonText) -> Option<u64> {
        let request = GrantRequest::new(key.clone(), contributed).unwrap();
        let granted = self.controller.grant(&module_name("pg"), &request, &["n"]).await;
        granted.ok().map(|granted| granted.field("n").unwrap().decode().unwrap())
    }

    async fn restart(&mut self, forgets: bool) {
        self.provider.close(Duration::from_secs(5)).await;
        if forgets {
            self.store = Arc::default();
        }
        self.provider = provide(&self.mesh, &self.numbers, &self.store).await;
    }
}

async fn provide(mesh: &InMemoryMesh, numbers: &Numbers, store: &Arc<MemoryGrants>) -> Broker {
    let connection = mesh.connect(module("n1", "pg")).unwrap();
    let manifest = ModuleManifest::parse("pg.toml", PG).unwrap();
    let broker = Broker::builder(connection).manifest(&manifest).build().unwrap();
    let store = Arc::clone(store) as Arc<dyn GrantStore>;
    Provider::new(numbers.clone()).grants(store).serve(&broker).await.unwrap();
    broker
}

/// What each consumer has, by what was answered.
type Model = BTreeMap<ProvisionKey, u64>;

async fn take(world: &mut World, model: &mut Model, step: Step) -> Result<(), TestCaseError> {
    match step {
        Step::Grant(key, all) => {
            let known = model.get(&key).copied();
            let remembered = world.store.look_up(&key).await.unwrap().is_some();
            let one_fails = !remembered && world.numbers.0.lock().fails;
            let asking = all.into_iter().map(|contributed| world.grant(&key, contributed));
            let answers = futures_util::future::join_all(asking).await;
            let granted: Vec<u64> = answers.iter().copied().flatten().collect();
            prop_assert_eq!(answers.len() - granted.len(), usize::from(one_fails));
            prop_assert!(granted.iter().all(|n| *n == granted[0]), "{:?}", answers);
            if let Some(first) = granted.first() {
                prop_assert!(known.is_none_or(|known| known == *first), "the same as before");
                model.insert(key, *first);
            }
        }
        Step::Withdraw(key) => {
            let fails = world.numbers.0.lock().fails;
            let request = WithdrawRequest::new(key.clone());
            let answer = world.controller.withdraw(&module_name("pg"), &request).await;
            prop_assert_eq!(answer.is_err(), fails);
            if fails {
                // It may be there or not: this provisioner has left it.
                prop_assert_eq!(world.store.look_up(&key).await.unwrap(), None);
            } else {
                model.remove(&key);
            }
        }
        Step::Fail => world.numbers.0.lock().fails = true,
        Step::Restart { forgets } => world.restart(forgets).await,
    }
    prop_assert_eq!(&world.numbers.0.lock().there, model);
    Ok(())
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn grants_are_idempotent_and_withdrawals_touch_nobody_else(
        steps in prop::collection::vec(step(), 1..30),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (mut world, mut model) = (World::new().await, Model::new());
            for step in steps {
                take(&mut world, &mut model, step).await?;
            }
            // Everybody still has what they were given.
            for (key, n) in &model {
                let empty = JsonText::new("{}").unwrap();
                world.numbers.0.lock().fails = false;
                prop_assert_eq!(world.grant(key, empty).await, Some(*n));
            }
            Ok(())
        })?;
    }
}
