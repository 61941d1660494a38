//! Coming in: as somebody else, without TLS, and in such numbers that nobody else can.

use mesh_testkit::servers::nats::RawNats;

use crate::attack::{Attack, Outcome, Verdict, attack, bed};
use crate::split::{Bed, Isolation, Setup};

pub const ATTACKS: &[Attack] = &[
    attack!(log_in_as_another, by "anybody",
        "logs in as another with its own password, with none, as nobody, and without a log-in", Refused, Refused),
    attack!(log_in_without_tls, by "anybody",
        "sends its log-in without TLS", Refused, Refused),
    attack!(take_all_connections, by "a module",
        "connects until its account is full: the controller comes in all the same", Refused, Succeeds),
    attack!(take_all_subscriptions, by "a module",
        "subscribes as often as it may: the limit is each connection's own, and others subscribe all the same", Refused, Refused),
];

async fn log_in_as_another(isolation: Isolation) -> Verdict {
    let bed = bed(isolation).await?;
    let own = bed.user("evil.n1").password().expose();
    for (user, password) in
        [("svc.n1", own), ("controller", own), ("svc.n1", ""), ("", ""), ("nobody", "")]
    {
        let mut raw = RawNats::connect(&bed.server).await?;
        match raw.login(user, password).await {
            Err(error) if error.to_string().contains("Authorization Violation") => {}
            other => return Err(format!("{user}: {other:?}").into()),
        }
    }
    let mut raw = RawNats::connect(&bed.server).await?;
    raw.send("CONNECT {}\r\nPING\r\n").await?;
    match raw.closed().await?.as_slice() {
        [refusal] if refusal.contains("Authorization Violation") => Ok(Outcome::Refused),
        other => Err(format!("{other:?}").into()),
    }
}

async fn log_in_without_tls(isolation: Isolation) -> Verdict {
    let bed = bed(isolation).await?;
    let mut raw = RawNats::plain(bed.server.address()).await?;
    let user = bed.user("evil.n1");
    match raw.login(user.name(), user.password().expose()).await {
        Err(_) => Ok(Outcome::Refused),
        Ok(()) => Ok(Outcome::Succeeds),
    }
}

async fn take_all_connections(isolation: Isolation) -> Verdict {
    let bed = Bed::start(Setup { connections: 8, ..Setup::of(isolation) }).await?;
    let mut taken = Vec::new();
    // The server's own limit is four times EDGE's, and says so before there is TLS.
    while taken.len() <= 32 {
        match bed.raw("evil.n1").await {
            Ok(raw) => taken.push(raw),
            Err(_) if taken.len() >= 8 => break,
            Err(error) => return Err(error),
        }
    }
    if taken.len() > 32 {
        return Err("there is no limit".into());
    }
    match bed.raw("controller").await {
        Ok(_) => Ok(Outcome::Refused),
        Err(_) => Ok(Outcome::Succeeds),
    }
}

async fn take_all_subscriptions(isolation: Isolation) -> Verdict {
    let bed = Bed::start(Setup { subscriptions: 200, ..Setup::of(isolation) }).await?;
    let mut raw = bed.raw("evil.n1").await?;
    for number in 0..=200 {
        raw.subscribe(&format!("_INBOX.evil.n1.{number}"), None).await?;
    }
    let errors = raw.settle().await?.errors;
    if !errors.iter().any(|error| error.contains("maximum subscriptions exceeded")) {
        return Err(format!("the account has no limit: {errors:?}").into());
    }
    let mut neighbour = bed.raw("evil.n2").await?;
    for number in 0..150 {
        neighbour.subscribe(&format!("_INBOX.evil.n2.{number}"), None).await?;
    }
    let refused = neighbour.settle().await?.errors;
    Ok(if refused.is_empty() { Outcome::Refused } else { Outcome::Succeeds })
}
