use std::time::Duration;

use mesh_core::message::Message;
use mesh_core::port::{
    Connection, ErrorKind, ReceiveError, SubscribeOptions, Subscription, TransportError,
};
use mesh_core::subject::Filter;
use mesh_core::time::Backoff;

/// How long to wait before a subscription that ended is made anew.
const PAUSES: Backoff = Backoff { min: Duration::from_millis(100), max: Duration::from_secs(10) };

/// A subscription that is made anew when it ends against our will.
#[derive(Debug)]
pub(crate) struct Listening {
    connection: Connection,
    filter: Filter,
    options: SubscribeOptions,
    subscription: Option<Subscription>,
    attempt: u32,
}

/// What a [`Listening`] hears.
#[derive(Debug)]
pub(crate) enum Heard {
    Message(Message),
    /// Messages may have been missed, this many where that is known.
    Gap(Option<u64>),
    /// The subscription ended for this reason, or can't be made anew; it is tried again.
    Away(TransportError),
    /// It is there again.
    Back,
    /// The connection was closed on purpose.
    Closed,
}

impl Listening {
    /// Listens from when this returns.
    pub(crate) async fn open(
        connection: Connection,
        filter: Filter,
        options: SubscribeOptions,
    ) -> Result<Self, TransportError> {
        let subscription =
            connection.transport().subscribe(filter.clone(), options.clone()).await?;
        Ok(Self { connection, filter, options, subscription: Some(subscription), attempt: 0 })
    }

    /// What is heard next. Nothing is missed when this is dropped before it returns.
    pub(crate) async fn next(&mut self) -> Heard {
        let Some(subscription) = &mut self.subscription else {
            self.connection.clock().sleep(PAUSES.longest(self.attempt)).await;
            let filter = self.filter.clone();
            let made = self.connection.transport().subscribe(filter, self.options.clone());
            return match made.await {
                Ok(subscription) => {
                    self.subscription = Some(subscription);
                    Heard::Back
                }
                Err(error) => self.away(error),
            };
        };
        match subscription.next().await {
            Some(Ok(message)) => {
                self.attempt = 0;
                Heard::Message(message)
            }
            Some(Err(ReceiveError::Lagged { lost })) => Heard::Gap(Some(lost)),
            Some(Err(ReceiveError::Interrupted)) => Heard::Gap(None),
            Some(Err(ReceiveError::Ended(error))) => self.away(error),
            // An arrival that can't be represented, say.
            Some(Err(_)) => Heard::Gap(Some(1)),
            None => Heard::Closed,
        }
    }

    fn away(&mut self, error: TransportError) -> Heard {
        self.subscription = None;
        if error.kind() == ErrorKind::Closed {
            return Heard::Closed;
        }
        self.attempt = self.attempt.saturating_add(1);
        Heard::Away(error)
    }
}
