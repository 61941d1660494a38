mod limits;
mod marks;
mod pool;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use self::marks::{Claim, Marks, NoMark};
use self::pool::Pool;
use super::keyed::{HashSecret, MarkKey};
use super::{Guard, Inbound, Now, Refusal, ReplayId, Reservation, Stage, Verdict};

pub use limits::ReplayLimits;

/// Drops what has come before (protocol §8). The key of a message is the realm it says it comes
/// from and its `msgId`, else its `correlationId`.
///
/// - A message is marked when it is checked. If a later guard refuses it, the mark is released, so
///   that a sender may try again after a Nack.
/// - Marks are never evicted: a mark goes when its lifetime is over, or is released. Where a realm
///   or the pool is full, *new* ids are refused and counted, so that no flood re-opens an old one.
/// - A realm's name is a claim, and an attacker invents as many as it likes. All of them share one
///   pool, so memory stays bounded; realms that are [listed](ReplayLimits::listed) have shares of
///   their own, which invented ones can't fill. Who *claims* to be a listed realm can fill its
///   share: only a security guard before this one keeps that out.
/// - An id over [`max_id_bytes`](ReplayLimits::max_id_bytes) is refused, and so is a message
///   without an id.
/// - A mark is a keyed 128-bit hash, not the text: with `n` marks held, a new id is taken for an
///   old one with probability `n / 2¹²⁸`, and without the secret nobody can bring that about.
///   Realms are counted by 64 bits: two share a count with probability `1 / 2⁶⁴`.
/// - A reply without `msgId` is marked by its `correlationId` in a space of its own: we chose that
///   id, and the realm may have chosen the same one for a request.
/// - An answer that is [awaited](Inbound::awaited) takes no mark: it is taken once without one.
/// - It knows nothing older than a lifetime: a message that is held back for longer passes, unless
///   its `ttlMs` ends earlier.
pub struct Replay {
    secret: HashSecret,
    limits: ReplayLimits,
    lifetime: u64,
    shards: Box<[Mutex<Marks>]>,
    pool: Pool,
    /// When all shards were last reclaimed because the pool was full.
    swept_at: AtomicU64,
    refused: Counts,
}

/// What a [`Replay`] holds and has refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplayUsage {
    /// Marks held.
    pub marks: usize,
    /// Realms that hold marks.
    pub realms: usize,
    /// Bytes that the tables take.
    pub bytes: usize,
    /// Refused: seen before.
    pub replayed: u64,
    /// Refused: its realm holds as many marks as it may.
    pub realm_full: u64,
    /// Refused: the realms that are not listed hold as many marks as they may.
    pub pool_full: u64,
    /// Refused: an id that is too long.
    pub id_too_long: u64,
    /// Refused: no id.
    pub no_id: u64,
}

#[derive(Debug, Default)]
struct Counts {
    replayed: AtomicU64,
    realm_full: AtomicU64,
    pool_full: AtomicU64,
    id_too_long: AtomicU64,
    no_id: AtomicU64,
}

const SHARDS: usize = 16;

impl Replay {
    /// Remembers within these limits.
    #[must_use]
    pub fn new(limits: ReplayLimits, secret: HashSecret) -> Self {
        let replay = Self {
            lifetime: u64::try_from(limits.lifetime.as_nanos()).unwrap_or(u64::MAX),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            pool: Pool::new(limits.pool),
            swept_at: AtomicU64::new(0),
            refused: Counts::default(),
            secret,
            limits,
        };
        for realm in &replay.limits.listed {
            let realm = replay.secret.realm(realm.as_str());
            replay.shard(realm).lock().list(realm);
        }
        replay
    }

    /// What it holds now, and what it has refused so far.
    #[must_use]
    pub fn usage(&self) -> ReplayUsage {
        let (mut marks, mut realms, mut bytes) = (0, 0, 0);
        for shard in &self.shards {
            let shard = shard.lock();
            let (held, holding) = shard.len();
            marks += held;
            realms += holding;
            bytes += shard.bytes();
        }
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ReplayUsage {
            marks,
            realms,
            bytes,
            replayed: count(&self.refused.replayed),
            realm_full: count(&self.refused.realm_full),
            pool_full: count(&self.refused.pool_full),
            id_too_long: count(&self.refused.id_too_long),
            no_id: count(&self.refused.no_id),
        }
    }

