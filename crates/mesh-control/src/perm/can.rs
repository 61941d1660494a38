//! Whether somebody may, why, and what comes of it.

use mesh_core::identity::{Principal, Responder};
use mesh_core::name::ConsumerName;
use mesh_core::permissions::{Effect, Permissions, Side, Verdict};
use mesh_core::port::QueueGroup;
use mesh_core::provision::is_reserved_tool;
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::{ConsumerRef, DeliverySubject, MeshSubject, ReplyAddress, StreamName};

use super::{Act, Note, reach};
use crate::compose::{Composition, Grant, User};

/// What a broker says to somebody who tries something, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision<'c> {
    /// What it says.
    pub verdict: Verdict,
    /// The grants that allow it, or those that deny it. None where nothing allows it, and where the reply address
    /// alone is refused.
    pub why: Vec<&'c Grant>,
    /// What else there is to know.
    pub notes: Vec<Note>,
}

impl Decision<'_> {
    /// Whether it goes through.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.verdict.is_allowed()
    }
}

/// Whether `user` may do that: what a nats-server says that has the composed file, and the broker in the process.
/// It follows from the files alone, so neither server nor secrets are needed.
///
/// ```
/// use mesh_control::compose::{Composition, More, Source};
/// use mesh_control::perm::{Act, can};
///
/// let file = Source {
///     file: "mesh.toml",
///     text: "nodes = [{ name = 'n1' }]\n\
///            assignments = [{ module = 'mail', manifest = 'mail.toml', nodes = ['n1'] }]",
/// };
/// let mail = Source { file: "mail.toml", text: "name = 'mail'\nversion = '1'\nemits = ['sent']" };
/// let mesh = Composition::of(file, &[mail], &More::default())?;
/// let mail = mesh.user("mail.n1").ok_or("no such user")?;
///
/// let emits = can(&mesh, mail, &Act::publish("mesh.events.mail.sent", None)?);
/// assert!(emits.is_allowed());
/// assert_eq!(emits.why[0].because.to_string(), "mail.toml:3:10: emits[0]");
/// assert!(!can(&mesh, mail, &Act::publish("mesh.events.mail.lost", None)?).is_allowed());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn can<'c>(mesh: &'c Composition, user: &'c User, act: &Act) -> Decision<'c> {
    let may = user.permissions();
    let verdict = match act {
        Act::Publish { subject, reply } => may.on_publish(subject, reply.as_ref()),
        Act::Subscribe { filter, group } => may.on_subscribe(filter, group.as_ref()),
    };
    let mut notes = Vec::new();
    match act {
        Act::Publish { subject, reply } => {
            of_publish(mesh, user, &may, (subject, reply.as_ref()), verdict, &mut notes);
        }
        Act::Subscribe { filter, group } => {
            of_subscribe(mesh, user, &may, (filter, group.as_ref()), verdict, &mut notes);
        }
    }
    Decision { verdict, why: why(user, act, verdict), notes }
}

/// The grants of a user that decide.
fn why<'c>(user: &'c User, act: &Act, verdict: Verdict) -> Vec<&'c Grant> {
    let effect = match verdict {
        Verdict::Allowed => Effect::Allow,
        Verdict::Denied => Effect::Deny,
        Verdict::NotAllowed | Verdict::BrokersReply => return Vec::new(),
    };
    let decides = |grant: &&Grant| {
        grant.effect == effect
            && match act {
                Act::Publish { subject, .. } => {
                    grant.side == Side::Publish && grant.rule.filter.matches(subject)
                }
                Act::Subscribe { filter, group } => {
                    let named = &grant.rule.group;
                    grant.side == Side::Subscribe
                        && grant.rule.holds_for(filter)
                        && (named.is_none() || named == group)
                }
            }
    };
    user.grants().iter().filter(decides).collect()
}

fn of_publish(
    mesh: &Composition,
    user: &User,
    may: &Permissions,
    (subject, reply): (&Subject, Option<&Subject>),
    verdict: Verdict,
    notes: &mut Vec<Note>,
) {
    if let (false, Some(budget)) = (verdict.is_allowed(), may.responses) {
        notes.push(Note::MayAnswer(budget));
    }
    match verdict {
        Verdict::Allowed => {
            notes.push(Note::Reaches(reach::of(mesh, user, subject)));
            notes.extend(about_reply(may, subject, reply));
        }
        Verdict::NotAllowed => notes.extend(missing_to_publish(mesh, user, subject)),
        Verdict::Denied | Verdict::BrokersReply => {}
    }
}

