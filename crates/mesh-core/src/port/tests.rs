use std::error::Error as _;

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
