//! Grants are minimal: each grant of each user, taken away alone, breaks something that the files declare.

use async_trait::async_trait;
use mesh_control::compose::{Composition, User};
use mesh_core::identity::Principal;
use mesh_core::permissions::{Effect, Permissions, Rule, Rules, Side};
use mesh_core::port::{Connection, DriftMode};
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::{Account, ConsumerRef, Topology};

use super::doing::{Stage, done};
use super::flows::{self, Flow};
use super::ground::{Memory, user as of_memory};
use super::world::{ONE_SCOPED, SPLIT_SCOPED, World, Worlds, example};

/// How many random meshes.
const MESHES: usize = 12;

/// One grant of somebody's.
#[derive(Debug, Clone, Copy)]
pub struct Taken<'u> {
    pub side: Side,
    pub rule: &'u Rule,
}

/// What `user` has without it.
pub fn without(user: &User, taken: Taken<'_>) -> Permissions {
    let mut may = user.permissions();
    let rules = match taken.side {
        Side::Publish => &mut may.publish,
        Side::Subscribe => &mut may.subscribe,
    };
    let kept: Vec<Rule> =
        rules.allowed().iter().filter(|rule| *rule != taken.rule).cloned().collect();
    assert_eq!(kept.len() + 1, rules.allowed().len(), "one is taken: {taken:?}");
    *rules = Rules::allow(kept).except(rules.denied().iter().cloned());
    may
}

/// What may be taken from somebody.
pub fn grants(user: &User) -> impl Iterator<Item = Taken<'_>> {
    let grants = user.grants().iter().filter(|grant| grant.effect == Effect::Allow);
    grants.map(|grant| Taken { side: grant.side, rule: &grant.rule })
}

/// Flows in memory.
struct InMemory {
    memory: Memory,
    topology: Topology,
}

#[async_trait]
impl Stage for InMemory {
    async fn stand_in(&self, account: Account, principal: Principal) -> Connection {
        let broker = self.memory.mesh.broker();
        broker.connect_in(account, principal, Permissions::everything()).unwrap()
    }

    async fn renew(&self, consumer: &ConsumerRef) {
        renew(self.memory.mesh.controller(), &self.topology, consumer).await;
    }
}

/// Makes a consumer anew.
pub async fn renew(controller: &Connection, topology: &Topology, consumer: &ConsumerRef) {
    let administration = controller.administration().unwrap();
    administration.retire(consumer).await.unwrap();
    administration.assert(topology, DriftMode::Mend).await.unwrap();
}

/// The first of these that fails, or nothing.
pub async fn broken(flows: &[Flow], me: &Connection, stage: &dyn Stage) -> Option<String> {
    for flow in flows {
        if let Err(error) = done(flow, me, stage).await {
            return Some(format!("{flow:?}: {error}"));
        }
    }
    None
}

/// Takes each grant of each user of a mesh away in turn; the answer is how many there were.
async fn each_is_needed(world: &World) -> usize {
    let composition = &world.composition;
    let stage = InMemory {
        memory: Memory::raise(composition).await,
        topology: composition.topology().clone(),
    };
    let mesh = &stage.memory.mesh;
    let all = super::ground::users(composition);
    let mut count = 0;
    for user in composition.users().iter().filter(|user| has_part(user)) {
        let flows = flows::of(composition, user);
        mesh.reload(all.clone()).unwrap();
        let me = mesh.log_in(user.name()).unwrap();
        let failed = broken(&flows, &me, &stage).await;
        assert_eq!(failed, None, "{} does what is declared, in\n{}", user.name(), world.files);
        for taken in grants(user) {
            let less = mesh_transport_mem::User {
                permissions: without(user, taken),
                ..of_memory(user).unwrap()
            };
            let others = all.iter().filter(|other| other.name != user.name()).cloned();
            mesh.reload(others.chain([less])).unwrap();
            let me = mesh.log_in(user.name()).unwrap();
            let failed = broken(&flows, &me, &stage).await;
            let needed = failed.is_some();
            assert!(needed, "{} does all without {taken:?}, in\n{}", user.name(), world.files);
            count += 1;
        }
        for grant in user.grants().iter().filter(|grant| grant.effect == Effect::Deny) {
            keeps_out(composition, user, &grant.rule);
            count += 1;
        }
    }
    count
}

