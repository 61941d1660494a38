use mesh_core::provision::{Granted, WithdrawRequest};
use mesh_sdk::provision::{AskError, Provisioning};
use mesh_sdk::{Asking, Broker};

use super::Step;
use crate::demo::DemoError;
use crate::demo::raise::Raised;
use crate::demo::select::Required;
use crate::demo::story::list;

/// The controller asks for everything that is required, twice. Then it withdraws the first, and asks for
/// that and the others again.
pub(super) async fn run(raised: &Raised) -> Vec<Step> {
    let required = raised.required();
    let Some((first, others)) = required.split_first() else {
        return Vec::new();
    };
    let mut steps = Vec::new();
    let controller = match asking(raised).await {
        Ok(controller) => controller,
        Err(error) => {
            let expected = "connected";
            return vec![Step::new("the controller connects", expected, error.to_string())];
        }
    };
    let mut granted = Vec::new();
    for wanted in &required {
        let key = wanted.request.key();
        let (consumer, what, of) = (&key.consumer, &key.provision, &wanted.provider);
        let given = ask(&controller, wanted).await;
        let again = ask(&controller, wanted).await;
        let found = format!("{}, then {}", fields(&given), compared(&given, &again));
        let expected = format!("{}, then {SAME}", promised(wanted));
        let what = format!("{consumer} requires {what}, for which {of} is asked twice");
        steps.push(Step::new(what, expected, found));
        granted.push(given);
    }
    let key = first.request.key();
    let what = format!("{} is withdrawn from {}, and asked for again", key.provision, key.consumer);
    let request = WithdrawRequest::new(key.clone());
    let found = match controller.withdraw(&first.provider, &request).await {
        Err(error) => error.to_string(),
        Ok(()) => compared(&granted[0], &ask(&controller, first).await),
    };
    // There is but one that has no fields.
    let expected = if first.promised.is_empty() { SAME } else { ANOTHER };
    steps.push(Step::new(what, expected, found));
    for (wanted, given) in others.iter().zip(&granted[1..]) {
        let key = wanted.request.key();
        let what = format!("{} is asked for again for {}", key.provision, key.consumer);
        steps.push(Step::new(what, SAME, compared(given, &ask(&controller, wanted).await)));
    }
    steps
}

const SAME: &str = "the same credential";
const ANOTHER: &str = "another credential";

type Answer = Result<Granted, AskError>;

async fn asking(raised: &Raised) -> Result<Provisioning, DemoError> {
    let connection = raised.ground.beside_modules().await?;
    let controller = Broker::builder(connection).build_only::<Asking>()?;
    Ok(Provisioning::over(&controller))
}

async fn ask(controller: &Provisioning, wanted: &Required) -> Answer {
    controller.grant(&wanted.provider, &wanted.request, &wanted.promised).await
}

fn promised(wanted: &Required) -> String {
    let mut names: Vec<&str> = wanted.promised.iter().map(String::as_str).collect();
    names.sort_unstable();
    given(&names)
}

fn fields(answer: &Answer) -> String {
    match answer {
        Ok(granted) => given(&granted.names().collect::<Vec<_>>()),
        Err(error) => error.to_string(),
    }
}

fn given(names: &[&str]) -> String {
    match names {
        [] => "a credential without fields".to_owned(),
        names => format!("a credential of {}", list(names)),
    }
}

fn compared(before: &Answer, now: &Answer) -> String {
    match (before, now) {
        (_, Err(error)) => error.to_string(),
        (Ok(before), Ok(now)) if before == now => SAME.to_owned(),
        (_, Ok(_)) => ANOTHER.to_owned(),
    }
}
