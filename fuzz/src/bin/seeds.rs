//! Writes inputs to begin with, made by the encoders: `cargo run --bin seeds -- corpus/inbound`.

use std::error::Error;
use std::path::PathBuf;

use mesh_core::json::RawJson;
use mesh_core::mx::{
    Address, AnswerRoute, Envelope, Fault, LegacyRequest, MsgType, MxPath, Party, Profile, Stamp,
    decode,
};
use mesh_core::name::RealmName;
use mesh_fuzz::CUT;

const PATHS: [&str; 7] = [
    "stock.accepts.count",
    "stock.emits.changed",
    "project/daemon.project.accepts.scan",
    "_federation.accepts.subscribe",
    "_edge.emits.answer",
    "sessions.accepts.register",
    "admin.accepts.stop",
];
const REPLIES: [&str; 8] = [
    "[1]",
    r#"{"ok":true,"body":{"n":1.50}}"#,
    r#"{"ok":false,"error":{"code":"E","message":"m","details":[1]}}"#,
    r#"{"result":1e400}"#,
    r#"{"body":1,"more":2}"#,
    r#"{"error":{"code":"E"}}"#,
    "plain",
    "",
];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or("corpus/inbound".into()));
    std::fs::create_dir_all(&folder)?;
    let mut seeds = Vec::new();
    for path in PATHS {
        for kind in [MsgType::Cmd, MsgType::Evt, MsgType::Sub, MsgType::Unsub] {
            let bytes = envelope(kind, path)?;
            for (number, reply) in REPLIES.iter().enumerate() {
                let what = u8::try_from(number)? % 4;
                seeds.push(joined(&[(what, &bytes), (4, reply.as_bytes()), (4, b"late")]));
            }
        }
        let request = legacy(path)?;
        seeds.push(joined(&[(1, &request), (6, b""), (1, &request), (7, b""), (1, &request)]));
        let many: Vec<_> = (0..12).map(|_| (1, &request[..])).collect();
        seeds.push(joined(&many));
    }
    for answer in answers()? {
        seeds.push(joined(&[(0, &answer), (1, &answer)]));
    }
    for (number, seed) in seeds.iter().enumerate() {
        std::fs::write(folder.join(format!("seed-{number:03}")), seed)?;
    }
    println!("{} seeds in {}", seeds.len(), folder.display());
    Ok(())
}

fn joined(happenings: &[(u8, &[u8])]) -> Vec<u8> {
    let parts: Vec<Vec<u8>> =
        happenings.iter().map(|(what, rest)| [&[*what], *rest].concat()).collect();
    parts.join(&CUT)
}

fn envelope(kind: MsgType, path: &'static str) -> Result<Vec<u8>, Box<dyn Error>> {
    let (shop, acme) = (RealmName::new("shop")?, RealmName::new("acme.com")?);
    let back = MxPath::new("desk.accepts.answer")?;
    let from = Party::new(&shop, Some(back.clone()));
    let mut envelope = Envelope::new(kind, from, Address::new(&acme, MxPath::new(path)?));
    envelope.msg_id = Some("m-1".into());
    envelope.correlation_id = Some("c-1".into());
    envelope.trace_id = Some("t-1".into());
    envelope.timestamp = Some(1_000);
    envelope.ttl = Some(3);
    envelope.principal = Some(RawJson::new(r#"{"iss":"https://id","sub":"ada"}"#)?);
    envelope.reply_to = Some(Party::new(&shop, Some(back)));
    envelope.body = Some(RawJson::new(r#"{"a":1e400,"_mx":{},"b":[true,null,"\u00e9"]}"#)?);
    Ok(envelope.encode()?)
}

fn legacy(path: &'static str) -> Result<Vec<u8>, Box<dyn Error>> {
    let (shop, acme) = (RealmName::new("shop")?, RealmName::new("acme.com")?);
    let mut request = LegacyRequest::new(&shop, MxPath::new(path)?, "c-1");
    request.to_realm = Some((&acme).into());
    request.reply_to_realm = Some((&shop).into());
    request.timestamp = Some(1_000);
    request.ttl_ms = Some(60_000);
    request.body = Some(RawJson::new("[1]")?);
    Ok(request.encode())
}

/// Answers as another realm's gateway writes them.
fn answers() -> Result<Vec<Vec<u8>>, Box<dyn Error>> {
    let mut answers = Vec::new();
    let acme = RealmName::new("acme.com")?;
    for bytes in [envelope(MsgType::Cmd, PATHS[0])?, legacy(PATHS[0])?] {
        let decoded = decode(&bytes, usize::MAX)?;
        let profile: Profile = decoded.profile();
        let request = decoded.into_envelope(&acme).ok_or("a request")?;
        let route = AnswerRoute::of(&request, profile).ok_or("a way back")?;
        let stamp = Stamp::new("m-2", 1_000);
        answers.push(route.ok(&stamp, &RawJson::NULL));
        answers.push(route.failed(&stamp, &Fault::new("E", "m")));
    }
    Ok(answers)
}
