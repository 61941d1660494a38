//! What a broker is built for, as types: a verb that its broker was not built for does not compile.

use std::sync::Arc;

use mesh_core::identity::{Instance, Principal};
use mesh_core::port::{Capability, Connection, Requests, Streams};

use crate::error::BuildError;

/// All that a module can do: [`Events`] and [`Tools`]. What a [`Broker`](crate::Broker) has unless it is
/// built for less.
#[derive(Debug, Clone)]
pub struct Whole {
    events: Events,
    tools: Tools,
}

/// A module's events: `publish` and `subscribe`. They need a transport that keeps what was appended
/// ([`Capability::DurableConsumers`]).
#[derive(Debug, Clone)]
pub struct Events {
    pub(crate) here: Instance,
    pub(crate) streams: Arc<dyn Streams>,
}

/// A module's tools: `handle`, and `request` as with [`Asking`]. They need a transport that carries
/// questions ([`Capability::Requests`]).
#[derive(Debug, Clone)]
pub struct Tools {
    pub(crate) here: Instance,
    pub(crate) asking: Asking,
}

/// The tools of others: `request`. A module has it, a person and the controller; it needs
/// [`Capability::Requests`].
#[derive(Debug, Clone)]
pub struct Asking {
    pub(crate) requests: Arc<dyn Requests>,
}

/// What a [`Broker`](crate::Broker) can be built for: [`Whole`], [`Events`], [`Tools`] or [`Asking`].
///
/// A value of one of them is proof: it is made from a connection that was found to have it, once, when
/// the broker was built.
#[diagnostic::on_unimplemented(
    message = "no broker is built for `{Self}`",
    label = "not what a broker can be built for",
    note = "a broker is built for `Whole`, `Events`, `Tools` or `Asking`"
)]
pub trait Scope: sealed::Sealed + Clone + Send + Sync + 'static {}

/// `S: Has<Events>` is a scope with events, and so on: what a function asks for that takes any broker
/// which can do that much.
///
/// ```
/// use mesh_sdk::{Asking, Broker, Has, RequestError};
///
/// async fn letters<S: Has<Asking>>(broker: &Broker<S>) -> Result<u32, RequestError> {
///     broker.request(("audit", "count"), &()).await
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "this broker has no `{T}`: it was built for `{Self}`",
    label = "needs a broker that has `{T}`",
    note = "`Whole` has all, `Tools` has `Asking` too, `Events` and `Asking` have themselves"
)]
pub trait Has<T: Scope>: Scope {
    #[doc(hidden)]
    fn part(&self) -> &T;
}

mod sealed {
    use super::{BuildError, Connection};

    pub trait Sealed: Sized {
        /// Looks whether a connection has it.
        fn of(connection: &Connection) -> Result<Self, BuildError>;
    }
}

#[diagnostic::do_not_recommend]
impl Scope for Whole {}
#[diagnostic::do_not_recommend]
impl Scope for Events {}
#[diagnostic::do_not_recommend]
impl Scope for Tools {}
#[diagnostic::do_not_recommend]
impl Scope for Asking {}

#[diagnostic::do_not_recommend]
impl<S: Scope> Has<S> for S {
    fn part(&self) -> &S {
        self
    }
}

#[diagnostic::do_not_recommend]
impl Has<Events> for Whole {
    fn part(&self) -> &Events {
        &self.events
    }
}

#[diagnostic::do_not_recommend]
impl Has<Tools> for Whole {
    fn part(&self) -> &Tools {
        &self.tools
    }
}

#[diagnostic::do_not_recommend]
impl Has<Asking> for Whole {
    fn part(&self) -> &Asking {
        &self.tools.asking
    }
}

#[diagnostic::do_not_recommend]
impl Has<Asking> for Tools {
    fn part(&self) -> &Asking {
        &self.asking
    }
}

impl sealed::Sealed for Whole {
    fn of(connection: &Connection) -> Result<Self, BuildError> {
        Ok(Self { events: Events::of(connection)?, tools: Tools::of(connection)? })
    }
}

impl sealed::Sealed for Events {
    fn of(connection: &Connection) -> Result<Self, BuildError> {
        let here = module(connection)?;
        let streams = Capability::DurableConsumers;
        Ok(Self { here, streams: port(connection, streams, connection.streams().ok())? })
    }
}

impl sealed::Sealed for Tools {
    fn of(connection: &Connection) -> Result<Self, BuildError> {
        Ok(Self { here: module(connection)?, asking: Asking::of(connection)? })
    }
}

impl sealed::Sealed for Asking {
    fn of(connection: &Connection) -> Result<Self, BuildError> {
        let principal = connection.principal();
        if !asks(principal) {
            return Err(BuildError::AsksNobody { principal: principal.clone() });
        }
        let requests = Capability::Requests;
        Ok(Self { requests: port(connection, requests, connection.requests().ok())? })
    }
}

/// Whether there is an account of its kind that may call a tool (protocol §4).
pub(crate) fn asks(principal: &Principal) -> bool {
    match principal {
        Principal::Module { .. } | Principal::Person { .. } | Principal::Controller { .. } => true,
        Principal::Host { .. }
        | Principal::Builder { .. }
        | Principal::Enrolment { .. }
        | Principal::Gateway { .. } => false,
    }
}

fn module(connection: &Connection) -> Result<Instance, BuildError> {
    match connection.principal() {
        Principal::Module { node, module } => {
            Ok(Instance { node: node.clone(), module: module.clone() })
        }
        other => Err(BuildError::NotAModule { principal: other.clone() }),
    }
}

/// A port counts where it is there and does what it is for.
fn port<P: ?Sized>(
    connection: &Connection,
    capability: Capability,
    port: Option<&Arc<P>>,
) -> Result<Arc<P>, BuildError> {
    let declared = connection.transport().capabilities().has(capability);
    port.filter(|_| declared).cloned().ok_or(BuildError::Lacking { capability })
}
