use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

type Told = Arc<dyn Fn(u64) + Send + Sync>;

/// Paths of this realm that others' events come to, and who is told when one of those is not let in.
#[derive(Clone, Default)]
pub(crate) struct Sinks(Arc<Mutex<HashMap<String, Told>>>);

/// One of them. Dropped, nobody is told any more.
pub(crate) struct Sink {
    sinks: Sinks,
    path: String,
}

impl Sinks {
    /// Has `told` called with how many events for `path` are surely missing.
    pub(crate) fn watch(&self, path: &str, told: impl Fn(u64) + Send + Sync + 'static) -> Sink {
        let path = path.to_owned();
        self.0.lock().insert(path.clone(), Arc::new(told));
        Sink { sinks: self.clone(), path }
    }

    pub(crate) fn missed(&self, path: &str, at_least: u64) {
        let told = self.0.lock().get(path).cloned();
        // Others' code: not under the lock.
        if let Some(told) = told {
            told(at_least);
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.sinks.0.lock().remove(&self.path);
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sink").field(&self.path).finish()
    }
}
