use std::error::Error as _;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;

use super::*;
use crate::dead_letter::DeadReason;

#[test]
fn every_capability_has_its_own_bit() {
    let limits = Limits::default();
    for capability in Capability::ALL {
        let one = Capabilities::new(limits, [capability]);
        assert_eq!(one.iter().collect::<Vec<_>>(), [capability]);
    }
    assert_eq!(Capabilities::new(limits, Capability::ALL).iter().count(), Capability::ALL.len());
}

#[test]
fn an_error_tells_operation_subject_kind_and_detail() {
    let error = TransportError::new(ErrorKind::Denied, Operation::Publish)
        .about("mesh.tools.vault.open")
        .detail("no rule allows it");
    assert_eq!(error.to_string(), "publish mesh.tools.vault.open: denied (no rule allows it)");
    assert!(!error.may_retry());
    assert!(error.source().is_none());
    assert!(TransportError::new(ErrorKind::TimedOut, Operation::Request).may_retry());
}

#[test]
fn a_reason_is_one_bounded_line() {
    assert_eq!(Reason::new("é".repeat(400)).as_str().len(), 512);
    assert_eq!(Reason::new("\n a \n").as_str(), "a");
    assert_eq!(Reason::new("").as_str(), "");
}

#[test]
fn a_reason_tells_its_kind() {
    assert_eq!(Reason::undecodable("x").kind(), DeadReason::Undecodable);
    assert_eq!(Reason::unverifiable("x").kind(), DeadReason::Unverifiable);
    assert_eq!(Reason::new("undecodable").kind(), DeadReason::Terminated);
    assert_eq!(Reason::new("no such account").kind(), DeadReason::Terminated);
}

#[test]
fn the_ports_are_object_safe() {
    fn _takes(_: &dyn Transport, _: &dyn Streams, _: &dyn Requests, _: &dyn Administration) {}
}

/// An adapter that goes on telling after the last state, and then for ever waits.
struct Talkative(Vec<ConnectionState>);

impl Stream for Talkative {
    type Item = ConnectionState;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.pop().map_or(Poll::Pending, |state| Poll::Ready(Some(state)))
    }
}

#[test]
fn states_end_after_closed_whatever_the_adapter_tells() {
    use ConnectionState::{Closed, Connected, Connecting};
    let mut states = ConnectionStates::new(Talkative(vec![Connecting, Closed, Connected]));
    let mut next = || {
        let mut context = Context::from_waker(Waker::noop());
        pin!(states.next()).poll(&mut context)
    };
    assert!(matches!(next(), Poll::Ready(Some(Connected))));
    assert!(matches!(next(), Poll::Ready(Some(Closed))));
    for _ in 0..2 {
        assert!(matches!(next(), Poll::Ready(None)));
    }
}
