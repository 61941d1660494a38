//! What `mesh bus status` answers.

use std::fmt;

use mesh_control::genesis::{Alarm, ConsumerReport, DeadLetters, Status as Bus, StreamReport};
use mesh_core::text::Printable;
use serde::Serialize;

use super::super::reach::{Difference, RefusedManifest, Said, Unnamed};
use super::of_files;
use super::server::Server;
use crate::shell::Answer;
use crate::shell::style::{ERROR, FAINT, GOOD, HINT, STRONG, WARNING};

/// The answer, by the keys that `docs/bus.md` lists.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// Whether nothing needs anybody.
    pub(super) good: bool,
    /// What the broker said that it is when it was reached.
    broker: Option<String>,
    server: Server,
    streams: Vec<Stream>,
    consumers: Vec<Consumer>,
    dead_letters: Dead,
    drift: Vec<Difference>,
    strangers: Vec<Unnamed>,
    refused_manifests: Vec<RefusedManifest>,
    /// In milliseconds since 1970.
    epoch: Option<i64>,
    dangers: Vec<&'static str>,
    unseen: Vec<&'static str>,
    alarms: Vec<Told>,
}

#[derive(Debug, Serialize)]
struct Stream {
    stream: String,
    is_there: bool,
    messages: Option<u64>,
    bytes: Option<u64>,
    max_bytes: Option<u64>,
    bytes_percent: Option<u64>,
    consumers: Option<u64>,
    consumers_percent: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Consumer {
    consumer: String,
    is_there: bool,
    /// All that it has yet to settle.
    owed: Option<u64>,
    in_flight: Option<u64>,
    redelivered: Option<u64>,
    is_read: Option<bool>,
}

#[derive(Debug, Serialize)]
struct Dead {
    count: Option<u64>,
    read: Option<u64>,
    new: u64,
    unreadable: u64,
    oldest: Option<String>,
    by: Vec<Alike>,
}

#[derive(Debug, Serialize)]
struct Alike {
    consumer: String,
    reason: &'static str,
    count: u64,
    oldest: String,
}

#[derive(Debug, Serialize)]
struct Told {
    what: String,
    next: String,
}

impl Report {
    pub(super) fn new(said: &Said, bus: Bus, mut server: Server) -> Self {
        let mut alarms = std::mem::take(&mut server.alarms);
        alarms.extend(of_files(said));
        alarms.extend(bus.alarms);
        Self {
            good: alarms.is_empty(),
            broker: bus.broker,
            server,
            streams: bus.streams.iter().map(Stream::from).collect(),
            consumers: bus.consumers.iter().map(Consumer::from).collect(),
            dead_letters: Dead::from(&bus.dead_letters),
            drift: bus.drift.iter().map(Difference::from).collect(),
            strangers: bus.strangers.iter().map(Unnamed::from).collect(),
            refused_manifests: said.refused.clone(),
            epoch: bus.epoch.map(|epoch| epoch.as_millis()),
            dangers: said.dangers(),
            unseen: bus.unseen,
            alarms: alarms.into_iter().map(|Alarm { what, next }| Told { what, next }).collect(),
        }
    }
}

impl From<&StreamReport> for Stream {
    fn from(report: &StreamReport) -> Self {
        let state = report.state;
        Self {
            stream: report.stream.to_string(),
            is_there: report.is_there,
            messages: state.map(|state| state.messages),
            bytes: state.and_then(|state| state.bytes),
            max_bytes: state.and_then(|state| state.max_bytes),
            bytes_percent: report.bytes_percent,
            consumers: state.map(|state| state.consumers),
            consumers_percent: report.consumers_percent,
        }
    }
}

impl From<&ConsumerReport> for Consumer {
    fn from(report: &ConsumerReport) -> Self {
        let state = report.state;
        Self {
            consumer: report.consumer.to_string(),
            is_there: report.is_there,
            owed: state.map(|state| state.owed()),
            in_flight: state.and_then(|state| state.in_flight),
            redelivered: state.and_then(|state| state.redelivered),
            is_read: state.and_then(|state| state.is_read),
        }
    }
}

impl From<&DeadLetters> for Dead {
    fn from(letters: &DeadLetters) -> Self {
        Self {
            count: letters.count,
            read: letters.read,
            new: letters.new,
            unreadable: letters.unreadable,
            oldest: letters.oldest.map(|oldest| oldest.to_string()),
            by: letters
                .by
                .iter()
                .map(|alike| Alike {
                    consumer: alike.consumer.to_string(),
                    reason: alike.reason.as_str(),
                    count: alike.count,
                    oldest: alike.oldest.to_string(),
                })
                .collect(),
        }
    }
}

impl Answer for Report {
    const SCHEMA: &'static str = "mesh.bus.status/1";
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.server(f)?;
        writeln!(f, "{STRONG}streams{STRONG:#}")?;
        self.streams.iter().try_for_each(|stream| stream.fmt(f))?;
        writeln!(f, "{STRONG}consumers{STRONG:#}")?;
        self.consumers.iter().try_for_each(|consumer| consumer.fmt(f))?;
        self.dead_letters.fmt(f)?;
        self.strangers.iter().try_for_each(|stranger| stranger.fmt(f))?;
        for danger in &self.dangers {
            writeln!(f, "{WARNING}danger{WARNING:#}: {danger}")?;
        }
        let unseen = self.server.unseen.iter().map(String::as_str);
        for unseen in unseen.chain(self.unseen.iter().copied()) {
            writeln!(f, "{FAINT}not seen{FAINT:#}: {}", Printable(unseen))?;
        }
        for Told { what, next } in &self.alarms {
            writeln!(f, "{ERROR}alarm{ERROR:#}: {}", Printable(what))?;
            writeln!(f, "  {HINT}hint{HINT:#}: {}", Printable(next))?;
        }
        match self.alarms.len() {
            0 => writeln!(f, "{GOOD}well{GOOD:#}"),
            1 => writeln!(f, "{ERROR}not well{ERROR:#}: 1 alarm"),
            some => writeln!(f, "{ERROR}not well{ERROR:#}: {some} alarms"),
        }
    }
}

