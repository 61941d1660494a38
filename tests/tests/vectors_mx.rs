//! Golden vectors of the federation's wire, `vectors/mx/*.json`.
//!
//! The baseline is strict: a file that no runner reads fails, so does a runner without a file, a
//! key that a vector should not have, a name that comes twice, and an output with a field more or
//! less than expected.

#![allow(clippy::expect_used, clippy::panic, reason = "helpers of tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mesh_core::json::RawJson;
use mesh_core::mx::{
    Decoded, MailboxKind, MxUri, Topic, decode, decode_reply, escape, principal_key,
};
use mesh_core::name::RealmName;
use serde::Deserialize;
use serde_json::{Value, json};

const MAX_BYTES: usize = 2048;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    protocol: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    input: Option<String>,
    input_hex: Option<String>,
    output: Option<Value>,
    error: Option<String>,
}

type Runner = fn(&[u8]) -> Result<Value, String>;

const RUNNERS: [(&str, Runner); 6] = [
    ("envelopes.json", |bytes| {
        let decoded = decode(bytes, MAX_BYTES).map_err(|e| e.to_string())?;
        Ok(envelope(decoded))
    }),
    ("mxesc1.json", |bytes| {
        let decoded = escape::decode(text(bytes)).map_err(|e| e.to_string())?;
        let canonical = escape::decode_canonical(text(bytes)).is_ok();
        assert_eq!(canonical, escape::encode(&decoded) == text(bytes));
        Ok(json!({"decoded": decoded, "canonical": canonical}))
    }),
    ("principals.json", |bytes| {
        let principal = RawJson::new(text(bytes)).map_err(|e| e.to_string())?;
        Ok(json!({"key": principal_key(&principal)}))
    }),
    ("replies.json", |bytes| Ok(reply(bytes))),
    ("topics.json", |bytes| {
        let topic = text(bytes).parse::<Topic>().map_err(|e| e.to_string())?;
        assert_eq!(topic.subject().expect("short").as_str(), text(bytes));
        Ok(topic_parts(&topic))
    }),
    ("uri.json", |bytes| {
        let uri = MxUri::parse(text(bytes)).map_err(|e| e.to_string())?;
        let path = uri.path();
        Ok(json!({
            "realm": uri.realm().as_str(),
            "mounts": path.mounts().collect::<Vec<_>>(),
            "component": path.component(),
            "plane": path.plane().as_str(),
            "message": path.message(),
            "printed": uri.to_string(),
            "segmented": uri.segmented().to_string(),
        }))
    }),
];

fn envelope(decoded: Decoded<'_>) -> Value {
    let shape = match &decoded {
        Decoded::MxEnv(_) => "MxEnv",
        Decoded::LegacyRequest(_) => "LegacyRequest",
        Decoded::LegacyEvent(_) => "LegacyEvent",
        Decoded::LegacyReply(_) => "LegacyReply",
    };
    let encoded = match &decoded {
        Decoded::MxEnv(envelope) => envelope.encode().expect("as it came"),
        Decoded::LegacyRequest(request) | Decoded::LegacyEvent(request) => request.encode(),
        Decoded::LegacyReply(reply) => reply.encode(),
    };
    let mut output = json!({
        "shape": shape,
        "profile": decoded.profile().name(),
        "encoded": text(&encoded),
    });
    let mailbox = RealmName::new("acme.com").expect("a realm");
    if let Some(envelope) = decoded.into_envelope(&mailbox) {
        let key = envelope.replay_key().expect("an id");
        output["replay"] = json!([key.realm, key.id]);
    }
    output
}

fn reply(bytes: &[u8]) -> Value {
    match decode_reply(bytes, MAX_BYTES) {
        Ok(body) => json!({"ok": body.as_str()}),
        Err(fault) => {
            let mut failed = json!({"code": fault.code, "message": fault.message});
            if let Some(details) = &fault.details {
                failed["details"] = details.as_str().into();
            }
            json!({ "failed": failed })
        }
    }
}

fn topic_parts(topic: &Topic) -> Value {
    match topic {
        Topic::Mailbox(MailboxKind::Legacy, realm) => {
            json!({"kind": "legacy mailbox", "realm": realm})
        }
        Topic::Mailbox(MailboxKind::LegacyRaw, realm) => {
            json!({"kind": "raw legacy mailbox", "realm": realm})
        }
        Topic::Mailbox(MailboxKind::Mx(shard), realm) => {
            json!({"kind": "mailbox", "realm": realm, "shard": shard.to_string()})
        }
        Topic::RouteInbox(realm, shard) => {
            json!({"kind": "route inbox", "realm": realm, "shard": shard.to_string()})
        }
        Topic::Internal(realm, path) => {
            json!({"kind": "internal", "realm": realm, "path": path.as_str()})
        }
        Topic::InternalReply(realm, id) => {
            json!({"kind": "internal reply", "realm": realm, "id": id.to_string()})
        }
        other => panic!("no vectors for {other:?}"),
    }
}

#[test]
fn every_vector_comes_out_as_written() {
    let files = files();
    let mut failures = Vec::new();
    for (name, runner) in RUNNERS {
        let file = parse(&files[name]).unwrap_or_else(|error| panic!("{name}: {error}"));
        for case in &file.cases {
            let found = runner(&input(case));
            let expected = match (&case.output, &case.error) {
                (Some(output), None) => Ok(output.clone()),
                (None, Some(error)) => Err(error.clone()),
                _ => panic!("{name}: {:?}: either an output or an error", case.name),
            };
            if found != expected {
                failures.push(format!(
                    "{name}: {:?}\n  expected {expected:?}\n  found    {found:?}",
                    case.name
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_file_has_a_runner_and_every_runner_a_file() {
    let files: BTreeSet<_> = files().into_keys().collect();
    let runners: BTreeSet<_> = RUNNERS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(files, runners);
}

#[test]
fn a_vector_with_a_key_too_many_is_refused() {
    let good = r#"{"protocol":"§8","cases":[{"name":"a","input":"b","error":"c"}]}"#;
    assert!(parse(good).is_ok());
    for bad in [
        good.replace("\"input\"", "\"note\":1,\"input\""),
        good.replace("\"cases\"", "\"note\":1,\"cases\""),
        good.replace("§8", "somewhere"),
        good.replace("[{", r#"[{"name":"a","input":"b","error":"c"},{"#),
    ] {
        assert!(parse(&bad).is_err(), "{bad}");
    }
}

/// Name and text of every vector file.
fn files() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/mx");
    std::fs::read_dir(folder)
        .expect("the folder of vectors")
        .map(|entry| {
            let entry = entry.expect("an entry");
            let text = std::fs::read_to_string(entry.path()).expect("a text");
            (entry.file_name().into_string().expect("a name"), text)
        })
        .collect()
}

fn parse(text: &str) -> Result<File, String> {
    let file: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if !file.protocol.starts_with('§') {
        return Err("no section of the protocol".to_owned());
    }
    let names: BTreeSet<_> = file.cases.iter().map(|case| &case.name).collect();
    if names.len() != file.cases.len() || names.is_empty() {
        return Err("no cases, or two of one name".to_owned());
    }
    Ok(file)
}

fn input(case: &Case) -> Vec<u8> {
    match (&case.input, &case.input_hex) {
        (Some(text), None) => text.clone().into_bytes(),
        (None, Some(hex)) => hex
            .as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(text(pair), 16).expect("hex digits"))
            .collect(),
        _ => panic!("{:?}: either `input` or `input_hex`", case.name),
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}
