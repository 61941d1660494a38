//! What an address in somebody's inbox is for: [`Inbox`](super::Inbox), read backwards.

use super::AddressError;
use crate::identity::{Principal, Responder};
use crate::name::ModuleName;
use crate::subject::Subject;

/// An address in an inbox, by whose inbox it is and what arrives there (protocol §4, §6).
///
/// ```
/// use mesh_core::subject::Subject;
/// use mesh_core::topology::{InboxAddress, InboxPurpose};
///
/// let text = "_INBOX.mail.n1.vault.0000000000000000000000000000002a";
/// let address = InboxAddress::parse(&Subject::new(text)?)?;
/// assert_eq!(address.owner.to_string(), "module mail on n1");
/// let InboxPurpose::Answer { responder, random } = address.purpose else { unreachable!() };
/// assert_eq!((responder.as_str(), random), ("vault", 42));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InboxAddress {
    /// Who alone listens there.
    pub owner: Principal,
    /// What arrives.
    pub purpose: InboxPurpose,
}

/// What arrives at an address in an inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InboxPurpose {
    /// The answer of one responder to one request: `….<responder>.<32 hex digits>`.
    Answer {
        /// Who alone may answer.
        responder: Responder,
        /// What nobody guesses.
        random: u128,
    },
    /// What the broker says to an append, or its API to a question: `….ack.<32 hex digits>`; of an
    /// enrolment `….ack`.
    Confirmation {
        /// What nobody guesses, but of an enrolment.
        random: Option<u128>,
    },
    /// What the owner sends itself: `….echo.<32 hex digits>`.
    Echo {
        /// What tells it from other echoes.
        random: u128,
    },
    /// The controller's answer to an enrolment: `_INBOX.enrol.<token id>.answer`.
    EnrolmentAnswer,
}

impl InboxAddress {
    /// Reads an address as [`Inbox`](super::Inbox) makes them.
    ///
    /// # Errors
    /// [`AddressError::NotAnInbox`].
    pub fn parse(subject: &Subject) -> Result<Self, AddressError> {
        Self::read(subject).ok_or(AddressError::NotAnInbox)
    }

    fn read(subject: &Subject) -> Option<Self> {
        let mut tokens = subject.as_str().strip_prefix("_INBOX.")?.split('.');
        let owner = Principal::from_inbox_tokens(tokens.next()?, tokens.next()?)?;
        let (named, random) = (tokens.next()?, tokens.next());
        if tokens.next().is_some() {
            return None;
        }
        let enrols = matches!(owner, Principal::Enrolment { .. });
        let purpose = match (named, random) {
            ("answer", None) if enrols => InboxPurpose::EnrolmentAnswer,
            ("ack", None) if enrols => InboxPurpose::Confirmation { random: None },
            ("ack", Some(random)) => InboxPurpose::Confirmation { random: Some(hex(random)?) },
            ("echo", Some(random)) => InboxPurpose::Echo { random: hex(random)? },
            ("controller", Some(random)) => {
                InboxPurpose::Answer { responder: Responder::Controller, random: hex(random)? }
            }
            (module, Some(random)) => {
                let responder = Responder::Module(ModuleName::new(module).ok()?);
                InboxPurpose::Answer { responder, random: hex(random)? }
            }
            (_, None) => return None,
        };
        Some(Self { owner, purpose })
    }
}

/// Exactly 32 lower-case digits.
fn hex(text: &str) -> Option<u128> {
    let digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    (text.len() == 32 && text.bytes().all(digit)).then(|| u128::from_str_radix(text, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::{InstanceName, NodeName, PersonName, TokenId};
    use crate::topology::{Inbox, ReplyAddress};

    fn parse(text: &str) -> Result<InboxAddress, AddressError> {
        InboxAddress::parse(&Subject::new(text).unwrap())
    }

    fn principals() -> Vec<Principal> {
        let node = || NodeName::new("n1").unwrap();
        let instance = || InstanceName::new("c1").unwrap();
        vec![
            Principal::Module { node: node(), module: ModuleName::new("mail").unwrap() },
            Principal::Host { node: node() },
            Principal::Builder { node: node() },
            Principal::Person { name: PersonName::new("ann").unwrap() },
            Principal::Controller { name: instance() },
            Principal::Enrolment { token: TokenId::new("t1").unwrap() },
            Principal::Gateway { name: instance() },
        ]
    }

    #[test]
    fn what_an_inbox_makes_is_read_back() {
        let vault = Responder::Module(ModuleName::new("vault").unwrap());
        for owner in principals() {
            let inbox = Inbox::of(&owner);
            let made = [
                (
                    inbox.reply(&vault, 7),
                    InboxPurpose::Answer { responder: vault.clone(), random: 7 },
                ),
                (
                    inbox.reply(&Responder::Controller, u128::MAX),
                    InboxPurpose::Answer { responder: Responder::Controller, random: u128::MAX },
                ),
                (inbox.confirmation(0), InboxPurpose::Confirmation { random: Some(0) }),
                (inbox.echo(1), InboxPurpose::Echo { random: 1 }),
            ];
            for (subject, purpose) in made {
                let read = InboxAddress::parse(&subject).unwrap();
                assert_eq!(read, InboxAddress { owner: owner.clone(), purpose }, "{subject}");
                assert_eq!(
                    Inbox::is_transports(&subject),
                    !matches!(read.purpose, InboxPurpose::Answer { .. })
                );
            }
        }
    }

    #[test]
    fn a_reply_address_that_a_responder_takes_is_one_that_can_be_read() {
        let vault = Responder::Module(ModuleName::new("vault").unwrap());
        for owner in principals() {
            let reply = Inbox::of(&owner).reply(&vault, 9);
            let asked = Subject::new("mesh.tools.vault.open").unwrap();
            assert!(ReplyAddress::check(&asked, &reply, &vault).is_ok(), "{reply}");
            assert!(InboxAddress::parse(&reply).is_ok(), "{reply}");
        }
    }

    #[test]
    fn an_enrolment_has_two_addresses_without_random_bits() {
        let token = TokenId::new("t1").unwrap();
        for (text, purpose) in [
            ("_INBOX.enrol.t1.answer", InboxPurpose::EnrolmentAnswer),
            ("_INBOX.enrol.t1.ack", InboxPurpose::Confirmation { random: None }),
        ] {
            let owner = Principal::Enrolment { token: token.clone() };
            assert_eq!(parse(text), Ok(InboxAddress { owner, purpose }));
        }
        assert!(parse("_INBOX.mail.n1.answer").is_err());
        assert!(parse("_INBOX.mail.n1.ack").is_err());
    }

    #[test]
    fn anything_else_is_no_address_in_an_inbox() {
        for text in [
            "_INBOX.mail",
            "_INBOX.mail.n1",
            "_INBOX.mail.n1.vault",
            "_INBOX.mail.n1.vault.0a",
            "_INBOX.mail.n1.vault.0000000000000000000000000000002A",
            "_INBOX.mail.n1.vault.+000000000000000000000000000002a",
            "_INBOX.mail.n1.vault.0000000000000000000000000000002a.x",
            "_INBOX.Mail.n1.vault.0000000000000000000000000000002a",
            "_INBOX.mail.n1.person.0000000000000000000000000000002a",
            "_INBOX.jBkPOv0QHTDDN2GDHRmdcV",
            "mesh.tools.mail.send",
        ] {
            assert_eq!(parse(text), Err(AddressError::NotAnInbox), "{text}");
        }
    }
}
