//! A realm's leases: the table as it is, behind the three commands, and the feed that it serves.

use std::time::Duration;

use mesh_core::mx::{InternalRequest, MailboxKind, MsgType, MxPath, Profile};
use mesh_core::name::RealmName;
use mesh_federation::lease::{Lease, LeaseAsk, LeaseId, check_source};
use serde::Deserialize;

use crate::letters::{self, path};
use crate::tree::realm;
use crate::world::{Happening, World};

#[derive(Debug, Deserialize)]
struct Wants {
    q: u64,
    source: String,
    sink: String,
    lease: u64,
    /// Whose lease is meant; the asker's own unless told.
    of: Option<String>,
}

/// What the feed of a realm says.
pub(crate) const FEED: &str = "feed.emits.tick";

impl World {
    /// What the facade replies.
    pub(crate) fn federation(
        &mut self,
        node: usize,
        path: &MxPath<'_>,
        request: &InternalRequest<'_>,
    ) -> String {
        let wants: Wants = request.params.to().expect("a lease is wanted");
        let mx = request.mx.as_ref().expect("asked by another realm");
        let (asker, profile) = (mx.from_realm.to_name(), mx.incoming_profile);
        match self.lease(node, path.message(), &wants, &asker, profile) {
            Ok(()) => format!(r#"{{"ok":true,"body":{{"q":{}}}}}"#, wants.q),
            Err(code) => {
                self.count("leases refused");
                format!(r#"{{"error":{{"code":"{code}","message":"no"}}}}"#)
            }
        }
    }

    fn lease(
        &mut self,
        node: usize,
        command: &str,
        wants: &Wants,
        asker: &RealmName,
        profile: Profile,
    ) -> Result<(), &'static str> {
        let clock = self.clock();
        let here = &mut self.nodes[node];
        // The gateway is gone: so is its facade, and nobody hears what is said here.
        let Some(up) = &mut here.up else { return Err("DESK.NO") };
        let (source, sink_path) = (path(&wants.source), path(&wants.sink));
        check_source(&here.realm, &source).map_err(|_bad| "MX.SUB.BAD_SOURCE")?;
        let asked = Duration::from_millis(wants.lease);
        let owner = wants.of.as_deref().unwrap_or(asker.as_str());
        let id = LeaseId::of(&source, owner, &sink_path);
        let lease = match command {
            "subscribe" => {
                let (sink_realm, lease) = (asker.clone(), Some(asked));
                let ask = LeaseAsk { source, sink_realm, sink_path, profile, lease };
                up.leases.grant(&ask, clock).map_err(|_full| "MX.SUB.LIMIT")?
            }
            "refresh" => {
                let known = up.leases.refresh(id, asker, Some(asked), clock);
                known.map_err(|_none| "MX.SUB.NOT_FOUND")?
            }
            _ => {
                up.leases.end(id, asker).map_err(|_none| "MX.SUB.NOT_FOUND")?;
                here.store.remove(&id);
                self.truth.taken_back(&self.nodes[node], id, asker);
                self.count("leases taken back");
                return Ok(());
            }
        };
        if here.durable {
            here.store.insert(lease.id(), lease.clone());
        }
        self.truth.given(&self.nodes[node], &lease, wants.lease, self.now);
        self.count(if command == "refresh" { "leases extended" } else { "leases given" });
        self.wake(node);
        self.feed(node);
        Ok(())
    }

    /// Ends the leases whose time is over, each with a notice.
    pub(crate) fn end_leases(&mut self, node: usize) {
        let clock = self.clock();
        while let Some(lease) = self.nodes[node].up.as_mut().and_then(|up| up.leases.expire(clock))
        {
            self.nodes[node].store.remove(&lease.id());
            self.truth.over(&self.nodes[node], &lease, self.now);
            self.count("leases ended");
            let Lease { sink_realm, sink_path, profile, .. } = lease;
            self.tell(node, &sink_realm, sink_path.as_str(), profile, r#","ended":"expired""#);
        }
    }

    /// Lets the feed speak, if it does not already: while there are leases, and once after that.
    pub(crate) fn feed(&mut self, node: usize) {
        if !std::mem::replace(&mut self.nodes[node].feeding, true) {
            self.after(300, Happening::Tick(node));
        }
    }

    /// The realm's feed says something, and whoever has a lease is told.
    pub(crate) fn tick(&mut self, node: usize) {
        let clock = self.clock();
        self.nodes[node].feeding = false;
        let Some(up) = &self.nodes[node].up else {
            return;
        };
        let mut sinks = Vec::new();
        for sink in up.leases.sinks(&path(FEED), clock) {
            sinks.push((sink.id, realm(sink.realm), sink.path.to_string(), sink.profile));
        }
        if !up.leases.is_empty() {
            self.feed(node);
        }
        for (id, sink, to_path, profile) in sinks {
            self.truth.forwarded(&self.nodes[node], id, &sink, self.now);
            self.count("forwarded");
            self.tell(node, &sink, &to_path, profile, "");
        }
    }

    /// Sends an event to another realm's mailbox.
    pub(crate) fn tell(
        &mut self,
        node: usize,
        to: &RealmName,
        to_path: &str,
        profile: Profile,
        more: &str,
    ) {
        let from = self.nodes[node].realm.clone();
        let token = self.truth.written(&from, to);
        let event = letters::envelope(MsgType::Evt, &from, to, to_path, (token, more));
        let kind = match profile {
            Profile::Legacy => MailboxKind::Legacy,
            Profile::MxEnv1 => MailboxKind::default(),
        };
        self.send(node, &kind.subject(to), &letters::write(profile, &event));
    }
}
