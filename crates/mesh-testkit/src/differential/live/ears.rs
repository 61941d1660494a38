use std::collections::BTreeMap;

use mesh_core::message::Message;
use mesh_core::port::{Call, Calls, ReceiveError, Subscription};

use crate::differential::seen::{Seen, arrived, masked, told};
use crate::suite::scene::text;

/// A subscription or a service, and what it heard.
pub(super) struct Ear {
    name: String,
    /// Whose it is.
    pub(super) by: usize,
    pub(super) of: Of,
    /// In order; what a member of a group hears is the group's.
    heard: Vec<String>,
    words: Vec<String>,
}

pub(super) enum Of {
    Messages {
        subscription: Subscription,
        group: Option<String>,
    },
    Calls {
        calls: Calls,
        tool: usize,
    },
    /// It is over.
    Nothing,
}

impl Ear {
    pub(super) fn new(name: String, by: usize, of: Of) -> Self {
        Self { name, by, of, heard: Vec::new(), words: Vec::new() }
    }

    /// Whether it is none of a group, so that what it hears in which order is its own.
    pub(super) fn is_alone(&self) -> bool {
        !matches!(self.of, Of::Messages { group: Some(_), .. })
    }

    /// Whether it serves that tool.
    pub(super) fn serves(&self, tool: usize) -> bool {
        matches!(self.of, Of::Calls { tool: its, .. } if its == tool)
    }

    /// The calls it serves.
    pub(super) fn calls(&mut self) -> Option<&mut Calls> {
        match &mut self.of {
            Of::Calls { calls, .. } => Some(calls),
            Of::Messages { .. } | Of::Nothing => None,
        }
    }

    /// Hears all that has come; what a group hears goes to `shared`.
    pub(super) fn listen(&mut self, shared: &mut BTreeMap<String, Vec<String>>) {
        let items: Vec<Option<Result<String, ReceiveError>>> = match &mut self.of {
            Of::Messages { subscription, .. } => {
                let items = arrived(subscription).into_iter();
                items.map(|item| Some(item?.map(|message| describe(&message)))).collect()
            }
            Of::Calls { calls, .. } => {
                let items = arrived(calls).into_iter();
                items.map(|item| Some(item?.map(|call| unasked(&call)))).collect()
            }
            Of::Nothing => Vec::new(),
        };
        for item in items {
            match (item, &self.of) {
                (Some(Ok(heard)), Of::Messages { group: Some(group), .. }) => {
                    shared.entry(group.clone()).or_default().push(heard);
                }
                (Some(Ok(heard)), _) => self.heard.push(heard),
                (Some(Err(word)), _) => {
                    self.words.push(told(&word));
                    if word.is_terminal() {
                        self.of = Of::Nothing;
                    }
                }
                (None, _) => {
                    self.words.push("closed".to_owned());
                    self.of = Of::Nothing;
                }
            }
        }
    }

    pub(super) fn show(&self, seen: &mut Seen) {
        seen.list(format_args!("heard of {}", self.name), &self.heard);
        seen.list(format_args!("told of {}", self.name), &self.words);
    }
}

/// A message as it arrives.
pub(super) fn describe(message: &Message) -> String {
    let mut headers: Vec<_> = message.headers().iter().collect();
    headers.sort_unstable();
    let reply = message.reply().map(|reply| format!(", reply to {}", masked(reply.as_str())));
    let (subject, reply) = (masked(message.subject().as_str()), reply.unwrap_or_default());
    format!("{subject} {:?} {headers:?}{reply}", text(message))
}

fn unasked(call: &Call) -> String {
    format!("a call that nobody made: {}", describe(call.message()))
}