    fn shard(&self, realm: u64) -> &Mutex<Marks> {
        // The table of a shard uses the low and the high bits.
        &self.shards[(realm >> 32) as usize % SHARDS]
    }

    fn reserve(&self, claim: Claim) -> Result<u64, NoMark> {
        let shard = self.shard(claim.realm);
        let first = shard.lock().reserve(claim, &self.pool);
        if first != Err(NoMark::PoolFull) || !self.is_sweep_due(claim.now) {
            return first;
        }
        // Expired marks of other shards may hold the places. No lock is held meanwhile.
        self.reclaim_at(claim.now);
        shard.lock().reserve(claim, &self.pool)
    }

    /// Whether this caller is to reclaim all shards: one caller a millisecond, so that a flood
    /// against a full pool does not take every lock each time.
    fn is_sweep_due(&self, now: u64) -> bool {
        const PAUSE: u64 = 1_000_000;
        let last = self.swept_at.load(Ordering::Relaxed);
        now.saturating_sub(last) >= PAUSE
            && self
                .swept_at
                .compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    fn reclaim_at(&self, now: u64) -> usize {
        self.shards.iter().map(|shard| shard.lock().reclaim(now, &self.pool)).sum()
    }

    /// The realm and the key of a message that has a usable id.
    fn key(&self, inbound: &Inbound<'_>) -> Result<(u64, MarkKey), (&AtomicU64, &'static str)> {
        let (space, id) = match inbound.replay_id() {
            Some(ReplayId::Message(id)) => (0, id),
            Some(ReplayId::Answer(id)) => (1, id),
            None => return Err((&self.refused.no_id, "no id")),
        };
        if id.len() > self.limits.max_id_bytes {
            return Err((&self.refused.id_too_long, "the id is too long"));
        }
        // No realm has an empty name: what names none is counted as one realm.
        let realm = inbound.from_realm.unwrap_or("");
        Ok((self.secret.realm(realm), self.secret.mark(space, realm, id)))
    }
}

impl Guard for Replay {
    fn name(&self) -> &'static str {
        "replay"
    }

    fn stage(&self) -> Stage {
        Stage::Replay
    }

    fn check(&self, inbound: &Inbound<'_>, now: Now) -> Verdict {
        if inbound.awaited {
            return Verdict::Pass;
        }
        let found = self.key(inbound).and_then(|(realm, key)| {
            self.reserve(Claim {
                key,
                realm,
                now: now.nanos(),
                lifetime: self.lifetime,
                per_realm: self.limits.per_realm,
            })
            .map_err(|why| match why {
                NoMark::Replayed => (&self.refused.replayed, "seen before"),
                NoMark::RealmFull => (&self.refused.realm_full, "too many ids of this realm"),
                NoMark::PoolFull => (&self.refused.pool_full, "too many ids of all realms"),
            })
        });
        match found {
            Ok(number) => Verdict::Reserved(Reservation::new(number)),
            Err((counter, reason)) => {
                counter.fetch_add(1, Ordering::Relaxed);
                Verdict::Refuse(Refusal::silent(reason))
            }
        }
    }

    fn release(&self, inbound: &Inbound<'_>, reservation: Reservation) {
        if let Ok((realm, key)) = self.key(inbound) {
            let mut shard = self.shard(realm).lock();
            shard.release(key, reservation.id(), &self.pool);
        }
    }

    fn reclaim(&self, now: Now) -> usize {
        self.reclaim_at(now.nanos())
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        let usage = self.usage();
        vec![
            ("marks", usage.marks as u64),
            ("realms", usage.realms as u64),
            ("bytes", usage.bytes as u64),
            ("replayed", usage.replayed),
            ("realm_full", usage.realm_full),
            ("pool_full", usage.pool_full),
            ("id_too_long", usage.id_too_long),
            ("no_id", usage.no_id),
        ]
    }
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay")
            .field("limits", &self.limits)
            .field("usage", &self.usage())
            .finish_non_exhaustive()
    }
}
