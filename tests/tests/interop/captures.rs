//! The golden captures of the second reader, against ours: what it wrote is read as it meant it, what it
//! refuses is refused, and it reads what ours writes.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use mesh_core::json::RawJson;
use mesh_core::mx::{
    Decoded, Envelope, Fault, LegacyReply, LegacyRequest, MailboxKind, MxPath, MxUri, Party,
    decode, escape,
};
use mesh_core::name::RealmName;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::python::foreign;

const MAX_BYTES: usize = 1 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Captures {
    protocol: String,
    envelopes: Vec<Written>,
    refused: Vec<Refused>,
    mailboxes: Vec<Mailbox>,
    addresses: Vec<Address>,
    no_addresses: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    bytes: String,
    says: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refused {
    name: String,
    bytes: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mailbox {
    realm: String,
    legacy: String,
    mxenv1: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Address {
    text: String,
    realm: String,
    mounts: Vec<String>,
    component: String,
    plane: String,
    message: String,
    path: String,
}

fn text() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/federation/captures.json");
    std::fs::read_to_string(file).unwrap()
}

fn captures() -> Captures {
    let captures: Captures = serde_json::from_str(&text()).unwrap();
    assert_eq!(captures.protocol, "§8");
    captures
}

#[test]
fn the_captures_are_those_that_the_second_reader_writes_today() {
    let output = foreign("captures").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), text());
}

#[test]
fn ours_reads_each_envelope_as_the_second_reader_meant_it() {
    for written in captures().envelopes {
        let decoded = decode(written.bytes.as_bytes(), MAX_BYTES);
        let decoded = decoded.unwrap_or_else(|error| panic!("{}: {error}", written.name));
        assert_eq!(says(&decoded), written.says, "{}", written.name);
    }
}

#[test]
fn ours_refuses_what_the_second_reader_refuses() {
    for refused in captures().refused {
        assert!(decode(refused.bytes.as_bytes(), MAX_BYTES).is_err(), "{}", refused.name);
    }
}

/// Mailboxes and mxesc1 are the same byte for byte, and addresses are taken apart alike.
#[test]
fn topics_and_addresses_are_the_same() {
    let captures = captures();
    for Mailbox { realm, legacy, mxenv1 } in captures.mailboxes {
        let name: RealmName = realm.parse().unwrap();
        assert_eq!(MailboxKind::Legacy.subject(&name).as_str(), legacy);
        assert_eq!(MailboxKind::default().subject(&name).as_str(), mxenv1);
        let escaped = legacy.strip_prefix("public.ingress.").unwrap();
        assert_eq!(escape::decode_canonical(escaped).unwrap(), realm);
    }
    for address in captures.addresses {
        let uri = MxUri::parse(&address.text).unwrap();
        let path = uri.path();
        assert_eq!(uri.realm().as_str(), address.realm);
        assert_eq!(path.mounts().collect::<Vec<_>>(), address.mounts);
        assert_eq!(path.component(), address.component);
        assert_eq!(path.plane().as_str(), address.plane);
        assert_eq!(path.message(), address.message);
        assert_eq!(path.as_str(), address.path);
    }
    for text in captures.no_addresses {
        assert!(MxUri::parse(&text).is_err(), "{text}");
    }
}

/// What ours writes of what it has read, the second reader reads as it was meant, body and all.
#[test]
fn the_second_reader_reads_what_ours_writes() {
    let captures = captures();
    let mut lines = String::new();
    for written in &captures.envelopes {
        let bytes = match decode(written.bytes.as_bytes(), MAX_BYTES).unwrap() {
            Decoded::MxEnv(envelope) => envelope.encode().unwrap(),
            Decoded::LegacyRequest(request) | Decoded::LegacyEvent(request) => request.encode(),
            Decoded::LegacyReply(reply) => reply.encode(),
        };
        lines.push_str(&json!(String::from_utf8(bytes).unwrap()).to_string());
        lines.push('\n');
    }
    let mut reader = foreign("read").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = reader.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = reader.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let read = String::from_utf8(output.stdout).unwrap();
    let read: Vec<Value> = read.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(read.len(), captures.envelopes.len());
    for (written, read) in captures.envelopes.iter().zip(read) {
        assert_eq!(read, written.says, "{}", written.name);
    }
}

