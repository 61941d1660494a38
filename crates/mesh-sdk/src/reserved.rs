//! Calls of the two tools that only the controller calls.

use futures_util::StreamExt as _;
use mesh_core::identity::Principal;
use mesh_core::port::{Call, Calls, Incoming};
use mesh_core::provision::is_reserved_tool;

/// The calls without those of the controller's tools that are not the controller's: by the broker's proof,
/// or by a reply address that the transport has checked (`scoped`). Those are dropped: nothing is answered
/// to whom nobody knows (protocol §4).
pub(crate) fn controllers(calls: Calls, scoped: bool) -> Calls {
    Incoming::new(calls.filter_map(move |arrival| {
        let admitted = match arrival {
            Ok(call) if !may_ask(&call, scoped) => {
                let (tool, caller) = (call.message().subject(), call.caller());
                tracing::warn!(%tool, ?caller, "not the controller's: dropped");
                None
            }
            arrival => Some(arrival),
        };
        std::future::ready(admitted)
    }))
}

fn may_ask(call: &Call, scoped: bool) -> bool {
    let tool = call.message().subject().tokens().last();
    match call.caller() {
        _ if !tool.is_some_and(is_reserved_tool) => true,
        Some(caller) => matches!(caller, Principal::Controller { .. }),
        None => scoped,
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use bytes::Bytes;
    use mesh_core::message::{Headers, Message};
    use mesh_core::port::{Answer, TransportError};
    use mesh_testkit::fixtures::{controller, host, module, person, tool};

    use super::*;

    struct Unanswered;

    #[async_trait]
    impl Answer for Unanswered {
        async fn send(self: Box<Self>, _: Headers, _: Bytes) -> Result<(), TransportError> {
            panic!("nothing is answered");
        }
    }

    #[test]
    fn the_controllers_tools_are_run_for_whom_a_proof_or_the_transport_says_to_be_the_controller() {
        let may = |name: &str, caller: Option<Principal>, scoped: bool| {
            let message = Message::new(tool("ledger", name), "{}");
            may_ask(&Call::new(message, caller, Box::new(Unanswered)), scoped)
        };
        for name in ["provision_grant", "provision_withdraw"] {
            for scoped in [false, true] {
                assert!(may(name, Some(controller()), scoped));
                for other in [module("n1", "mail"), host("n1"), person("alice")] {
                    assert!(!may(name, Some(other), scoped));
                }
            }
            assert!(may(name, None, true) && !may(name, None, false));
        }
        assert!(may("balance", None, false) && may("balance", Some(module("n1", "mail")), false));
    }
}
