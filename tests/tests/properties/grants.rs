//! Grants and withdrawals.

use mesh_core::json::JsonText;
use mesh_core::provision::{GrantRequest, Granted, Handover, WithdrawRequest};
use mesh_testkit::strategies::*;
use proptest::prelude::*;

use crate::cases;

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn requests_come_back_as_they_were(grant in grant_request(), withdraw in withdraw_request()) {
        let read = GrantRequest::decode(grant.encode().as_bytes()).unwrap();
        prop_assert_eq!(read.key(), grant.key());
        prop_assert_eq!(read.contributed().raw(), grant.contributed().raw());
        prop_assert_eq!(GrantRequest::decode_legacy(grant.encode().as_bytes(), None).unwrap(), read);
        let read = WithdrawRequest::decode(withdraw.encode().as_bytes()).unwrap();
        prop_assert_eq!(read, withdraw);
    }

    #[test]
    fn a_grant_has_what_was_promised_and_no_more((granted, promised) in granted()) {
        let body = granted.encode();
        prop_assert_eq!(Granted::decode(body.as_bytes(), &promised).unwrap(), granted);
        let mut more = promised.clone();
        more.push("another field".to_owned());
        prop_assert!(Granted::decode(body.as_bytes(), &more).is_err());
        if let Some(less) = promised.get(1..) {
            prop_assert!(Granted::decode(body.as_bytes(), less).is_err());
        }
    }

    #[test]
    fn what_is_handed_over_arrives_as_it_was_granted(key in provision_key(), (granted, _) in granted()) {
        let handover = Handover::new(key, granted);
        let read = Handover::decode(handover.encode().as_bytes()).unwrap();
        prop_assert_eq!(read, handover);
    }

    #[test]
    fn the_older_shapes_say_the_same(key in provision_key(), contributed in json_object()) {
        let (node, module) = (&key.consumer.node, &key.consumer.module);
        let shapes = [
            format!(r#""consumer":"{module}","node":"{node}""#),
            format!(r#""consumer":"{node}","from":"{module}""#),
            format!(r#""node":"{node}","from":"{module}""#),
        ];
        for shape in shapes {
            let provision = &key.provision;
            let text = format!(r#"{{"provision":"{provision}",{shape},"contributed":{}}}"#, contributed.raw());
            let read = GrantRequest::decode_legacy(text.as_bytes(), None).unwrap();
            prop_assert_eq!(read.key(), &key);
            prop_assert_eq!(&JsonText::new(read.contributed().as_str().to_owned()).unwrap(), &contributed);
            prop_assert!(GrantRequest::decode(text.as_bytes()).is_err());
        }
    }
}
