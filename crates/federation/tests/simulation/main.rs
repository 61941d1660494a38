//! Fifty realms in a tree on a virtual clock: gateways, leases, questions and routers as they are, on a
//! network that delays, loses, repeats and divides, with gateways that crash and come back. One thread, and
//! everything follows from a seed.
//!
//! - `MESH_SIM_SEEDS=10000` tries so many seeds, from `MESH_SIM_FROM` on; 300 from 0 unless told.
//! - `MESH_SIM_SEED=17` tries that one and shows what happened.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may fail loudly"
)]

mod acts;
mod facade;
mod faults;
mod gateway;
mod letters;
mod node;
mod plan;
mod promises;
mod router;
mod tree;
mod truth;
mod world;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use world::{Story, World};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The story of a seed; a broken promise fails the test with the command that shows it again.
fn story(seed: u64) -> Story {
    let story = World::new(seed).run();
    if let Some(broken) = story.broken.first() {
        println!("{:#?}", story.counts);
        panic!(
            "seed {seed}: {broken}\nand {} more; again with: \
             MESH_SIM_SEED={seed} cargo test -p mesh-federation --test simulation -- --nocapture",
            story.broken.len() - 1
        );
    }
    story
}

/// What happened in so many seeds together. Worlds share nothing, so several are told at a time.
fn count(from: u64, seeds: u64) -> BTreeMap<&'static str, u64> {
    let (next, all) = (AtomicU64::new(from), Mutex::new(BTreeMap::new()));
    let tell = || {
        while let seed = next.fetch_add(1, Ordering::Relaxed)
            && seed < from + seeds
        {
            for (what, count) in story(seed).counts {
                *all.lock().entry(what).or_default() += count;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(tell);
        }
    });
    all.into_inner()
}

#[test]
fn the_promises_hold_whatever_the_seed() {
    if let Some(seed) = number("MESH_SIM_SEED") {
        let story = story(seed);
        println!("seed {seed}: hash {:016x}, {} happenings", story.hash, story.happenings);
        for (what, count) in story.counts {
            println!("{count:>8} {what}");
        }
        return;
    }
    let (from, seeds) =
        (number("MESH_SIM_FROM").unwrap_or(0), number("MESH_SIM_SEEDS").unwrap_or(300));
    let all = count(from, seeds);
    println!("{seeds} seeds from {from}: {all:#?}");
    // A promise that nothing ever tried to break would hold, too.
    if seeds >= 100 {
        for what in promises::TRIED {
            assert!(all.get(what).is_some_and(|count| *count > 0), "never tried: {what}");
        }
    }
}

#[test]
fn a_seed_tells_the_same_story_each_time() {
    for seed in 0..10 {
        let [one, other] = [World::new(seed).run(), World::new(seed).run()];
        assert_eq!(one, other, "seed {seed}");
        assert_ne!(one.hash, World::new(seed + 1).run().hash);
    }
}
