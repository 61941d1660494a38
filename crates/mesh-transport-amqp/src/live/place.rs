//! What is listened to, and how a queue for it is come by.

use std::fmt::Write as _;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use lapin::Channel;
use lapin::options::{
    BasicConsumeOptions, QueueBindOptions, QueueDeclareOptions, QueueDeleteOptions,
};
use lapin::types::{FieldTable, ShortString};
use mesh_core::binding::BindingPattern;
use mesh_core::port::{ErrorKind, Operation, QueueGroup, TransportError};
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::{AmqpExchange, AmqpQueue};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::{Spot, unheard};
use crate::error::passive;
use crate::session::Session;

/// What is listened to.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) operation: Operation,
    wanted: Wanted,
    bindings: Vec<(AmqpExchange, BindingPattern)>,
    about: String,
}

/// Which queue it is.
#[derive(Debug, Clone)]
pub(crate) enum Wanted {
    /// One that this connection alone reads, `<kind>.<user>.<random>`; or where it may declare none, the
    /// one that was provisioned.
    Own(Own),
    /// One that is there as long as somebody reads it; or where it may not be declared, the one of that
    /// name that was provisioned, which stays.
    Shared(String),
    /// One that stays, whether anybody reads it or not.
    Lasting(String),
}

/// What a connection alone reads.
#[derive(Debug, Clone)]
pub(crate) enum Own {
    /// What a filter matches: `live.…`.
    Live(Filter),
    /// Its answers: `reply.…`.
    Answers,
}

impl Own {
    const fn kind(&self) -> &'static str {
        match self {
            Self::Live(_) => "live",
            Self::Answers => "reply",
        }
    }

    /// The name of the queue that somebody else declares for it.
    fn provisioned(&self, user: &str) -> String {
        match self {
            Self::Live(filter) => AmqpQueue::of_subscription(user, filter).name,
            Self::Answers => format!("reply.{user}"),
        }
    }
}

impl Wanted {
    /// The queue that a group shares: `live.@<group>.<filter>`, which is nobody's own, since no user has
    /// an `@`. A filter that is too long stands there as its SHA-256.
    pub(crate) fn shared(group: &QueueGroup, filter: &Filter) -> Self {
        let name = format!("live.@{group}.{filter}");
        if name.len() <= 255 {
            return Self::Shared(name);
        }
        let mut name = format!("live.@{group}.");
        for byte in Sha256::digest(filter.as_str()) {
            let _ = write!(name, "{byte:02x}");
        }
        Self::Shared(name)
    }
}

impl Place {
    /// Where `filter` is heard.
    pub(crate) fn of(
        operation: Operation,
        wanted: Wanted,
        filter: &Filter,
    ) -> Result<Self, TransportError> {
        let bindings = AmqpExchange::bindings(filter);
        if bindings.is_empty() {
            return Err(unheard(operation, filter));
        }
        Ok(Self { operation, wanted, bindings, about: filter.to_string() })
    }

    /// Where answers are heard: a queue of its own, under its own name.
    pub(crate) fn of_answers() -> Self {
        Self {
            operation: Operation::Request,
            wanted: Wanted::Own(Own::Answers),
            bindings: Vec::new(),
            about: "its answers".to_owned(),
        }
    }

    /// The exchange of that name, if it is one of the mesh's.
    pub(crate) fn exchange(name: &str) -> Option<AmqpExchange> {
        AmqpExchange::NAMED.into_iter().find(|exchange| exchange.as_str() == name)
    }

    /// Whether a binding of this place lets that through.
    pub(crate) fn hears(&self, exchange: AmqpExchange, key: &Subject) -> bool {
        self.bindings.iter().any(|(from, pattern)| *from == exchange && pattern.matches(key))
    }

    /// Comes by the queue and begins to read it. Whatever is refused closes a channel of its own.
    pub(crate) fn take(&self, session: Arc<Session>, due: Instant) -> BoxFuture<'_, Taken> {
        let taker = Taker { place: self, session, due };
        Box::pin(async move {
            let taken = match &self.wanted {
                Wanted::Own(own) => taker.own(own).await,
                Wanted::Shared(name) | Wanted::Lasting(name) => taker.others(name).await,
            };
            taken.map_err(|error| error.about(&self.about))
        })
    }
}

type Taken = Result<Spot, TransportError>;

struct Taker<'a> {
    place: &'a Place,
    session: Arc<Session>,
    due: Instant,
}

/// How often a queue may be removed between two steps.
const REMOVED: u32 = 8;

