use mesh_core::tool::codes;

use super::*;

#[tokio::test]
async fn a_failure_and_a_panic_are_answers_and_nothing_is_granted() {
    let (bed, bank) = (Bed::new().await, Bank::default());
    let (_ledger, controller) = (bed.serve(&bank).await, bed.controller());
    bank.answer(Answer::Fails);
    let failed = failure(grant(&controller, "mail").await);
    assert_eq!((&*failed.code, &*failed.message), ("bank.closed", "come back tomorrow"));
    bank.answer(Answer::Panics);
    let panicked = failure(grant(&controller, "mail").await);
    assert_eq!(
        (&*panicked.code, &*panicked.message),
        (codes::PANICKED, "the provisioner panicked")
    );
    grant(&controller, "mail").await.unwrap();
    assert_eq!(bank.asked().len(), 3);
}

#[tokio::test]
async fn a_withdrawal_that_failed_is_asked_again_and_the_grant_is_forgotten() {
    let (bed, bank) = (Bed::new().await, Bank::default());
    let (_ledger, controller) = (bed.serve(&bank).await, bed.controller());
    grant(&controller, "mail").await.unwrap();
    bank.answer(Answer::Fails);
    assert_eq!(failure(withdraw(&controller, "mail").await).code, "bank.closed");
    bank.answer(Answer::Panics);
    assert_eq!(failure(withdraw(&controller, "mail").await).code, codes::PANICKED);
    grant(&controller, "mail").await.unwrap();
    assert_eq!(bank.asked().len(), 4, "the provisioner alone knows what is left of it");
}

#[tokio::test]
async fn a_credential_that_is_not_what_was_promised_is_not_sent_and_names_the_field() {
    let (bed, bank) = (Bed::new().await, Bank::default());
    let (_ledger, controller) = (bed.serve(&bank).await, bed.controller());
    for (made, why) in [
        (json!({ "password": SECRET }), "credential.user: missing"),
        (
            json!({ "user": "u", "password": SECRET, "url": SECRET }),
            "credential.url: not among the promised fields",
        ),
        (json!([SECRET]), "credential: JSON: expected an object at offset 0"),
    ] {
        bank.answer(Answer::Gives(made));
        let wrong = failure(grant(&controller, "mail").await);
        assert_eq!(wrong.code, codes::BAD_CREDENTIAL);
        assert_eq!(wrong.message, format!("provision: {why}"));
    }
    bank.answer(Answer::NoJson);
    let wrong = failure(grant(&controller, "mail").await);
    assert_eq!(wrong.to_string(), "MESH.BAD_CREDENTIAL: it can't be written as JSON");
    grant(&controller, "mail").await.unwrap();
}

#[tokio::test]
async fn a_credential_that_can_not_be_handed_over_is_not_granted() {
    let (bed, bank) = (Bed::new().await, Bank::default());
    let (_ledger, controller) = (bed.serve(&bank).await, bed.controller());
    let long = "x".repeat(mesh_core::provision::MAX_HANDOVER_BYTES);
    bank.answer(Answer::Gives(json!({ "user": long, "password": SECRET })));
    let wrong = failure(grant(&controller, "mail").await);
    assert_eq!(wrong.code, codes::BAD_CREDENTIAL);
    assert!(wrong.message.ends_with("bytes, and at most 65536 can be handed over"), "{wrong}");
    grant(&controller, "mail").await.unwrap();
    assert_eq!(bank.asked().len(), 2, "it was not remembered");
}

#[tokio::test]
async fn an_answer_without_the_fields_that_the_controller_expects_names_them() {
    let (bed, bank) = (Bed::new().await, Bank::default());
    let (_ledger, controller) = (bed.serve(&bank).await, bed.controller());
    for (promised, why) in [
        (&["user"][..], "credential.password: not among the promised fields"),
        (&["user", "password", "url"], "credential.url: missing"),
    ] {
        let asked =
            controller.grant(&module_name("ledger"), &request("account", "mail"), promised).await;
        let error = asked.unwrap_err();
        assert!(matches!(error, AskError::Answer(_)), "{error:?}");
        assert_eq!(error.to_string(), format!("the provider's answer: provision: {why}"));
        assert!(!format!("{error:?}").contains(SECRET));
    }
}

#[tokio::test]
async fn what_is_not_in_the_manifest_is_not_provided_and_what_is_no_request_is_told() {
    let (bed, bank) = (Bed::new().await, Bank::default());
    let (_ledger, controller) = (bed.serve(&bank).await, bed.controller());
    let ledger = module_name("ledger");
    let asked = controller.grant(&ledger, &request("vault", "mail"), &["key"]).await;
    let failed = failure(asked);
    assert_eq!(failed.to_string(), "MESH.NOT_PROVIDED: vault is not provided here");
    let withdrawal = WithdrawRequest::new(key("vault", "mail"));
    let failed = failure(controller.withdraw(&ledger, &withdrawal).await);
    assert_eq!(failed.code, codes::NOT_PROVIDED);
    let broker = Broker::builder(bed.mesh.controller().clone()).build_only::<Asking>().unwrap();
    let asked: Result<Value, _> = broker.request(("ledger", "provision_grant"), &json!([1])).await;
    match asked {
        Err(RequestError::Tool(failure)) => assert_eq!(failure.code, codes::BAD_REQUEST),
        other => panic!("{other:?}"),
    }
    assert!(bank.asked().is_empty());
}

#[tokio::test]
async fn where_nobody_provides_it_is_unavailable() {
    let bed = Bed::new().await;
    let asked = grant(&bed.controller(), "mail").await;
    assert!(matches!(asked, Err(AskError::Request(RequestError::Unavailable(_)))), "{asked:?}");
}

#[tokio::test]
async fn nothing_that_is_logged_or_shown_has_a_credential_in_it() {
    let log = Log::default();
    let (sink, bank) = (log.clone(), Bank::default());
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || sink.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    // While there is one alone, whether a place in the code is of interest is asked of the thread that first
    // comes by, which may be another test's.
    let _beside = tracing::Dispatch::new(tracing::subscriber::NoSubscriber::new());
    let bed = Bed::new().await;
    let (ledger, controller) = (bed.serve(&bank).await, bed.controller());
    let granted = grant(&controller, "mail").await.unwrap();
    for answer in [Answer::Panics, Answer::NoJson, Answer::Gives(json!({ "a": SECRET }))] {
        bank.answer(answer);
        let error = grant(&controller, "audit").await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains(SECRET), "{error:?}");
    }
    withdraw(&controller, "mail").await.unwrap();
    let store = MemoryGrants::default();
    store.record(&key("account", "mail"), granted.clone()).await.unwrap();
    let shown = format!("{granted:?} {store:?} {ledger:?} {controller:?}");
    assert!(!shown.contains(SECRET), "{shown}");
    let logged = log.text();
    assert!(logged.contains("granted") && logged.contains("withdrawn"), "{logged}");
    assert!(!logged.contains(SECRET), "{logged}");
}

/// What was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock()).into_owned()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
