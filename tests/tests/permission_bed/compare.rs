//! The three beside each other.

use mesh_control::compose::User;
use mesh_control::perm::{Act, can};
use rand::rngs::StdRng;

use super::ground::{Memory, Real, Told};
use super::probes::Probes;
use super::world::World;

/// What was compared.
#[derive(Debug, Default)]
pub struct Tally {
    pub checks: usize,
    pub through: usize,
    pub brokers_reply: usize,
    pub differences: Vec<String>,
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        self.checks += other.checks;
        self.through += other.through;
        self.brokers_reply += other.brokers_reply;
        self.differences.extend(other.differences);
    }

    pub fn note(&mut self, what: impl FnOnce() -> String, told: [Told; 3]) {
        let [can, memory, real] = told;
        self.checks += 1;
        self.through += usize::from(real == Told::Through);
        self.brokers_reply += usize::from(real == Told::BrokersReply);
        if can != real || memory != real {
            let what = what();
            self.differences.push(format!(
                "{what}: the server says {real:?}, can says {can:?}, the memory broker {memory:?}"
            ));
        }
    }
}

/// Has everybody of a mesh try what they may and about `tries` things altogether.
pub async fn compare(
    real: &mut Real,
    memory: &mut Memory,
    world: &World,
    random: &mut StdRng,
    tries: usize,
) -> Tally {
    let composition = &world.composition;
    let probes = Probes::of(composition);
    let users: Vec<&User> =
        composition.users().iter().filter(|user| user.name() != "sys").collect();
    let mut tally = Tally::default();
    for user in &users {
        let mut acts = probes.of_own(user, random);
        while acts.len() < tries.div_ceil(users.len()) {
            acts.push(probes.draw(user, random));
        }
        tally.add(of_user(real, memory, world, user, &acts).await);
    }
    tally
}

async fn of_user(
    real: &mut Real,
    memory: &mut Memory,
    world: &World,
    user: &User,
    acts: &[Act],
) -> Tally {
    let said = real.told(user.name(), acts).await;
    let in_memory = memory.told(user.name(), acts).await;
    let mut tally = Tally::default();
    for ((act, real), memory) in acts.iter().zip(said).zip(in_memory) {
        let can = can(&world.composition, user, act).verdict.into();
        tally.note(|| format!("{}: {act}", user.name()), [can, memory, real]);
    }
    tally
}
