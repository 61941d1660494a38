use mesh_core::message::{Message, PublishId};
use mesh_core::port::{
    AppendOptions, Appended, Capability, Connection, Position, PublishOptions, Stored,
};
use mesh_core::topology::StreamName;

use super::desk::{Desk, whole};
use super::{Durable, Last, Place};
use crate::differential::seen::{done, outcome};
use crate::fixtures::header;
use crate::suite::Failure;

impl Durable {
    /// Whose it is to append there.
    fn writer(&self, to: Place) -> &Connection {
        match to {
            Place::Sold | Place::Left | Place::Nowhere => &self.shop,
            Place::Report => &self.host,
            Place::Replay | Place::Declare => &self.controller,
        }
    }

    fn message(&mut self, to: Place) -> (Message, String) {
        self.appended += 1;
        let body = format!("message {}", self.appended);
        let (name, value) = header("x-event-id", &format!("e-{}", self.appended));
        (Message::new(to.subject(), body.clone()).with_header(name, value), body)
    }

    pub(super) async fn append(
        &mut self,
        to: Place,
        id: Option<u8>,
        last: Option<Last>,
        clerk: bool,
    ) -> Result<String, Failure> {
        if to == Place::Declare && !self.common.has(Capability::NewestPerSubject) {
            return Ok(String::new());
        }
        let (message, body) = self.message(to);
        let known = self.last.get(&to).copied().unwrap_or(0);
        let name = id.map(|id| (to.stream(), id));
        // Which of the two is told, a known id or another last sequence, is the broker's choice.
        let last = last.filter(|_| name.is_none_or(|name| !self.ids.contains(&name)));
        let options = AppendOptions {
            id: id.map(|id| PublishId::new(format!("id-{id}"))).transpose()?,
            expected_last: last.map(|last| match last {
                Last::Known => known,
                Last::Zero => 0,
                Last::Wrong => known + 1000,
            }),
            ..AppendOptions::default()
        };
        let connection = if clerk { self.clerk.as_ref() } else { Some(self.writer(to)) };
        let Some(connection) = connection else { return Ok(String::new()) };
        let appending = connection.streams()?.append(message, options);
        let appended = self.scene.soon("append", appending).await?;
        if let Ok(Appended { sequence, duplicate: false, .. }) = appended {
            self.last.insert(to, sequence.unwrap_or(0));
            self.stored.insert(body);
            self.ids.extend(name);
            if to == Place::Declare {
                let nodes = |desk: &&mut Desk| desk.spec.reference.stream == StreamName::Nodes;
                self.desks.iter_mut().filter(nodes).for_each(Desk::replaced);
            }
        }
        Ok(outcome(appended, |Appended { stream, sequence, duplicate }| {
            format!("{stream} {sequence:?}{}", if duplicate { ", known already" } else { "" })
        }))
    }

    /// Appends what no transport takes.
    pub(super) async fn append_refused(&mut self, forged: bool) -> Result<String, Failure> {
        let (message, _) = self.message(Place::Sold);
        let message = if forged {
            let (name, value) = header("Nats-Msg-Id", "forged");
            message.with_header(name, value)
        } else {
            let most = self.shop.transport().capabilities().limits().max_payload;
            Message::new(message.subject().clone(), vec![b'x'; most + 1])
        };
        let appending = self.shop.streams()?.append(message, AppendOptions::default());
        Ok(done(self.scene.soon("append", appending).await?))
    }

    pub(super) async fn publish(&mut self, to: Place) -> Result<String, Failure> {
        let (message, body) = self.message(to);
        let connection = self.writer(to);
        let publishing = connection.transport().publish(message, PublishOptions::default());
        let published = self.scene.soon("publish", publishing).await?;
        if published.is_ok() {
            self.stored.insert(body);
        }
        Ok(done(published))
    }

    pub(super) async fn read(&self, from: Place, sequence: Option<u8>) -> Result<String, Failure> {
        let Some(stream) = from.stream() else { return Ok(String::new()) };
        let position = match sequence {
            Some(sequence) => Position::Sequence(u64::from(sequence % 10)),
            None => Position::LastOf(from.subject()),
        };
        let reading = self.administration()?.read(stream, position);
        let stored = self.scene.soon("read", reading).await?;
        Ok(outcome(stored, |stored| match stored {
            Some(Stored { sequence, message, .. }) => format!("{sequence}: {}", whole(&message)),
            None => "nothing".to_owned(),
        }))
    }
}
