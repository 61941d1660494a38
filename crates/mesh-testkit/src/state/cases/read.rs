use bytes::Bytes;
use mesh_core::store::Entry;

use crate::state::bench::Bench;
use crate::state::{StateCase, case};
use crate::suite::{Verdict, ensure_eq};

pub(super) const CASES: &[StateCase] = &[
    case!(read_gives_what_was_written),
    case!(read_of_nothing_is_none),
    case!(read_of_what_has_expired_is_none),
    case!(read_sees_what_another_wrote),
    case!(read_stays_in_its_bucket),
];

async fn read_gives_what_was_written(bench: &Bench) -> Verdict {
    let handle = bench.open().await?;
    let every_byte: Vec<u8> = (0..=u8::MAX).cycle().take(1000).collect();
    let long_key = "k".repeat(180);
    for (name, value) in [
        ("empty", Bytes::new()),
        ("bytes", every_byte.into()),
        ("A-Z_0=9.part", Bytes::from_static(b"{\"a\": 1}")),
        (&long_key, Bytes::from_static(b"NATS/1.0\r\nKV-Operation: DEL\r\n\r\n")),
    ] {
        let revision = handle.put(name, value.clone()).await?;
        ensure_eq!(handle.read(name).await?, Some(Entry { value, revision }), name);
    }
    Ok(())
}

async fn read_of_nothing_is_none(bench: &Bench) -> Verdict {
    let handle = bench.open().await?;
    ensure_eq!(handle.text("a").await?, None, "never written");
    handle.put("a.b", "1").await?;
    ensure_eq!(handle.text("a").await?, None, "what only begins like a key");
    let removed = handle.store.remove(&super::super::bench::key("a.b")?, None).await?;
    ensure_eq!(removed, mesh_core::store::Removed::Done, "the removal");
    ensure_eq!(handle.text("a.b").await?, None, "removed");
    Ok(())
}

async fn read_of_what_has_expired_is_none(bench: &Bench) -> Verdict {
    let handle = bench.open().await?;
    handle.put("stays", "1").await?;
    handle.lasting("goes", "1", bench.short).await?;
    ensure_eq!(handle.text("goes").await?.as_deref(), Some("1"), "before its end");
    bench.until_gone(&handle, "goes").await?;
    ensure_eq!(handle.text("stays").await?.as_deref(), Some("1"), "another's end is another");
    Ok(())
}

async fn read_sees_what_another_wrote(bench: &Bench) -> Verdict {
    let (one, other) = (bench.open().await?, bench.open().await?);
    for round in 0..20 {
        let value = round.to_string();
        one.put("a", value.clone()).await?;
        ensure_eq!(other.text("a").await?, Some(value), "what the other handle reads");
    }
    Ok(())
}

async fn read_stays_in_its_bucket(bench: &Bench) -> Verdict {
    let (one, two) = (bench.open_bucket("one").await?, bench.open_bucket("two").await?);
    one.put("a", "of one").await?;
    ensure_eq!(two.text("a").await?, None, "the other bucket");
    two.put("a", "of two").await?;
    ensure_eq!(one.text("a").await?.as_deref(), Some("of one"), "the first bucket");
    Ok(())
}
