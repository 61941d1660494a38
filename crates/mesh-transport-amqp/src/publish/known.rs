use lapin::types::ShortString;
use mesh_core::topology::AmqpExchange;
use parking_lot::RwLock;
use rustc_hash::{FxHashMap, FxHashSet};

/// The most keys that are remembered. Whoever publishes to more is slower for it.
const MOST: usize = 4096;

/// Where the broker has let this session publish.
#[derive(Debug, Default)]
pub(super) struct Known(RwLock<Keys>);

#[derive(Debug, Default)]
struct Keys {
    of: FxHashMap<AmqpExchange, FxHashSet<ShortString>>,
    count: usize,
}

impl Known {
    pub(super) fn has(&self, exchange: AmqpExchange, key: &str) -> bool {
        self.0.read().of.get(&exchange).is_some_and(|keys| keys.contains(key))
    }

    pub(super) fn learn(&self, exchange: AmqpExchange, key: &ShortString) {
        if self.has(exchange, key.as_str()) {
            return;
        }
        let mut keys = self.0.write();
        if keys.count >= MOST {
            *keys = Keys::default();
        }
        if keys.of.entry(exchange).or_default().insert(key.clone()) {
            keys.count += 1;
        }
    }

    pub(super) fn forget_all(&self) {
        *self.0.write() = Keys::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_known_on_its_exchange_until_all_is_forgotten() {
        let known = Known::default();
        known.learn(AmqpExchange::Events, &"a".into());
        assert!(known.has(AmqpExchange::Events, "a"));
        assert!(!known.has(AmqpExchange::Rpc, "a") && !known.has(AmqpExchange::Events, "b"));
        known.forget_all();
        assert!(!known.has(AmqpExchange::Events, "a"));
    }

    #[test]
    fn what_is_remembered_has_a_bound() {
        let known = Known::default();
        for number in 0..=MOST {
            known.learn(AmqpExchange::Live, &number.to_string().into());
        }
        let keys = known.0.read();
        assert_eq!((keys.count, keys.of[&AmqpExchange::Live].len()), (1, 1));
    }
}
