//! Where messages go, found out once for each subject, and whether the broker is known to let them through.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lapin::types::ShortString;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_core::subject::Subject;
use mesh_core::topology::{AmqpExchange, AmqpRoute, MeshSubject, StreamName};
use parking_lot::RwLock;
use rustc_hash::FxHashMap;

/// The most of each kind that are remembered. Whoever publishes to more is slower for it.
const MOST: usize = 4096;

/// Where messages go.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) exchange: AmqpExchange,
    pub(crate) key: ShortString,
    /// Whether that no queue takes it is an error.
    pub(crate) mandatory: bool,
    pub(super) persistent: bool,
    /// The stream that takes them, if one does.
    pub(crate) stream: Option<StreamName>,
    /// Whether they are a tool's calls. Its queue has the name of the key.
    is_tool: bool,
    /// Where the broker last let a message through, as [`Passing`] numbers that.
    passed: AtomicU64,
}

impl Route {
    fn of(subject: &Subject) -> Result<Self, String> {
        let AmqpRoute { exchange, key, mandatory, persistent } = AmqpRoute::of(subject);
        let key = ShortString::try_new(key).map_err(|error| error.to_string())?;
        let stream = MeshSubject::stream_of(subject);
        let is_tool = matches!(MeshSubject::parse(subject), Ok(MeshSubject::Tool { .. }));
        Ok(Self { mandatory, persistent, stream, is_tool, ..Self::to(exchange, key) })
    }

    /// To a queue of answers.
    fn of_answers(queue: &Subject) -> Result<Self, String> {
        let key = ShortString::try_new(queue.as_str()).map_err(|error| error.to_string())?;
        Ok(Self::to(AmqpExchange::Rpc, key))
    }

    fn to(exchange: AmqpExchange, key: ShortString) -> Self {
        Self {
            exchange,
            key,
            mandatory: false,
            persistent: false,
            stream: None,
            is_tool: false,
            passed: AtomicU64::new(0),
        }
    }

    /// The queue of the tool that is called there.
    pub(crate) fn tool(&self) -> Option<&ShortString> {
        self.is_tool.then_some(&self.key)
    }

    #[cfg(test)]
    pub(super) fn to_queue(name: &str) -> Self {
        Self::to(AmqpExchange::Default, name.into())
    }
}

/// The routes of a connection.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    subjects: Table,
    answers: Table,
}

type Table = RwLock<FxHashMap<Subject, Arc<Route>>>;

impl Routes {
    /// The route of a subject.
    pub(crate) fn of(
        &self,
        subject: &Subject,
        operation: Operation,
    ) -> Result<Arc<Route>, TransportError> {
        found(&self.subjects, subject, operation, Route::of)
    }

    /// The route to a queue of answers.
    pub(crate) fn of_answers(
        &self,
        queue: &Subject,
        operation: Operation,
    ) -> Result<Arc<Route>, TransportError> {
        found(&self.answers, queue, operation, Route::of_answers)
    }
}

fn found(
    table: &Table,
    subject: &Subject,
    operation: Operation,
    find: impl FnOnce(&Subject) -> Result<Route, String>,
) -> Result<Arc<Route>, TransportError> {
    if let Some(route) = table.read().get(subject) {
        return Ok(Arc::clone(route));
    }
    let route = find(subject).map_err(|error| {
        TransportError::new(ErrorKind::Invalid, operation).about(subject).detail(error)
    })?;
    let mut table = table.write();
    if table.len() >= MOST {
        table.clear();
    }
    Ok(Arc::clone(table.entry(subject.clone()).or_insert_with(|| Arc::new(route))))
}

/// What a session knows of where the broker lets messages through: on each route that has its number.
#[derive(Debug)]
pub(super) struct Passing(AtomicU64);

impl Passing {
    /// Of the session with this number; nothing is known.
    pub(super) const fn new(session: u64) -> Self {
        Self(AtomicU64::new(session << 32 | 1))
    }

    /// Whether the broker is known to let messages through on that route; and since when, for
    /// [`forget`](Self::forget).
    pub(super) fn passes(&self, route: &Route) -> Option<Known> {
        let now = self.0.load(Ordering::Relaxed);
        (route.passed.load(Ordering::Relaxed) == now).then_some(Known(now))
    }

    /// The broker has let a message through.
    pub(super) fn learn(&self, route: &Route) {
        route.passed.store(self.0.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Nothing of what was known then is known any more, of any route. What was learned since stays: of many
    /// messages whose channel was closed the last may hear of it when the first is through already.
    pub(super) fn forget(&self, Known(then): Known) {
        let _ = self.0.compare_exchange(then, then + 1, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// What was known when it was asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known(u64);

#[cfg(test)]
mod tests {
    use super::*;

    fn routes_of(subjects: &[&str]) -> Vec<Arc<Route>> {
        let routes = Routes::default();
        let of = |subject: &&str| routes.of(&Subject::new(*subject).unwrap(), Operation::Append);
        subjects.iter().map(of).collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn a_route_is_found_once_and_says_where_its_messages_go() {
        let routes = routes_of(&["mesh.events.mail.sent", "acme.orders", "mesh.events.mail.sent"]);
        assert!(Arc::ptr_eq(&routes[0], &routes[2]));
        let shown = |route: &Route| (route.exchange.as_str(), route.key.to_string(), route.stream);
        let event = ("mesh.events", "mail.sent".to_owned(), Some(StreamName::Events));
        assert_eq!(shown(&routes[0]), event);
        assert_eq!(shown(&routes[1]), ("mesh.live", "acme.orders".to_owned(), None));
    }

    #[test]
    fn a_session_knows_a_route_until_it_forgets_all_and_the_next_one_knows_none() {
        let routes = routes_of(&["acme.one", "acme.two"]);
        let passing = Passing::new(1);
        passing.learn(&routes[0]);
        let known = passing.passes(&routes[0]).unwrap();
        assert!(passing.passes(&routes[1]).is_none());
        assert!(Passing::new(2).passes(&routes[0]).is_none());
        passing.forget(known);
        assert!(passing.passes(&routes[0]).is_none());
        passing.learn(&routes[0]);
        passing.forget(known);
        assert!(passing.passes(&routes[0]).is_some());
    }

    #[test]
    fn what_is_remembered_has_a_bound() {
        let routes = Routes::default();
        for number in 0..=MOST {
            let subject = Subject::new(format!("acme.{number}")).unwrap();
            routes.of(&subject, Operation::Publish).unwrap();
        }
        assert_eq!(routes.subjects.read().len(), 1);
    }
}