impl Report {
    fn server(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Server { name, version, uptime, connections, .. } = &self.server;
        write!(f, "{STRONG}server{STRONG:#} ")?;
        match (name, version, uptime, connections) {
            (Some(name), Some(version), Some(uptime), Some(connections)) => write!(
                f,
                "{}: nats-server {}, up {}, {connections} connections",
                Printable(name),
                Printable(version),
                Printable(uptime),
            )?,
            _ => {
                let broker = self.broker.as_deref().unwrap_or("a broker that says no more");
                write!(f, "{}", Printable(broker))?;
            }
        }
        match &self.server.reload {
            Some(reload) if reload.live => writeln!(f, "; the composed file is live"),
            Some(_) => writeln!(f, "; the composed file is not live"),
            None => writeln!(f),
        }
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stream, messages, bytes, bytes_percent, consumers, .. } = self;
        write!(f, "  {stream}: ")?;
        if !self.is_there {
            return writeln!(f, "{ERROR}missing{ERROR:#}");
        }
        let Some(messages) = messages else {
            return writeln!(f, "there; it can't be counted on this broker");
        };
        write!(f, "{messages} messages")?;
        if let Some(bytes) = bytes {
            write!(f, ", {bytes} bytes")?;
        }
        if let Some(percent) = bytes_percent {
            write!(f, " ({percent} %)")?;
        }
        match consumers {
            Some(consumers) => writeln!(f, ", {consumers} consumers"),
            None => writeln!(f),
        }
    }
}

impl fmt::Display for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { consumer, owed, in_flight, redelivered, is_read, .. } = self;
        write!(f, "  {consumer}: ")?;
        let Some(owed) = owed else {
            return match self.is_there {
                true => writeln!(f, "it can't be looked at on this broker"),
                false => writeln!(f, "{ERROR}missing{ERROR:#}"),
            };
        };
        write!(f, "owes {owed}")?;
        if let Some(in_flight) = in_flight.filter(|some| *some > 0) {
            write!(f, ", {in_flight} of them in flight")?;
        }
        if let Some(redelivered) = redelivered.filter(|some| *some > 0) {
            write!(f, ", {redelivered} delivered more than once")?;
        }
        match is_read {
            Some(false) => writeln!(f, "; nobody reads it"),
            _ => writeln!(f),
        }
    }
}

impl fmt::Display for Dead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(count) = self.count else {
            return writeln!(f, "{STRONG}dead letters{STRONG:#} can't be counted");
        };
        write!(f, "{STRONG}dead letters{STRONG:#} {count}")?;
        if let Some(oldest) = &self.oldest {
            write!(f, ", since {oldest}")?;
        }
        match self.read {
            Some(read) if read < count => writeln!(f, "; of the newest {read}:")?,
            _ => writeln!(f)?,
        }
        for Alike { consumer, reason, count, oldest } in &self.by {
            writeln!(f, "  {consumer}, {reason}: {count}, since {oldest}")?;
        }
        match self.unreadable {
            0 => Ok(()),
            some => writeln!(f, "  {some} that are no letters of a mesh"),
        }
    }
}
