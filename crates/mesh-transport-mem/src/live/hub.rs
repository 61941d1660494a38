use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use hashbrown::{DefaultHashBuilder, HashTable};
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_core::subject::Subject;
use parking_lot::RwLock;

use super::listener::Listener;
use super::route::Route;
use super::table::{EntryId, Table};
use crate::space::Space;
use crate::stream::Stream;

/// Who listens where.
///
/// A publisher finds the [`Route`] of its subject in one of many shards. Whoever comes or goes
/// begins a new generation, and a route of an older one is worked out again when it is next used.
#[derive(Debug)]
pub(crate) struct Hub {
    table: RwLock<Listening>,
    generation: AtomicU64,
    /// Those of each space, one after the other.
    shards: Box<[RwLock<Shard>]>,
    hasher: DefaultHashBuilder,
    /// Where the next group begins to take turns.
    turn: AtomicUsize,
}

#[derive(Debug)]
struct Listening {
    listeners: Table<Arc<Listener>>,
    streams: Vec<Arc<Stream>>,
}

#[derive(Debug, Default)]
struct Shard {
    generation: u64,
    routes: HashTable<(Subject, Arc<Route>)>,
}

impl Shard {
    fn remember(
        &mut self,
        hash: u64,
        subject: &Subject,
        route: &Arc<Route>,
        hasher: &DefaultHashBuilder,
    ) {
        let place = self.routes.entry(
            hash,
            |(known, _)| known == subject,
            |(known, _)| hasher.hash_one(known),
        );
        place.insert((subject.clone(), Arc::clone(route)));
    }
}

impl Hub {
    const SHARDS: usize = 64;
    /// How many subjects a shard remembers: whoever publishes to ever new subjects fills no memory.
    const ROUTES: usize = 1024;

    pub(crate) fn new(seed: u64) -> Self {
        Self {
            table: RwLock::new(Listening { listeners: Table::new(seed), streams: Vec::new() }),
            generation: AtomicU64::new(1),
            shards: (0..Self::SHARDS * Space::COUNT).map(|_| RwLock::default()).collect(),
            hasher: DefaultHashBuilder::default(),
            turn: AtomicUsize::new(0),
        }
    }

    /// From now on it hears what its filter matches.
    pub(crate) fn add(&self, listener: &Arc<Listener>) -> Result<EntryId, TransportError> {
        let id = self.table.write().listeners.add(&listener.filter, Arc::clone(listener)).map_err(
            |full| {
                TransportError::new(ErrorKind::Broker, Operation::Subscribe)
                    .about(&listener.filter)
                    .caused_by(full)
            },
        )?;
        self.outdate();
        Ok(id)
    }

    /// From now on it hears nothing.
    pub(crate) fn remove(&self, id: EntryId) {
        self.table.write().listeners.remove(id);
        self.outdate();
    }

    /// From now on these streams take their subjects.
    pub(crate) fn set_streams(&self, streams: Vec<Arc<Stream>>) {
        self.table.write().streams = streams;
        self.outdate();
    }

    /// Has every route worked out again, because what somebody may hear has changed.
    pub(crate) fn outdate(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// How many listen.
    pub(crate) fn listeners(&self) -> usize {
        self.table.read().listeners.len()
    }

    /// Who messages of `subject` go to that are sent from `space`.
    pub(crate) fn route(&self, space: Space, subject: &Subject) -> Arc<Route> {
        let hash = self.hasher.hash_one(subject);
        // The table inside a shard goes by the lowest and the highest bits.
        let shard = (hash >> 32) as usize % Self::SHARDS;
        let shard = &self.shards[space.index() * Self::SHARDS + shard];
        let generation = self.generation.load(Ordering::Acquire);
        {
            let shard = shard.read();
            if shard.generation == generation
                && let Some((_, route)) = shard.routes.find(hash, |(known, _)| known == subject)
            {
                return Arc::clone(route);
            }
        }
        let route = Arc::new(self.work_out(space, subject));
        let mut shard = shard.write();
        if shard.generation < generation {
            shard.generation = generation;
            shard.routes.clear();
        }
        if shard.generation == generation {
            if shard.routes.len() >= Self::ROUTES {
                shard.routes.clear();
            }
            shard.remember(hash, subject, &route, &self.hasher);
        }
        route
    }

    /// How many subjects it remembers.
    #[cfg(test)]
    pub(crate) fn remembered(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().routes.len()).sum()
    }

    fn work_out(&self, space: Space, subject: &Subject) -> Route {
        let table = self.table.read();
        let mut streams = table.streams.iter();
        let stream = streams.find(|stream| stream.takes(subject) && space.reaches_streams(subject));
        let mut route = Route { stream: stream.cloned(), ..Route::default() };
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let mut listeners = Vec::new();
        table.listeners.for_each_match(subject, |listener| {
            if !listener.access.hides(subject) && space.reaches(listener.account, subject) {
                listeners.push(listener);
            }
        });
        listeners.sort_unstable_by_key(|listener| listener.number);
        for listener in listeners {
            route.add(listener, turn);
        }
        route
    }
}