impl Taker<'_> {
    async fn own(&self, own: &Own) -> Result<Spot, TransportError> {
        let user = self.session.user.as_str();
        let random = rand::random::<u128>();
        let name = self.name(format!("{}.{user}.{random:032x}", own.kind()))?;
        let options =
            QueueDeclareOptions { exclusive: true, auto_delete: true, ..Default::default() };
        let channel = self.channel().await?;
        if let Err(error) = self.declare(&channel, &name, options).await {
            return match error.kind() {
                ErrorKind::Denied => {
                    let name = self.name(own.provisioned(user))?;
                    self.provisioned(&name, true, error).await
                }
                _ => Err(error),
            };
        }
        let mut bindings = self.place.bindings.clone();
        if bindings.is_empty() {
            let pattern = BindingPattern::new(name.as_str());
            bindings.extend(pattern.ok().map(|pattern| (AmqpExchange::Rpc, pattern)));
        }
        match self.read(channel, &name, &bindings, false).await {
            Ok(spot) => Ok(spot),
            Err(error) => {
                // Without a reader it would stay, and be somebody to whoever publishes there.
                let remove = |channel: Channel| async move {
                    channel.queue_delete(name, QueueDeleteOptions::default()).await
                };
                let _ = self.session.try_out(self.place.operation, self.due, remove).await;
                Err(error)
            }
        }
    }

    /// The queue that somebody else declared and bound for this account, or for a group. Others must not
    /// read it too where it is `exclusive`.
    async fn provisioned(
        &self,
        name: &ShortString,
        exclusive: bool,
        refused: TransportError,
    ) -> Result<Spot, TransportError> {
        if !self.is_there(name).await? {
            let detail =
                format!("this account may declare no queue, and {name} is not provisioned");
            return Err(TransportError::new(ErrorKind::Denied, self.place.operation)
                .detail(detail)
                .caused_by(refused));
        }
        self.read(self.channel().await?, name, &[], exclusive).await
    }

    /// One that others read too. If it was removed between two steps, they are taken again.
    async fn others(&self, name: &str) -> Result<Spot, TransportError> {
        let name = self.name(name.to_owned())?;
        let mut removed = 0;
        loop {
            let taken = match &self.place.wanted {
                Wanted::Lasting(_) => self.lasting(&name).await,
                _ => self.shared(&name).await,
            };
            match taken {
                Err(error) if error.kind() == ErrorKind::NotFound && removed < REMOVED => {
                    removed += 1;
                }
                taken => return taken,
            }
        }
    }

    async fn shared(&self, name: &ShortString) -> Result<Spot, TransportError> {
        let options = QueueDeclareOptions { auto_delete: true, ..Default::default() };
        let channel = self.channel().await?;
        match self.declare(&channel, name, options).await {
            Ok(()) => self.read(channel, name, &self.place.bindings, false).await,
            Err(error) if error.kind() == ErrorKind::Denied => {
                self.provisioned(name, false, error).await
            }
            Err(error) => Err(error),
        }
    }

    async fn lasting(&self, name: &ShortString) -> Result<Spot, TransportError> {
        if self.is_there(name).await? {
            self.bind_where_allowed(name).await?;
            return self.read(self.channel().await?, name, &[], false).await;
        }
        let channel = self.channel().await?;
        if let Err(error) = self.declare(&channel, name, QueueDeclareOptions::durable()).await {
            return Err(match error.kind() {
                ErrorKind::Denied => self.denied(name, error),
                _ => error,
            });
        }
        self.read(channel, name, &self.place.bindings, false).await
    }

    /// Whoever declared it has bound it, unless that was cut short. Without the right to bind it is as it
    /// was provisioned.
    async fn bind_where_allowed(&self, name: &ShortString) -> Result<(), TransportError> {
        let (name, bindings) = (name.clone(), self.place.bindings.clone());
        let binding = |channel: Channel| async move { bind(&channel, &name, &bindings).await };
        match self.session.try_out(self.place.operation, self.due, binding).await {
            Err(error) if error.kind() == ErrorKind::Denied => Ok(()),
            bound => bound,
        }
    }

    fn denied(&self, name: &ShortString, refused: TransportError) -> TransportError {
        TransportError::new(ErrorKind::Denied, self.place.operation)
            .detail(format!("{name} is not provisioned, and this account may not declare it"))
            .caused_by(refused)
    }

    async fn is_there(&self, name: &ShortString) -> Result<bool, TransportError> {
        let name = name.clone();
        let looking = |channel: Channel| async move {
            channel.queue_declare(name, passive(), FieldTable::default()).await
        };
        match self.session.try_out(self.place.operation, self.due, looking).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn declare(
        &self,
        channel: &Channel,
        name: &ShortString,
        options: QueueDeclareOptions,
    ) -> Result<(), TransportError> {
        let declaring = channel.queue_declare(name.clone(), options, FieldTable::default());
        self.session.answered(self.place.operation, self.due, declaring).await.map(drop)
    }

    /// Binds the queue and reads it.
    async fn read(
        &self,
        channel: Channel,
        name: &ShortString,
        bindings: &[(AmqpExchange, BindingPattern)],
        exclusive: bool,
    ) -> Result<Spot, TransportError> {
        let options = BasicConsumeOptions { no_ack: true, exclusive, ..Default::default() };
        let reading = async {
            bind(&channel, name, bindings).await?;
            let (name, arguments) = (name.clone(), FieldTable::default());
            channel.basic_consume(name, ShortString::default(), options, arguments).await
        };
        let consumer = self.session.answered(self.place.operation, self.due, reading).await?;
        let session = Arc::clone(&self.session);
        Ok(Spot { session, channel, consumer, queue: name.clone() })
    }

    async fn channel(&self) -> Result<Channel, TransportError> {
        self.session.reading_channel(self.place.operation, self.due).await
    }

    fn name(&self, name: String) -> Result<ShortString, TransportError> {
        ShortString::try_new(name).map_err(|error| {
            TransportError::new(ErrorKind::Invalid, self.place.operation)
                .detail(format!("its queue's name is too long: {error}"))
        })
    }
}

async fn bind(
    channel: &Channel,
    name: &ShortString,
    bindings: &[(AmqpExchange, BindingPattern)],
) -> lapin::Result<()> {
    for (exchange, pattern) in bindings {
        let (options, arguments) = (QueueBindOptions::default(), FieldTable::default());
        let pattern = ShortString::from(pattern.as_str());
        let exchange = exchange.as_str().into();
        channel.queue_bind(name.clone(), exchange, pattern, options, arguments).await?;
    }
    Ok(())
}
