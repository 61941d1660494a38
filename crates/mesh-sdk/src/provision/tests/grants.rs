use super::*;

fn password(granted: &Granted) -> String {
    granted.field("password").unwrap().decode().unwrap()
}

#[tokio::test]
async fn a_repeat_gives_the_same_and_a_withdrawn_one_is_granted_anew() {
    let (bed, bank) = (Bed::new().await, Bank::default());
    let (_ledger, controller) = (bed.serve(&bank).await, bed.controller());
    let mails = grant(&controller, "mail").await.unwrap();
    let audits = grant(&controller, "audit").await.unwrap();
    assert_eq!(mails.field("user").unwrap().as_str(), r#""account for mail on n1""#);
    assert_eq!(grant(&controller, "mail").await.unwrap(), mails);
    for _ in 0..2 {
        withdraw(&controller, "mail").await.unwrap();
    }
    assert_eq!(grant(&controller, "audit").await.unwrap(), audits, "another's is not touched");
    assert_eq!(password(&grant(&controller, "mail").await.unwrap()), "s3cr3t 2");
    let (mail, audit) = ("account for mail on n1", "account for audit on n1");
    let expected = [
        format!("+{mail}"),
        format!("+{audit}"),
        format!("-{mail}"),
        format!("-{mail}"),
        format!("+{mail}"),
    ];
    assert_eq!(bank.asked(), expected);
}

#[tokio::test]
async fn the_provisions_of_one_consumer_are_apart() {
    let (bed, bank) = (Bed::new().await, Bank::default());
    let (_ledger, controller) = (bed.serve(&bank).await, bed.controller());
    let ledger = module_name("ledger");
    let account = grant(&controller, "mail").await.unwrap();
    let boxed = controller.grant(&ledger, &request("box", "mail"), &["password"]).await.unwrap();
    assert_eq!(boxed.names().collect::<Vec<_>>(), ["password"]);
    controller.withdraw(&ledger, &WithdrawRequest::new(key("box", "mail"))).await.unwrap();
    assert_eq!(grant(&controller, "mail").await.unwrap(), account);
}

#[tokio::test]
async fn of_two_grants_at_once_the_second_gets_what_the_first_was_given() {
    let (bed, bank) = (Bed::new().await, Bank::default());
    let (_ledger, controller) = (bed.serve(&bank).await, bed.controller());
    bank.answer(Answer::Hangs);
    let first = tokio::spawn({
        let controller = controller.clone();
        async move { grant(&controller, "mail").await.unwrap() }
    });
    soon(bank.asked_times(1)).await;
    let second = tokio::spawn({
        let controller = controller.clone();
        async move { grant(&controller, "mail").await.unwrap() }
    });
    let other = soon(grant(&controller, "audit")).await.unwrap();
    assert_eq!(password(&other), "s3cr3t 1", "which waits for nobody");
    bank.go_on();
    let (first, second) = soon(async { (first.await.unwrap(), second.await.unwrap()) }).await;
    assert_eq!(first, second);
    assert_eq!(bank.asked(), ["+account for mail on n1", "+account for audit on n1"]);
}

#[tokio::test]
async fn a_grant_whose_caller_has_left_is_remembered_for_the_next() {
    let (bed, bank) = (Bed::new().await, Bank::default());
    let (_ledger, controller) = (bed.serve(&bank).await, bed.controller());
    bank.answer(Answer::Hangs);
    let controller = controller.timeout(Duration::from_secs(1));
    let ask = || {
        let controller = controller.clone();
        tokio::spawn(async move { grant(&controller, "mail").await })
    };
    let late = ask();
    soon(bank.asked_times(1)).await;
    bed.clock.advance(Duration::from_secs(1)).await;
    let late = soon(late).await.unwrap();
    assert!(matches!(late, Err(AskError::Request(RequestError::TimedOut(_)))), "{late:?}");
    bank.go_on();
    let granted = soon(ask()).await.unwrap().unwrap();
    assert_eq!(password(&granted), "s3cr3t 1");
    assert_eq!(bank.asked().len(), 1);
}

#[tokio::test]
async fn a_grant_that_never_ends_holds_up_its_own_consumer_alone() {
    let (bed, bank) = (Bed::new().await, Bank::default());
    let (_ledger, controller) = (bed.serve(&bank).await, bed.controller());
    bank.answer(Answer::Hangs);
    let hanging = tokio::spawn({
        let controller = controller.clone();
        async move { grant(&controller, "mail").await }
    });
    soon(bank.asked_times(1)).await;
    // More than are handled at a time.
    let brief = controller.clone().timeout(Duration::from_secs(1));
    for _ in 0..20 {
        let repeat = tokio::spawn({
            let brief = brief.clone();
            async move { grant(&brief, "mail").await }
        });
        bed.clock.sleepers(3).await;
        bed.clock.advance(Duration::from_secs(1)).await;
        let late = soon(repeat).await.unwrap();
        assert!(matches!(late, Err(AskError::Request(RequestError::TimedOut(_)))), "{late:?}");
    }
    soon(grant(&controller, "audit")).await.unwrap();
    assert_eq!(bank.asked().len(), 2);
    hanging.abort();
}

#[tokio::test]
async fn the_older_shapes_are_read_and_name_the_same_consumer() {
    let (bed, bank) = (Bed::new().await, Bank::default());
    let _ledger = bed.serve(&bank).await;
    let controller = Broker::builder(bed.mesh.controller().clone()).build_only::<Asking>().unwrap();
    for consumer in [
        json!({ "provision": "account", "consumer": { "node": "n1", "module": "mail" } }),
        json!({ "provision": "account", "consumer": "mail", "node": "n1" }),
        json!({ "provision": "account", "consumer": "n1", "from": "mail" }),
    ] {
        let answer: Value =
            controller.request(("ledger", "provision_grant"), &consumer).await.unwrap();
        let made = json!({ "user": "account for mail on n1", "password": "s3cr3t 1" });
        assert_eq!(answer, json!({ "credential": made }));
    }
    let alone = json!({ "provision": "account", "consumer": "mail" });
    let refused: Result<Value, _> = controller.request(("ledger", "provision_grant"), &alone).await;
    assert!(refused.unwrap_err().to_string().contains("node: missing"), "no node is guessed");
}

#[tokio::test]
async fn a_provisioner_is_told_what_is_contributed_and_how_long_is_waited() {
    struct Echoes;
    impl Provisioner for Echoes {
        type Credential = Value;
        async fn grant(&self, wanted: Wanted) -> Result<Value, ToolFailure> {
            let purpose: BTreeMap<String, String> = wanted.decode()?;
            Ok(json!({ "user": purpose, "password": wanted.timeout.map(|left| left.as_secs()) }))
        }
        async fn withdraw(&self, _: ProvisionKey) -> Result<(), ToolFailure> {
            Ok(())
        }
    }
    let bed = Bed::new().await;
    let (ledger, controller) = (bed.broker("ledger"), bed.controller());
    Provider::new(Echoes).serve(&ledger).await.unwrap();
    let contributed = |text: &str| {
        GrantRequest::new(key("account", "mail"), JsonText::new(text.to_owned()).unwrap()).unwrap()
    };
    let ask = async |text: &str| {
        let request = contributed(text);
        controller.grant(&module_name("ledger"), &request, &["user", "password"]).await
    };
    let wrong = failure(ask(r#"{"purpose": 5}"#).await);
    assert_eq!(wrong.code, mesh_core::tool::codes::BAD_REQUEST);
    let granted = ask(r#"{"purpose": "postage"}"#).await.unwrap();
    assert_eq!(granted.field("user").unwrap().as_str(), r#"{"purpose":"postage"}"#);
    assert_eq!(granted.field("password").unwrap().as_str(), "30");
}
