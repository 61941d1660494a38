use async_trait::async_trait;
use mesh_core::tool::codes;

use super::*;

fn granted(password: &str) -> Granted {
    let fields = [("user", "\"u\""), ("password", password)];
    let fields =
        fields.map(|(name, text)| (name.to_owned(), JsonText::new(text.to_owned()).unwrap()));
    Granted::new(fields.into(), &["user", "password"]).unwrap()
}

#[tokio::test]
async fn with_a_store_that_lasts_the_next_process_answers_the_same() {
    let (bed, store) = (Bed::new().await, Arc::new(MemoryGrants::default()));
    let controller = bed.controller();
    let mut answers = Vec::new();
    for _ in 0..2 {
        let (ledger, bank) = (bed.broker("ledger"), Bank::default());
        Provider::new(bank.clone()).grants(store.clone()).serve(&ledger).await.unwrap();
        answers.push((grant(&controller, "mail").await.unwrap(), bank.asked().len()));
        let closing = tokio::spawn(async move { ledger.close(Duration::from_secs(1)).await });
        soon(closing).await.unwrap();
    }
    assert_eq!(answers[0].0, answers[1].0);
    assert_eq!((answers[0].1, answers[1].1), (1, 0));
}

#[tokio::test]
async fn what_the_manifest_promises_no_more_is_granted_anew() {
    let (bed, store) = (Bed::new().await, Arc::new(MemoryGrants::default()));
    let old = Granted::new(BTreeMap::from([("url".into(), JsonText::new("1").unwrap())]), &["url"]);
    store.record(&key("account", "mail"), old.unwrap()).await.unwrap();
    let (ledger, bank) = (bed.broker("ledger"), Bank::default());
    Provider::new(bank.clone()).grants(store.clone()).serve(&ledger).await.unwrap();
    let new = grant(&bed.controller(), "mail").await.unwrap();
    assert_eq!(store.look_up(&key("account", "mail")).await.unwrap(), Some(new));
    assert_eq!(bank.asked().len(), 1);
}

#[tokio::test]
async fn what_another_process_recorded_meanwhile_is_what_is_granted() {
    let (bed, store) = (Bed::new().await, Arc::new(MemoryGrants::default()));
    let (ledger, bank, controller) = (bed.broker("ledger"), Bank::default(), bed.controller());
    Provider::new(bank.clone()).grants(store.clone()).serve(&ledger).await.unwrap();
    bank.answer(Answer::Hangs);
    let asking = tokio::spawn(async move { grant(&controller, "mail").await });
    soon(bank.asked_times(1)).await;
    let theirs = store.record(&key("account", "mail"), granted("\"theirs\"")).await.unwrap();
    bank.go_on();
    assert_eq!(soon(asking).await.unwrap().unwrap(), theirs);
}

#[tokio::test]
async fn a_store_that_is_full_or_away_grants_nothing() {
    let (bed, bank) = (Bed::new().await, Bank::default());
    let (ledger, controller) = (bed.broker("ledger"), bed.controller());
    let store = Arc::new(MemoryGrants::with_room(1));
    Provider::new(bank.clone()).grants(store.clone()).serve(&ledger).await.unwrap();
    grant(&controller, "mail").await.unwrap();
    assert_eq!(failure(grant(&controller, "audit").await).code, codes::GRANTS_AWAY);
    withdraw(&controller, "mail").await.unwrap();
    assert!(store.is_empty());
    grant(&controller, "audit").await.unwrap();

    let (bed, bank) = (Bed::new().await, Bank::default());
    let (ledger, controller) = (bed.broker("ledger"), bed.controller());
    Provider::new(bank.clone()).grants(Arc::new(Away)).serve(&ledger).await.unwrap();
    for answer in [grant(&controller, "mail").await.map(drop), withdraw(&controller, "mail").await]
    {
        assert_eq!(failure(answer).to_string(), "MESH.GRANTS_AWAY: it is raining");
    }
    assert!(bank.asked().is_empty());
}

#[derive(Debug)]
struct Away;

#[async_trait]
impl GrantStore for Away {
    async fn look_up(&self, _: &ProvisionKey) -> Result<Option<Granted>, String> {
        Err("it is raining".to_owned())
    }

    async fn record(&self, _: &ProvisionKey, _: Granted) -> Result<Granted, String> {
        Err("it is raining".to_owned())
    }

    async fn forget(&self, _: &ProvisionKey) -> Result<(), String> {
        Err("it is raining".to_owned())
    }
}

/// Panics with the secret in hand.
#[derive(Debug)]
struct Panicking;

#[async_trait]
impl GrantStore for Panicking {
    async fn look_up(&self, _: &ProvisionKey) -> Result<Option<Granted>, String> {
        panic!("a row with {SECRET}")
    }

    async fn record(&self, _: &ProvisionKey, granted: Granted) -> Result<Granted, String> {
        Ok(granted)
    }

    async fn forget(&self, _: &ProvisionKey) -> Result<(), String> {
        panic!("a row with {SECRET}")
    }
}

#[tokio::test]
async fn what_a_stores_panic_said_goes_nowhere() {
    let (bed, bank) = (Bed::new().await, Bank::default());
    let (ledger, controller) = (bed.broker("ledger"), bed.controller());
    Provider::new(bank.clone()).grants(Arc::new(Panicking)).serve(&ledger).await.unwrap();
    let granting = failure(grant(&controller, "mail").await);
    let withdrawing = failure(withdraw(&controller, "mail").await);
    for failed in [granting, withdrawing] {
        assert_eq!(
            (&*failed.code, &*failed.message),
            (codes::PANICKED, "the store of grants panicked")
        );
    }
    assert!(bank.asked().is_empty());
}