/// What comes of a reply address that the server lets through unchecked.
fn about_reply(may: &Permissions, subject: &Subject, reply: Option<&Subject>) -> Vec<Note> {
    let mut notes = Vec::new();
    let responder = match MeshSubject::parse(subject) {
        Ok(MeshSubject::Tool { module, .. }) => Some(Responder::Module(module)),
        Ok(MeshSubject::Ask { .. }) => Some(Responder::Controller),
        _ => None,
    };
    match (responder, reply) {
        (Some(_), None) => notes.push(Note::NoReply),
        (Some(responder), Some(reply)) => {
            let checked = ReplyAddress::check(subject, reply, &responder);
            notes.extend(checked.err().map(Note::NotAnswered));
        }
        (None, _) => {}
    }
    if let Some(reply) = reply.filter(|reply| !may.subscribe.hears(reply)) {
        notes.push(Note::ReplyUnheard(reply.clone()));
    }
    notes
}

/// What a manifest would have to say for this.
fn missing_to_publish(mesh: &Composition, user: &User, subject: &Subject) -> Option<Note> {
    let of_module = match user.principal() {
        Principal::Module { module, .. } => Some(module),
        Principal::Person { .. } => None,
        _ => return None,
    };
    match (MeshSubject::parse(subject).ok()?, of_module) {
        (MeshSubject::Event { module, event }, Some(own)) if module == *own => {
            declare(mesh, user, "emits", event.to_string())
        }
        (MeshSubject::Tool { module, tool }, Some(own)) if !is_reserved_tool(tool.as_str()) => {
            if module == *own {
                return None;
            }
            declare(mesh, user, "calls", format!("{module}.{tool}"))
        }
        (MeshSubject::Tool { module, tool }, None) if !is_reserved_tool(tool.as_str()) => {
            declare(mesh, user, "tools", format!("{module}.{tool}"))
        }
        _ => None,
    }
}

fn of_subscribe(
    mesh: &Composition,
    user: &User,
    may: &Permissions,
    (filter, group): (&Filter, Option<&QueueGroup>),
    verdict: Verdict,
    notes: &mut Vec<Note>,
) {
    let rules = &may.subscribe;
    match verdict {
        Verdict::Allowed => {
            let hidden = rules.denied().iter().filter(|denied| denied.overlaps(filter));
            let hidden: Vec<Filter> = hidden.cloned().collect();
            if !hidden.is_empty() {
                notes.push(Note::Hidden(hidden));
            }
            let senders = reach::senders(mesh, user, filter);
            if senders.is_empty() {
                notes.push(Note::NobodySends);
            } else {
                notes.push(Note::SentBy(senders));
            }
        }
        Verdict::NotAllowed => {
            let held = rules.allowed().iter().filter(|rule| rule.holds_for(filter));
            let mut groups: Vec<QueueGroup> = held.filter_map(|rule| rule.group.clone()).collect();
            groups.sort();
            groups.dedup();
            let narrower = rules.allowed().iter().map(|rule| &rule.filter);
            let narrower: Vec<Filter> =
                narrower.filter(|inside| filter.contains(inside)).cloned().collect();
            if !groups.is_empty() {
                notes.push(Note::OnlyInGroups { groups, tried: group.cloned() });
            } else if !narrower.is_empty() {
                notes.push(Note::Narrower(narrower));
            } else {
                notes.extend(missing_to_subscribe(mesh, user, filter));
            }
        }
        Verdict::Denied | Verdict::BrokersReply => {}
    }
}

fn missing_to_subscribe(mesh: &Composition, user: &User, filter: &Filter) -> Option<Note> {
    let Principal::Module { node, module } = user.principal() else { return None };
    let subject = filter.as_subject()?;
    let own = ConsumerRef::new(StreamName::Events, ConsumerName::of_module(node, module));
    if subject == DeliverySubject::of(own).to_subject() {
        return declare(mesh, user, "consumes", "<module>.<event>".to_owned());
    }
    match MeshSubject::parse(&subject).ok()? {
        MeshSubject::Event { .. } => Some(Note::EventsAreDelivered),
        MeshSubject::Tool { module: served, tool } if served == *module => {
            let field = if is_reserved_tool(tool.as_str()) { "provides" } else { "tools" };
            declare(mesh, user, field, tool.to_string())
        }
        _ => None,
    }
}

/// What would have to stand in the file of a module or a person.
fn declare(mesh: &Composition, user: &User, field: &'static str, value: String) -> Option<Note> {
    let file = match user.principal() {
        Principal::Module { module, .. } => mesh.mesh().module(module)?.manifest.file().to_owned(),
        _ => user.line()?.file.to_string(),
    };
    Some(Note::Declare { file, field, value })
}
