//! Coming in: as somebody else, and without TLS.

use mesh_testkit::servers::nats::RawNats;

use crate::attack::{Attack, Outcome, Verdict, attack, bed};
use crate::split::{Bed, Mode, Started};

pub const ATTACKS: &[Attack] = &[
    attack!(log_in_as_another, by "anybody",
        "logs in as another with its own password, with none, as nobody, and without a log-in"),
    attack!(guess_a_password, by "anybody",
        "tries what is like another's password: part of it, more than it, in capitals, its name, none"),
    attack!(log_in_with_what_the_server_holds, by "whoever read the server's file",
        "tries what stands there in place of a password"),
    attack!(log_in_without_tls, by "anybody",
        "sends its log-in without TLS"),
];

/// Tries this log-in: it is refused, or the attack has succeeded.
async fn tries(bed: &Bed, user: &str, password: &str) -> Started<bool> {
    let mut raw = RawNats::connect(&bed.server).await?;
    match raw.login(user, password).await {
        Err(error) if error.to_string().contains("Authorization Violation") => Ok(false),
        Err(error) => Err(error.into()),
        Ok(()) => Ok(true),
    }
}

async fn log_in_as_another(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let own = bed.user("evil.n1").password().expose();
    for (user, password) in
        [("svc.n1", own), ("controller", own), ("svc.n1", ""), ("", ""), ("nobody", "")]
    {
        if tries(&bed, user, password).await? {
            return Ok(Outcome::Succeeds);
        }
    }
    let mut raw = RawNats::connect(&bed.server).await?;
    raw.send("CONNECT {}\r\nPING\r\n").await?;
    match raw.closed().await?.as_slice() {
        [refusal] if refusal.contains("Authorization Violation") => Ok(Outcome::Refused),
        other => Err(format!("{other:?}").into()),
    }
}

async fn guess_a_password(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let right = bed.user("svc.n1").password().expose();
    if !tries(&bed, "svc.n1", right).await? {
        return Err("the password itself is refused".into());
    }
    let guesses = [
        String::new(),
        " ".to_owned(),
        "svc.n1".to_owned(),
        "svc".to_owned(),
        "*".to_owned(),
        right[..right.len() - 1].to_owned(),
        right[1..].to_owned(),
        format!("{right}0"),
        format!("{right} "),
        format!(" {right}"),
        right.to_ascii_uppercase(),
        right.chars().rev().collect(),
        right.repeat(2),
    ];
    for guess in guesses.iter().filter(|guess| *guess != right) {
        if tries(&bed, "svc.n1", guess).await? {
            return Ok(Outcome::Succeeds);
        }
    }
    // The right one of another name, and of a name that is like it.
    for user in ["SVC.n1", "svc.n2", "svc", "host.n1"] {
        if tries(&bed, user, right).await? {
            return Ok(Outcome::Succeeds);
        }
    }
    Ok(Outcome::Refused)
}

async fn log_in_without_tls(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let mut raw = RawNats::plain(bed.server.address()).await?;
    let user = bed.user("evil.n1");
    match raw.login(user.name(), user.password().expose()).await {
        Err(_) => Ok(Outcome::Refused),
        Ok(()) => Ok(Outcome::Succeeds),
    }
}

/// Every text in quotes of the configuration's lines that name `svc.n1`.
async fn log_in_with_what_the_server_holds(mode: Mode) -> Verdict {
    let bed = bed(mode).await?;
    let file = std::fs::read_to_string(bed.server.config_file())?;
    let (_, of_user) = file.split_once("\"svc.n1\"").ok_or("no such user in the file")?;
    let (held, _) = of_user.split_once("permissions").ok_or("a user without permissions")?;
    let held: Vec<&str> = held.split('"').skip(1).step_by(2).collect();
    if held.is_empty() {
        return Err("nothing in place of a password".into());
    }
    for word in held {
        if tries(&bed, "svc.n1", word).await? {
            return Ok(Outcome::Succeeds);
        }
    }
    Ok(Outcome::Refused)
}