/// What an envelope says, in the second reader's words.
fn says(decoded: &Decoded<'_>) -> Value {
    let mut said = Said::default();
    match decoded {
        Decoded::MxEnv(envelope) => said.envelope(envelope),
        Decoded::LegacyRequest(request) => said.request("Cmd", request),
        Decoded::LegacyEvent(request) => said.request("Evt", request),
        Decoded::LegacyReply(reply) => said.reply(reply),
    }
    said.0.into_iter().collect::<BTreeMap<_, _>>().into_iter().collect::<Map<_, _>>().into()
}

#[derive(Default)]
struct Said(Vec<(String, Value)>);

impl Said {
    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.0.push((key.to_owned(), value.into()));
    }

    fn may(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    fn end(&mut self, name: &str, realm: Option<&str>, path: Option<&MxPath<'_>>) {
        self.may(&format!("{name}Realm"), realm);
        self.may(&format!("{name}Path"), path.map(MxPath::as_str));
    }

    fn party(&mut self, name: &str, party: Option<&Party<'_>>) {
        self.end(
            name,
            party.map(|party| party.realm.as_str()),
            party.and_then(|party| party.path.as_ref()),
        );
    }

    fn fault(&mut self, fault: Option<&Fault<'_>>) {
        self.may(
            "error",
            fault.map(|fault| {
                let mut error = json!({"code": fault.code, "message": fault.message});
                if let Some(details) = &fault.details {
                    error["details"] = details.as_str().into();
                }
                error
            }),
        );
    }

    fn envelope(&mut self, e: &Envelope<'_>) {
        self.put("profile", "mxenv1");
        self.put("kind", e.kind.as_str());
        self.end("to", Some(e.to.realm.as_str()), Some(&e.to.path));
        self.party("from", Some(&e.from));
        self.party("reply", e.reply_to.as_ref());
        self.may("msgId", e.msg_id.as_deref());
        self.may("correlationId", e.correlation_id.as_deref());
        self.may("ttl", e.ttl);
        self.may("timestamp", e.timestamp);
        self.may("traceId", e.trace_id.as_deref());
        self.may("principal", e.principal.as_ref().map(RawJson::as_str));
        self.may("body", e.body.as_ref().map(RawJson::as_str));
        self.fault(e.error.as_ref());
    }

    fn request(&mut self, kind: &str, r: &LegacyRequest<'_>) {
        self.put("profile", "legacy");
        self.put("kind", kind);
        self.end("to", r.to_realm.as_ref().map(AsRef::as_ref), Some(&r.to_path));
        self.end("from", Some(r.from_realm.as_str()), r.from_path.as_ref());
        self.end("reply", r.reply_to_realm.as_ref().map(AsRef::as_ref), r.reply_to_path.as_ref());
        self.may("msgId", r.msg_id.as_deref());
        self.put("correlationId", &*r.correlation_id);
        self.may("timestamp", r.timestamp);
        self.may("ttlMs", r.ttl_ms);
        self.may("principal", r.principal.as_ref().map(RawJson::as_str));
        self.may("body", r.body.as_ref().map(RawJson::as_str));
    }

    fn reply(&mut self, r: &LegacyReply<'_>) {
        self.put("profile", "legacy");
        self.put("kind", if r.ok { "Result" } else { "Nack" });
        self.put("correlationId", &*r.correlation_id);
        self.may("fromRealm", r.from_realm.as_ref().map(|realm| realm.as_str()));
        self.may("timestamp", r.timestamp);
        self.may("body", r.body.as_ref().map(RawJson::as_str));
        self.fault(r.error.as_ref());
    }
}
