//! MXENV/1 decode and encode against typed `serde_json`.
//!
//! What both sides check: JSON's grammar, UTF-8, text after the value, duplicate keys of the known
//! fields in the envelope's own objects (`serde`'s derive refuses those), the depth of 128, lone
//! surrogates, and the size. `RawValue` skips a body without looking at depth or surrogates, so the
//! baseline has a second pass for these two, one table look-up or match a byte. "Unchecked" is the
//! baseline without that pass, for information: it takes bodies that we refuse.
//!
//! What only ours does: it refuses duplicates among unknown fields, checks realms and paths
//! against their grammar, tells four shapes apart, and keeps unknown fields. What only the baseline
//! does: it owns its strings. "Owned" compares after `into_owned`.

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a program that prints, of messages it made"
)]

use std::collections::BTreeMap;
use std::hint::black_box;

use mesh_benches::Comparison;
use mesh_core::mx::{DEFAULT_MAX_BYTES, Decoded, decode};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

const ITEMS: u32 = 2_000;

fn main() {
    for (name, text) in [
        ("mxenv1 1 KiB body", message(1024)),
        ("mxenv1 16 KiB body", message(16 * 1024)),
        ("mxenv1 64 B body", message(64)),
    ] {
        let bytes = text.as_bytes();
        assert_eq!(through_ours(bytes, false).len(), through_serde(bytes).len());
        let compare = |what: &str, baseline: &dyn Fn() -> usize, ours: &dyn Fn() -> usize| {
            let name = format!("{name}: {what}");
            println!("{}", Comparison::new(name, ITEMS).run(baseline, ours));
        };
        let times = |work: &dyn Fn() -> usize| (0..ITEMS).map(|_| work()).sum::<usize>();
        let serde = || times(&|| through_serde(black_box(bytes)).len());
        let ours = || times(&|| through_ours(black_box(bytes), false).len());
        compare("decode + encode", &serde, &ours);
        compare("decode, own, encode", &serde, &|| {
            times(&|| through_ours(black_box(bytes), true).len())
        });
        compare("decode", &|| times(&|| read_serde(black_box(bytes)).msg_id.len()), &|| {
            times(&|| match decode(black_box(bytes), DEFAULT_MAX_BYTES) {
                Ok(Decoded::MxEnv(e)) => e.msg_id.map_or(0, |id| id.len()),
                _ => 0,
            })
        });
        let unchecked = || {
            times(&|| {
                let typed: Typed = serde_json::from_slice(black_box(bytes)).expect("good");
                serde_json::to_vec(&typed).expect("raw text").len()
            })
        };
        compare("decode + encode, unchecked", &unchecked, &ours);
    }
}

/// A command with every field that is common, and a body of about `size` bytes: text with an
/// escape now and then, numbers, nesting.
fn message(size: usize) -> String {
    let mut rows = Vec::new();
    let mut length = 0;
    while length + 16 < size {
        let n = rows.len();
        let row = format!(
            r#"{{"id":{n},"name":"Lamp {n} \"hall\"","price":12.50,"tags":["new","a b","caf\u00e9"],"stock":{{"de":{n},"fr":null}}}}"#
        );
        length += row.len() + 1;
        rows.push(row);
    }
    format!(
        concat!(
            r#"{{"msgType":"Cmd","to":{{"realm":"acme.com","path":"project/daemon.project.accepts.scan"}},"#,
            r#""from":{{"realm":"flowpad-demo.tab-01","path":"root.ui.app.editor.emits.asked"}},"#,
            r#""replyTo":{{"realm":"flowpad-demo.tab-01","path":"root.ui.app.editor.accepts.answer"}},"#,
            r#""msgId":"0190c3f4-6f0a-7c55-9a53-0a5d1f6f2b11","correlationId":"0190c3f4-6f0a-7c55-9a53-0a5d1f6f2b12","#,
            r#""ttl":8,"timestamp":1700000000000,"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","#,
            r#""principal":{{"iss":"https://id.example","sub":"ada"}},"body":{{"rows":[{}]}}}}"#
        ),
        rows.join(",")
    )
}

fn through_ours(bytes: &[u8], own: bool) -> Vec<u8> {
    let decoded = decode(bytes, DEFAULT_MAX_BYTES).expect("a good envelope");
    let Decoded::MxEnv(envelope) = decoded else { unreachable!("MXENV/1") };
    if own {
        envelope.into_owned().encode().expect("all fields")
    } else {
        envelope.encode().expect("all fields")
    }
}

fn through_serde(bytes: &[u8]) -> Vec<u8> {
    serde_json::to_vec(&read_serde(bytes)).expect("strings and raw text")
}

fn read_serde(bytes: &[u8]) -> Typed {
    assert!(bytes.len() <= DEFAULT_MAX_BYTES);
    assert!(depth_and_surrogates(bytes));
    serde_json::from_slice(bytes).expect("a good envelope")
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Typed {
    msg_type: String,
    to: TypedAddress,
    from: TypedAddress,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<TypedAddress>,
    msg_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    auth: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<BTreeMap<String, Box<RawValue>>>,
}

#[derive(Serialize, Deserialize)]
struct TypedAddress {
    realm: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
}

/// Whether no more than 128 containers are open at once and every surrogate has its other half.
fn depth_and_surrogates(bytes: &[u8]) -> bool {
    let mut at = 0;
    let mut depth = 0;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => {
                depth += 1;
                if depth > 128 {
                    return false;
                }
            }
            b'}' | b']' => depth -= 1,
            b'"' => loop {
                while bytes.get(at).is_some_and(|b| PLAIN[usize::from(*b)]) {
                    at += 1;
                }
                if bytes.get(at) != Some(&b'\\') {
                    at += 1;
                    break;
                }
                match unit(bytes, at) {
                    Some(0xd800..=0xdbff) => {
                        if !matches!(unit(bytes, at + 6), Some(0xdc00..=0xdfff)) {
                            return false;
                        }
                        at += 12;
                    }
                    Some(0xdc00..=0xdfff) => return false,
                    _ => at += 2,
                }
            },
            _ => {}
        }
    }
    true
}

const PLAIN: [bool; 256] = {
    let mut plain = [true; 256];
    plain[b'"' as usize] = false;
    plain[b'\\' as usize] = false;
    plain
};

fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(br"\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}
