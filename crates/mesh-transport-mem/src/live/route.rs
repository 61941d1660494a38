use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mesh_core::port::QueueGroup;

use super::listener::Listener;
use crate::stream::Stream;

/// Who a subject's messages go to, worked out once until somebody comes or goes.
#[derive(Debug, Default)]
pub(crate) struct Route {
    /// Each hears every message.
    pub(super) plain: Vec<Arc<Listener>>,
    /// One member of each hears a message.
    pub(super) groups: Vec<Group>,
    /// The stream that takes the subject.
    pub(crate) stream: Option<Arc<Stream>>,
}

/// The members of a queue group, whichever filters they listen with.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) name: QueueGroup,
    pub(super) members: Vec<Arc<Listener>>,
    turn: AtomicUsize,
}

impl Route {
    /// `turn` is where a group begins to take turns.
    pub(super) fn add(&mut self, listener: &Arc<Listener>, turn: usize) {
        let listener = Arc::clone(listener);
        let Some(name) = &listener.group else {
            self.plain.push(listener);
            return;
        };
        match self.groups.iter_mut().find(|group| group.name == *name) {
            Some(group) => group.members.push(listener),
            None => self.groups.push(Group {
                name: name.clone(),
                members: vec![listener],
                turn: AtomicUsize::new(turn),
            }),
        }
    }
}

impl Group {
    /// The members, beginning with whose turn it is.
    pub(super) fn in_turn(&self) -> impl Iterator<Item = &Arc<Listener>> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.members.len().max(1);
        let (before, from) = self.members.split_at(turn);
        from.iter().chain(before)
    }
}
