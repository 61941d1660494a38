use mesh_core::message::Message;
use mesh_core::port::{Capability, PublishOptions, ServeOptions, SubscribeOptions};

use super::ears::{Ear, Of};
use super::world::{EXACT, FILTERS, GROUPS, SUBJECTS, TOOLS, module_of};
use super::{CONNECTIONS, Live, LiveStep, Manner};
use crate::differential::seen::{done, outcome};
use crate::fixtures::{filter, group, header, message, subject};
use crate::suite::Failure;

impl Live {
    pub(super) async fn step(&mut self, step: LiveStep) -> Result<String, Failure> {
        let who = |by: u8| usize::from(by) % CONNECTIONS;
        match step {
            LiveStep::Subscribe { by, filter, group } => {
                self.subscribe(who(by), filter, group).await
            }
            LiveStep::Serve { by, tool } => {
                self.serve(who(by), usize::from(tool) % TOOLS.len()).await
            }
            LiveStep::Drop { open } => self.drop_one(open).await,
            LiveStep::Publish { by, to, manner } => self.publish(who(by), to, manner).await,
            LiveStep::Request { by, tool, answering } => {
                self.request(who(by), usize::from(tool) % TOOLS.len(), answering).await
            }
            LiveStep::Close { by } => self.close(who(by)).await,
            LiveStep::Dial { by } => self.dial(who(by)).await,
        }
    }

    fn next_name(&mut self, what: &str) -> String {
        self.opened += 1;
        format!("{what}, number {}", self.opened)
    }

    async fn subscribe(&mut self, by: usize, to: u8, of: Option<u8>) -> Result<String, Failure> {
        let of = of.filter(|_| self.common.has(Capability::QueueGroups));
        let filters: &[&str] =
            if self.common.has(Capability::Wildcards) { &FILTERS } else { &EXACT };
        let to = filters[usize::from(to) % filters.len()];
        let named = of.map(|of| GROUPS[usize::from(of) % GROUPS.len()]);
        let options = SubscribeOptions { group: named.map(group), ..SubscribeOptions::default() };
        let transport = self.connections[by].connection.transport();
        let subscribing = transport.subscribe(filter(to), options);
        let subscribed = self.scene.soon("subscribe", subscribing).await?;
        Ok(outcome(subscribed, |subscription| {
            let name = self.next_name(to);
            let group = named.map(|group| format!("heard of the group {group}"));
            self.ears.push(Ear::new(name, by, Of::Messages { subscription, group }));
            "subscribed".to_owned()
        }))
    }

    async fn serve(&mut self, by: usize, tool: usize) -> Result<String, Failure> {
        if !self.common.has(Capability::Requests) {
            return Ok(String::new());
        }
        // Which of two modules is asked is the broker's choice, and only one may answer.
        let others = |ear: &Ear| ear.serves(tool) && module_of(ear.by) != module_of(by);
        if self.ears.iter().any(others) {
            return Ok(String::new());
        }
        let (place, _) = TOOLS[tool];
        let requests = self.connections[by].connection.requests()?;
        let serving = requests.serve(filter(place), ServeOptions::default());
        let served = self.scene.soon("serve", serving).await?;
        Ok(outcome(served, |calls| {
            let name = self.next_name(place);
            self.ears.push(Ear::new(name, by, Of::Calls { calls, tool }));
            "serves".to_owned()
        }))
    }

    /// Drops one; after a flush it hears nothing.
    async fn drop_one(&mut self, open: u8) -> Result<String, Failure> {
        let there: Vec<_> = (0..self.ears.len())
            .filter(|index| !matches!(self.ears[*index].of, Of::Nothing))
            .collect();
        let Some(chosen) = usize::from(open).checked_rem(there.len()) else {
            return Ok(String::new());
        };
        let ear = &mut self.ears[there[chosen]];
        ear.of = Of::Nothing;
        self.scene.flush(&self.connections[ear.by].connection).await?;
        Ok("dropped".to_owned())
    }

    async fn publish(&mut self, by: usize, to: u8, manner: Manner) -> Result<String, Failure> {
        let require_receiver = matches!(manner, Manner::ToSomebody | Manner::ReplyToSomebody);
        let misses = |capability| !self.common.has(capability);
        if (require_receiver && misses(Capability::ReceiverCheck))
            || (manner == Manner::BrokerReply && misses(Capability::Permissions))
        {
            return Ok(String::new());
        }
        let to = SUBJECTS[usize::from(to) % SUBJECTS.len()];
        let message = self.message(to, manner, by);
        let options = PublishOptions { require_receiver, ..PublishOptions::default() };
        let publishing = self.connections[by].connection.transport().publish(message, options);
        Ok(done(self.scene.soon("publish", publishing).await?))
    }

    fn message(&mut self, to: &str, manner: Manner, by: usize) -> Message {
        self.sent += 1;
        let (name, value) = header("X-Number", &self.sent.to_string());
        let plain = message(to, &format!("message {}", self.sent)).with_header(name, value);
        match manner {
            Manner::Plain | Manner::ToSomebody => plain,
            Manner::Reply | Manner::ReplyToSomebody => plain.with_reply(subject("hall")),
            Manner::BrokerReply => plain.with_reply(subject("$JS.ACK.EVENTS.n1_mail.1.1.1.1.1")),
            Manner::BrokerHeader => {
                let (name, value) = header("Nats-Msg-Id", "forged");
                plain.with_header(name, value)
            }
            Manner::TooMuch => {
                let connection = &self.connections[by].connection;
                let most = connection.transport().capabilities().limits().max_payload;
                Message::new(subject(to), vec![b'x'; most + 1])
            }
        }
    }

    /// Closes a connection; a second time it answers an empty report.
    pub(super) async fn close(&mut self, index: usize) -> Result<String, Failure> {
        let joined = &mut self.connections[index];
        joined.closed = true;
        let report = self.scene.close(&joined.connection).await?;
        Ok(format!("{report:?}"))
    }

    async fn dial(&mut self, index: usize) -> Result<String, Failure> {
        if !self.connections[index].closed {
            return Ok(String::new());
        }
        let connection = self.connect(index).await?;
        self.connections[index] = super::Joined { connection, closed: false };
        Ok("connected".to_owned())
    }
}
