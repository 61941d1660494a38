mod chain;
mod properties;
mod rate;
mod replay;
mod stateless;
mod threads;

use std::time::Duration;

use super::*;
use crate::mx::MsgType;
use crate::name::RealmName;
use crate::time::Timestamp;

const SECRET: HashSecret = HashSecret::new([42; 16]);

fn realm(name: &str) -> RealmName {
    RealmName::new(name).unwrap()
}

/// Both clocks at this many milliseconds.
fn at(millis: u64) -> Now {
    Now {
        wall: Timestamp::from_millis(i64::try_from(millis).unwrap()),
        monotonic: Duration::from_millis(millis),
    }
}

/// A command of this realm with this id, to `acme.com`.
fn command<'a>(from: &'a str, id: &'a str) -> Inbound<'a> {
    Inbound {
        from_realm: Some(from),
        to_realm: Some("acme.com"),
        to_path: Some("mail.accepts.send"),
        reply_to_realm: Some(from),
        msg_id: Some(id),
        ..Inbound::new(MsgType::Cmd)
    }
}

fn figure(guard: &dyn Guard, name: &str) -> u64 {
    let figures = guard.figures();
    figures.iter().find(|(own, _)| *own == name).unwrap().1
}

fn refusal(verdict: Verdict) -> Refusal {
    match verdict {
        Verdict::Refuse(refusal) => refusal,
        other => panic!("{other:?}"),
    }
}
