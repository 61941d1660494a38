//! The bed itself: a server that has a little more, or a little less, than the files say is found.

use mesh_control::compose::{Account, Composition, More, Source, User};
use mesh_core::permissions::{Permissions, Rule, Rules};
use mesh_core::subject::Filter;
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::compare::compare;
use super::ground::{Memory, Real, accounts};
use super::world::World;

const MESH: &str = "nodes = [{ name = 'n1' }]\n\
    assignments = [{ module = 'mail', manifest = 'mail.toml', nodes = ['n1'] },\n\
    { module = 'audit', manifest = 'audit.toml', nodes = ['n1'] }]\n\
    people = [{ name = 'ada', administrator = true }]\n";
const MAIL: &str = "name = 'mail'\nversion = '1'\nemits = ['sent', 'lost']\n\
    [[tools]]\nname = 'send'\ndescription = 'Sends.'\n";
const AUDIT: &str = "name = 'audit'\nversion = '1'\nconsumes = ['mail.>']\ncalls = ['mail.send']\n";

fn world() -> World {
    let source = |file, text| Source { file, text };
    let manifests = [source("mail.toml", MAIL), source("audit.toml", AUDIT)];
    let mesh = source("mesh.toml", MESH);
    let composition = Composition::of(mesh, &manifests, &More::default()).unwrap();
    World { composition, revoked: None, files: String::new() }
}

/// The same rules but those that `which` says.
fn without(rules: &Rules, which: impl Fn(&Rule) -> bool) -> Rules {
    let kept = rules.allowed().iter().filter(|rule| !which(rule)).cloned();
    Rules::allow(kept).except(rules.denied().iter().cloned())
}

/// What a server has in place of what it should.
type Change = Box<dyn Fn(Permissions) -> Permissions>;

/// What is different where one user's permissions on the server are changed.
async fn differences(of: &str, change: impl Fn(Permissions) -> Permissions) -> Vec<String> {
    let world = world();
    let may = world.composition.users().iter().map(|user: &User| {
        let may = user.permissions();
        let changed = if user.name() == of { change(may.clone()) } else { may.clone() };
        assert_eq!(user.name() == of, changed != may, "{of} is changed, and nobody else");
        (user.name(), user.account(), changed)
    });
    let may: Vec<(&str, Account, Permissions)> = may.collect();
    let users = may.iter().map(|(name, account, may)| (*name, *account, may));
    let mut real = Real::with(&accounts(&world.composition, users)).await;
    let mut memory = Memory::raise(&world.composition).await;
    let mut random = StdRng::seed_from_u64(1);
    compare(&mut real, &mut memory, &world, &mut random, 2000).await.differences
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_has_what_the_files_say_shows_no_difference() {
    let world = world();
    let mut real = Real::launch(&world.composition).await;
    let mut memory = Memory::raise(&world.composition).await;
    let mut random = StdRng::seed_from_u64(1);
    let tally = compare(&mut real, &mut memory, &world, &mut random, 2000).await;
    assert_eq!(tally.differences, [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_too_many_or_too_few_on_the_server_is_found() {
    let filter = |text: &str| Filter::new(text).unwrap();
    let published = |text: &'static str| {
        move |may: Permissions| Permissions {
            publish: without(&may.publish, |rule| rule.filter.as_str() == text),
            ..may
        }
    };
    let changes: Vec<(&str, &str, Change)> = vec![
        ("an event less", "mail.n1", Box::new(published("mesh.events.mail.lost"))),
        (
            "all events of its own",
            "mail.n1",
            Box::new(move |may| {
                let wider = may.publish.clone().also([filter("mesh.events.mail.*")]);
                Permissions { publish: wider, ..may }
            }),
        ),
        (
            "an acknowledgement that is a token shorter",
            "audit.n1",
            Box::new(move |may| {
                let wider = may.publish.clone().also([filter("$JS.ACK.EVENTS.n1_audit.>")]);
                Permissions { publish: wider, ..may }
            }),
        ),
        (
            "a tool in any group",
            "mail.n1",
            Box::new(move |may| {
                let tool = |rule: &Rule| rule.filter.as_str() == "mesh.tools.mail.send";
                let plain = [filter("mesh.tools.mail.send")];
                Permissions { subscribe: without(&may.subscribe, tool).also(plain), ..may }
            }),
        ),
        (
            "what is denied to everybody",
            "person.ada",
            Box::new(|may| {
                let publish = Rules::allow(may.publish.allowed().iter().cloned());
                Permissions { publish, ..may }
            }),
        ),
        (
            "another's inbox",
            "host.n1",
            Box::new(move |may| {
                let wider = may.subscribe.clone().also([filter("_INBOX.*.n1.>")]);
                Permissions { subscribe: wider, ..may }
            }),
        ),
    ];
    for (what, user, change) in changes {
        let differences = differences(user, change).await;
        assert!(!differences.is_empty(), "{what}: nothing was found");
        for difference in differences {
            assert!(difference.starts_with(&format!("{user}: ")), "{what}: {difference}");
        }
    }
}
