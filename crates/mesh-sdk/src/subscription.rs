use std::fmt;
use std::sync::Arc;

use mesh_core::subject::{Filter, Subject, SubjectError};

use crate::event::ReceivedEvent;

/// The key of an event, by which those that belong together are told.
pub(crate) type KeyOf = Arc<dyn Fn(&ReceivedEvent) -> String + Send + Sync>;

/// What is subscribed to: a filter over `<module>.<event>`, and how its events are handled. A filter, or
/// text that is one, is a subscription without more.
///
/// ```
/// use mesh_sdk::Subscription;
///
/// let booked = Subscription::new("ledger.>".parse()?).ordered_by(|event| {
///     event.decode::<serde_json::Value>().map_or_else(|_| String::new(), |data| data["account"].to_string())
/// });
/// # Ok::<(), mesh_core::subject::SubjectError>(())
/// ```
#[derive(Clone)]
pub struct Subscription {
    pub(crate) pattern: Filter,
    pub(crate) order: Option<KeyOf>,
}

impl Subscription {
    /// Events that match `pattern`, in any order and side by side.
    #[must_use]
    pub fn new(pattern: Filter) -> Self {
        Self { pattern, order: None }
    }

    /// Events for which `key` says the same are handled one at a time, in the order in which they
    /// arrived; others beside them. One that is to be tried again holds back the later ones of its key
    /// until it is handled or given up. What holds, and what does not, says
    /// [the documentation of this crate](crate#order-by-key).
    ///
    /// `key` is asked once for each event, before its handler runs, on the task that reads: it should be
    /// quick. Where it panics the event is given up.
    #[must_use]
    pub fn ordered_by<K, F>(mut self, key: F) -> Self
    where
        F: Fn(&ReceivedEvent) -> K + Send + Sync + 'static,
        K: ToString,
    {
        self.order = Some(Arc::new(move |event| key(event).to_string()));
        self
    }
}

impl From<Filter> for Subscription {
    fn from(pattern: Filter) -> Self {
        Self::new(pattern)
    }
}

impl From<Subject> for Subscription {
    fn from(subject: Subject) -> Self {
        Self::new(subject.into())
    }
}

impl TryFrom<&str> for Subscription {
    type Error = SubjectError;
    fn try_from(pattern: &str) -> Result<Self, SubjectError> {
        Filter::new(pattern).map(Self::new)
    }
}

impl TryFrom<String> for Subscription {
    type Error = SubjectError;
    fn try_from(pattern: String) -> Result<Self, SubjectError> {
        Filter::new(pattern).map(Self::new)
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("pattern", &self.pattern)
            .field("ordered", &self.order.is_some())
            .finish()
    }
}
