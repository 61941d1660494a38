//! Every mode, over random meshes: what is tried for real is what `can` says is what the broker in the process says.

use super::answers::answers;
use super::compare::{Tally, compare};
use super::ground::{Memory, Real};
use super::world::{
    Mode, ONE_RESPONSES, ONE_SCOPED, SPLIT_RESPONSES, SPLIT_SCOPED, Worlds, checks,
};

/// How many tries each mesh is good for.
const EACH: usize = 1000;

async fn hold(mode: Mode) {
    let wanted = checks().div_ceil(4);
    let mut worlds = Worlds::new(mode);
    let mut real: Option<Real> = None;
    let mut tally = Tally::default();
    let (mut meshes, mut users) = (0, 0);
    while tally.checks < wanted {
        let world = worlds.draw();
        let real = match &mut real {
            Some(real) => {
                real.reload(&world.composition).await;
                real
            }
            none => none.insert(Real::launch(&world.composition).await),
        };
        let mut memory = Memory::raise(&world.composition).await;
        if let Some(revoked) = &world.revoked {
            let refused = real.log_in(revoked).await.unwrap_err();
            assert!(refused.contains("Authorization Violation"), "{revoked}: {refused}");
            assert!(memory.mesh.log_in(revoked).is_err(), "{revoked}");
        }
        let tries = EACH.min(wanted - tally.checks);
        let mut one = compare(real, &mut memory, &world, worlds.random(), tries).await;
        one.add(answers(real, &mut memory, &world).await);
        assert_eq!(one.differences, [""; 0], "in {}, of\n{}", mode.name, world.files);
        meshes += 1;
        users += world.composition.users().len();
        tally.add(one);
    }
    let Tally { checks, through, brokers_reply, .. } = tally;
    println!(
        "{}: {checks} checks on {meshes} meshes with {users} users, 0 differences; \
         {through} went through, {brokers_reply} had the broker's reply address",
        mode.name
    );
    // A bed in which everything, or nothing, is let through would show nothing.
    assert!(through * 10 > checks && through * 10 < checks * 9, "{through} of {checks}");
    assert!(brokers_reply > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn split_and_scoped() {
    hold(SPLIT_SCOPED).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn split_and_answered_as_asked() {
    hold(SPLIT_RESPONSES).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_account_and_scoped() {
    hold(ONE_SCOPED).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_account_and_answered_as_asked() {
    hold(ONE_RESPONSES).await;
}
