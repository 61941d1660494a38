use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use futures_util::FutureExt as _;
use mesh_core::name::ToolName;
use mesh_core::port::ConnectionState;
use mesh_core::subject::Filter;

use crate::binding::Binding;
use crate::broker::{Broker, Life};
use crate::scope::Scope;

/// How a broker stands at one moment. One that has closed has no subscriptions and no tools.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Health {
    /// The connection, as the transport tells it; nothing where it does not say at once.
    pub connection: Option<ConnectionState>,
    /// Each pattern that was subscribed to. One consumer is read for all, so they stand alike.
    pub subscriptions: BTreeMap<Filter, Binding>,
    /// Each tool that is served.
    pub tools: BTreeMap<ToolName, Binding>,
    /// It was told to close and has not left yet: nothing more is taken, what was begun is finished.
    pub draining: bool,
    /// Calls whose time was over before a handler could run, since the broker was built. Where this
    /// grows, more is asked than its handlers can answer.
    pub expired_calls: u64,
    /// Answers of handlers that did not reach their callers, as far as the transport tells, since the
    /// broker was built: the right to answer was missing, or the connection.
    pub lost_answers: u64,
    /// Events that are held here because no handler is registered for them. Where it stays above none
    /// the manifest consumes more than is subscribed to; the log names the events.
    pub unhandled_events: usize,
    /// Events that are held here until an earlier one of their key is done
    /// ([`Subscription::ordered_by`](crate::Subscription::ordered_by)).
    pub held_back_events: usize,
    /// Runs of handlers, since the broker was built, on events that an earlier run was cut off at: each
    /// was told to its handler ([`ReceivedEvent::interrupted`](crate::ReceivedEvent::interrupted)) and
    /// logged.
    pub interrupted_events: u64,
}

impl Health {
    /// Whether calls can reach the broker now.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.connection.as_ref().is_some_and(ConnectionState::is_connected)
    }

    /// Whether it does all that it was told to: it is connected, every subscription and every tool is
    /// bound, and it is not about to leave.
    #[must_use]
    pub fn is_well(&self) -> bool {
        let mut bindings = self.subscriptions.values().chain(self.tools.values());
        self.is_connected() && !self.draining && bindings.all(Binding::is_bound)
    }
}

impl<S: Scope> Broker<S> {
    /// How it stands now. Nothing is asked of the broker for it, so it can be called as often as one
    /// likes.
    #[must_use]
    pub fn health(&self) -> Health {
        let inner = &self.0;
        let mut states = inner.connection.transport().states();
        let mut subscriptions = BTreeMap::new();
        let (mut unhandled_events, mut held_back_events, mut interrupted_events) = (0, 0, 0);
        if let Some(consuming) = inner.consuming.get() {
            let binding = consuming.line.binding();
            let patterns = consuming.dispatcher.handlers().patterns().into_iter();
            subscriptions.extend(patterns.map(|pattern| (pattern, binding.clone())));
            unhandled_events = consuming.dispatcher.handlers().waiting();
            held_back_events = consuming.dispatcher.held_back().count();
            interrupted_events = consuming.dispatcher.interrupted();
        }
        let serving = inner.serving.lock();
        let tools = serving
            .iter()
            .filter_map(|(tool, line)| Some((tool.clone(), line.as_ref()?.binding())))
            .collect();
        drop(serving);
        Health {
            // The first is the current one, and it is there.
            connection: states.next().now_or_never().flatten(),
            subscriptions,
            tools,
            draining: matches!(*inner.life.lock(), Life::Draining),
            expired_calls: inner.counts.expired.load(Ordering::Relaxed),
            lost_answers: inner.counts.lost.load(Ordering::Relaxed),
            unhandled_events,
            held_back_events,
            interrupted_events,
        }
    }
}
