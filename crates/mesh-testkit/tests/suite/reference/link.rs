use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mesh_core::identity::Principal;
use mesh_core::message::{HeaderName, Headers, Message, MessageParts, MessageProblem};
use mesh_core::permissions::Permissions;
use mesh_core::port::{Appended, ErrorKind, Limits, Operation, QueueGroup, TransportError};
use mesh_core::subject::{Filter, Subject};
use parking_lot::Mutex;

use super::Broker;

/// One connection.
#[derive(Debug)]
pub struct Link {
    pub broker: Arc<Broker>,
    pub id: u64,
    pub principal: Principal,
    /// A message that a broken transport has accepted and not sent yet.
    pub held: Mutex<Option<Message>>,
    /// A denial that a broken transport tells to the next call.
    pub owed: Mutex<Option<TransportError>>,
    /// Denials so far.
    denials: AtomicUsize,
    absences: AtomicUsize,
    /// Confirmations that a broken transport matches with whoever comes first.
    pub confirmed: Mutex<VecDeque<Appended>>,
    /// What a broken transport holds during a call.
    stuck: AtomicBool,
}

impl Link {
    pub fn new(broker: Arc<Broker>, principal: Principal, may: Permissions) -> Self {
        let mut state = broker.lock();
        let id = state.id();
        state.principals.insert(id, principal.clone());
        state.rights.insert(id, may);
        drop(state);
        Self::of(broker, id, principal)
    }

    /// A second handle on this connection.
    pub fn again(&self) -> Self {
        Self::of(Arc::clone(&self.broker), self.id, self.principal.clone())
    }

    fn of(broker: Arc<Broker>, id: u64, principal: Principal) -> Self {
        Self {
            broker,
            id,
            principal,
            held: Mutex::default(),
            owed: Mutex::default(),
            denials: AtomicUsize::new(0),
            absences: AtomicUsize::new(0),
            confirmed: Mutex::default(),
            stuck: AtomicBool::new(false),
        }
    }

    /// What it may do now.
    pub fn may(&self) -> Permissions {
        self.broker.lock().rights.get(&self.id).cloned().unwrap_or_default()
    }

    /// A call waits for its broker, and may be given up meanwhile.
    pub async fn under_way(&self) {
        if self.breaks("is stuck once a call was given up") {
            if self.stuck.swap(true, Ordering::Relaxed) {
                std::future::pending::<()>().await;
            }
            tokio::task::yield_now().await;
            self.stuck.store(false, Ordering::Relaxed);
        } else {
            tokio::task::yield_now().await;
        }
    }

    pub fn breaks(&self, rule: &str) -> bool {
        self.broker.breaks(rule)
    }

    pub fn is_closed(&self) -> bool {
        self.broker.lock().closed.contains(&self.id)
    }

    /// Fails on a closed connection; `breach` names the operation that forgets to look.
    pub fn open(&self, operation: Operation, breach: &str) -> Result<(), TransportError> {
        if self.is_closed() && !self.breaks(breach) {
            return Err(TransportError::new(ErrorKind::Closed, operation));
        }
        Ok(())
    }

    /// What is sent of `message`, if anything may be.
    pub fn checked(
        &self,
        message: Message,
        operation: Operation,
    ) -> Result<Message, TransportError> {
        let limits = self.limits();
        assert!(!self.breaks("panics"), "it does panic");
        match message.check(&limits) {
            Err(MessageProblem::RepeatedHeader { .. }) if self.breaks("takes repeated headers") => {
            }
            Err(MessageProblem::BrokerHeader { .. }) if self.breaks("takes broker headers") => {}
            Err(problem) if problem.is_size() && self.breaks("checks no size") => {}
            Err(problem) => {
                let error =
                    TransportError::of_message(problem, operation, message.subject().as_str());
                if self.breaks("sends what it refuses") {
                    self.broker.lock().deliver(&message, self.id);
                }
                if self.breaks("hangs up after a refusal") {
                    self.broker.lock().closed.insert(self.id);
                }
                return Err(error);
            }
            Ok(())
                if message.payload().len() == limits.max_payload
                    && self.breaks("refuses a payload at its limit") =>
            {
                return Err(TransportError::new(ErrorKind::TooLarge, operation));
            }
            Ok(()) => {}
        }
        self.may_publish(&message, operation)?;
        Ok(self.mangled(message))
    }

    fn limits(&self) -> Limits {
        *self.broker.capabilities.limits()
    }

    fn may_publish(&self, message: &Message, operation: Operation) -> Result<(), TransportError> {
        if let Some(denial) = self.owed.lock().take() {
            return Err(denial);
        }
        let subject = message.subject();
        let denied = TransportError::new(ErrorKind::Denied, operation).about(subject.as_str());
        let of_broker = |reply: &Subject| {
            let text = reply.as_str();
            ["$JS.ACK.", "_R_.", "$GR.", "_GR_."].iter().any(|prefix| text.starts_with(prefix))
        };
        if message.reply().is_some_and(of_broker) && !self.breaks("takes any broker reply") {
            return Err(denied);
        }
        if self.may().publish.permits(subject) || self.breaks("permits every publish") {
            return Ok(());
        }
        let denials = self.denials.fetch_add(1, Ordering::Relaxed) + 1;
        if self.breaks("forgets denials when there are many") && denials.is_multiple_of(500) {
            return Ok(());
        }
        if self.breaks("names the first subject in each denial") && denials > 1 {
            return Err(TransportError::new(ErrorKind::Denied, operation).about("test.denied.0"));
        }
        if self.breaks("tells a denial to the next call") {
            *self.owed.lock() = Some(denied);
            return Ok(());
        }
        Err(denied)
    }

    /// Whether it is told that nobody is there.
    pub fn tells_absence(&self) -> bool {
        let absences = self.absences.fetch_add(1, Ordering::Relaxed) + 1;
        let forgets = self.breaks("forgets who is absent when there are many") && absences > 10;
        !forgets && !self.breaks("publishes to nobody")
    }

    pub fn may_subscribe(
        &self,
        filter: &Filter,
        group: Option<&QueueGroup>,
        operation: Operation,
    ) -> Result<(), TransportError> {
        let permitted = self.may().subscribe.permits_filter(filter, group);
        if permitted || self.breaks("permits every subscribe") {
            return Ok(());
        }
        Err(TransportError::new(ErrorKind::Denied, operation).about(filter.as_str()))
    }

    /// What a broken transport makes of a message.
    fn mangled(&self, message: Message) -> Message {
        let mut parts: MessageParts = message.into_parts();
        if self.breaks("forgets headers") {
            parts.headers = Headers::default();
        }
        if self.breaks("forgets the reply address") {
            parts.reply = None;
        }
        if self.breaks("cuts the payload") {
            parts.payload.truncate(255);
        }
        if self.breaks("lower-cases header names") {
            let headers = parts.headers.into_iter();
            let lower = |name: HeaderName| HeaderName::new(name.as_str().to_ascii_lowercase());
            parts.headers = headers.map(|(name, value)| (lower(name).unwrap(), value)).collect();
        }
        parts.into()
    }
}
