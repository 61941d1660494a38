use mesh_core::message::Message;
use mesh_core::port::PublishOptions;
use mesh_core::provision::{GRANT_TOOL, WITHDRAW_TOOL};
use mesh_testkit::fixtures::{permissions, person, subject, tool};

use super::*;

#[tokio::test]
async fn the_broker_refuses_everybody_but_the_controller() {
    let (bed, bank) = (Bed::new().await, Bank::default());
    let _ledger = bed.serve(&bank).await;
    for name in ["mail", "audit"] {
        let module = Provisioning::over(&bed.broker(name));
        for asked in [grant(&module, name).await.map(drop), withdraw(&module, name).await] {
            assert!(matches!(asked, Err(AskError::Request(RequestError::Denied(_)))), "{asked:?}");
        }
    }
    assert!(bank.asked().is_empty());
}

#[tokio::test]
async fn a_call_whose_answer_is_aimed_elsewhere_is_not_run() {
    let (bed, bank) = (Bed::new().await, Bank::default());
    let (_ledger, controller) = (bed.serve(&bank).await, bed.controller());
    let (mail, random) = (unbound(&bed, module("n1", "mail")), "0".repeat(32));
    for reply in [
        None,
        Some(format!("_INBOX.mail.n1.ledger.{random}")),
        Some(format!("_INBOX.controller.c1.mail.{random}")),
        Some("mesh.node.n1.declare".to_owned()),
    ] {
        for name in [GRANT_TOOL, WITHDRAW_TOOL] {
            let body = request("account", "mail").encode();
            let mut message = Message::new(tool("ledger", name), body.into_bytes());
            if let Some(reply) = &reply {
                message = message.with_reply(subject(reply));
            }
            mail.transport().publish(message, PublishOptions::default()).await.unwrap();
        }
    }
    // By then they would have been run.
    grant(&controller, "audit").await.unwrap();
    assert_eq!(bank.asked(), ["+account for audit on n1"]);
}

#[tokio::test]
async fn whoever_may_call_it_and_is_not_the_controller_hears_nothing() {
    let (bed, bank) = (Bed::new().await, Bank::default());
    let (_ledger, controller) = (bed.serve(&bank).await, bed.controller());
    for principal in [module("n1", "mail"), person("alice")] {
        let broker = Broker::builder(unbound(&bed, principal)).build_only::<Asking>().unwrap();
        let asker = Provisioning::over(&broker).timeout(Duration::from_secs(1));
        let asking = tokio::spawn(async move { grant(&asker, "mail").await });
        bed.clock.sleepers(1).await;
        bed.clock.advance(Duration::from_secs(1)).await;
        let asked = soon(asking).await.unwrap();
        assert!(matches!(asked, Err(AskError::Request(RequestError::TimedOut(_)))), "{asked:?}");
    }
    grant(&controller, "audit").await.unwrap();
    assert_eq!(bank.asked().len(), 1);
}

#[tokio::test]
async fn a_broker_without_a_manifest_that_provides_serves_nothing() {
    let bed = Bed::new().await;
    for broker in [
        bed.broker("mail"),
        Broker::builder(bed.mesh.connect(module("n1", "ledger")).unwrap()).build().unwrap(),
    ] {
        let error = Provider::new(Bank::default()).serve(&broker).await.unwrap_err();
        assert!(matches!(error, ProvideError::NothingProvided), "{error:?}");
    }
}

#[tokio::test]
async fn both_tools_are_served_or_none() {
    let bed = Bed::new().await;
    let principal = module("n1", "ledger");
    let half =
        permissions(&principal, &["_INBOX.*.*.ledger.>"], &["mesh.tools.ledger.provision_grant"]);
    let connection = bed.mesh.broker().connect(principal.clone(), half).unwrap();
    let ledger = Broker::builder(connection).manifest(&manifest(LEDGER)).build().unwrap();
    let error = Provider::new(Bank::default()).serve(&ledger).await.unwrap_err();
    assert!(error.to_string().contains("denied"), "{error}");
    assert!(ledger.health().tools.is_empty());
    let controller = bed.controller();
    // The half that was served ends once its task has seen so.
    let unavailable = async {
        loop {
            match grant(&controller, "mail").await {
                Err(AskError::Request(RequestError::Unavailable(_))) => return,
                Err(AskError::Request(RequestError::TimedOut(_))) => {}
                other => panic!("{other:?}"),
            }
        }
    };
    soon(unavailable).await;
    let whole =
        Permissions::of_module(&node("n1"), &module_name("ledger"), &manifest(LEDGER).grants());
    bed.mesh.broker().set_permissions(&principal, &whole.unwrap());
    Provider::new(Bank::default()).serve(&ledger).await.unwrap();
    grant(&controller, "mail").await.unwrap();
    let again = Provider::new(Bank::default()).serve(&ledger).await.unwrap_err();
    let taken = ProvideError::Handle(crate::HandleError::AlreadyServed {
        tool: GRANT_TOOL.parse().unwrap(),
    });
    assert_eq!(again.to_string(), taken.to_string());
}