/// Who has flows of the mesh: a gateway's are its backbone's, below, and `sys` is the server's.
pub fn has_part(user: &User) -> bool {
    user.name() != "sys" && !matches!(user.principal(), Principal::Gateway { .. })
}

/// What is denied could not be told from what is allowed if it were not, or no list can name it.
fn keeps_out(composition: &Composition, user: &User, denied: &Rule) {
    let subject = Subject::new(denied.filter.as_str().replace('*', "mail")).unwrap();
    let may = user.permissions();
    assert!(!may.publish.permits(&subject), "{}: {denied:?}", user.name());
    let Principal::Person { name } = user.principal() else {
        panic!("{} is denied {denied:?}", user.name());
    };
    let open = Rules::allow(may.publish.allowed().iter().cloned());
    let access = composition.mesh().people().find(|(known, _)| *known == name).unwrap().1;
    let is_administrator = *access == mesh_core::manifest::Access::Administrator;
    assert_eq!(open.permits(&subject), is_administrator, "{}: {denied:?}", user.name());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_grant_of_the_example_mesh_is_more_than_it_needs() {
    for mode in [SPLIT_SCOPED, ONE_SCOPED] {
        let count = each_is_needed(&example(mode)).await;
        println!("{count} grants of the example mesh, {}, each needed", mode.name);
        assert!(count > 50, "{count}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_grant_of_a_random_mesh_is_more_than_it_needs() {
    let mut count = 0;
    for mode in [SPLIT_SCOPED, ONE_SCOPED] {
        let mut worlds = Worlds::new(mode);
        for _ in 0..MESHES / 2 {
            count += each_is_needed(&worlds.draw()).await;
        }
    }
    println!("{count} grants of {MESHES} meshes, each needed");
    assert!(count > 100);
}

/// A gateway's flows are its backbone's: what it hears are its own mailboxes and itself, what it writes to its peers'.
#[test]
fn no_grant_of_a_gateway_is_more_than_its_mailboxes_need() {
    let (own, peer) = ("public.ingress.acme%2Ecom", "public.ingress.other%2Eorg");
    let mut worlds = Worlds::new(SPLIT_SCOPED);
    let mut count = 0;
    for _ in 0..MESHES {
        let World { composition, files, .. } = worlds.draw();
        let users = composition.users().iter();
        for user in users.filter(|user| matches!(user.principal(), Principal::Gateway { .. })) {
            let group = grants(user).find_map(|taken| taken.rule.group.as_ref());
            let lacks = |may: &Permissions| {
                let says = |text| may.publish.permits(&Subject::new(text).unwrap());
                let hears =
                    |text, group| may.subscribe.permits_filter(&Filter::new(text).unwrap(), group);
                let done = [
                    says("_INBOX.gateway.g1.echo.1"),
                    says(peer),
                    hears("_INBOX.gateway.g1.>", None),
                    hears(own, group),
                ];
                done.into_iter().filter(|done| !done).count()
            };
            assert_eq!(lacks(&user.permissions()), 0, "in\n{files}");
            for taken in grants(user) {
                assert_eq!(lacks(&without(user, taken)), 1, "without {taken:?}, in\n{files}");
                count += 1;
            }
        }
    }
    assert!(count > 0 && count % 4 == 0, "{count}");
}

/// That the search can fail: a grant that nobody needs is found to be one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_that_nobody_needs_breaks_nothing() {
    let world = Worlds::new(SPLIT_SCOPED).draw();
    let stage = InMemory {
        memory: Memory::raise(&world.composition).await,
        topology: world.composition.topology().clone(),
    };
    let controller = world.composition.user("controller").unwrap();
    let mut more = of_memory(controller).unwrap();
    let needless = Filter::new("mesh.ask.>").unwrap();
    more.permissions.publish = more.permissions.publish.also([needless]);
    let flows = flows::of(&world.composition, controller);
    for permissions in [more.permissions.clone(), controller.permissions()] {
        let user = mesh_transport_mem::User { permissions, ..more.clone() };
        stage.memory.mesh.reload([user]).unwrap();
        let me = stage.memory.mesh.log_in("controller").unwrap();
        assert_eq!(broken(&flows, &me, &stage).await, None);
    }
}
