use mesh_core::store::{Expected, Removed, Revision};

use crate::state::bench::{Bench, done, key};
use crate::state::{StateCase, case};
use crate::suite::{Verdict, ensure_eq};

pub(super) const CASES: &[StateCase] = &[
    case!(remove_takes_the_entry),
    case!(remove_of_another_revision_conflicts),
    case!(remove_of_nothing_is_done),
];

async fn remove_takes_the_entry(bench: &Bench) -> Verdict {
    let (one, other) = (bench.open().await?, bench.open().await?);
    let name = key("a")?;
    for by_revision in [true, false] {
        let revision = done(one.write("a", "1", Expected::Absent).await?)?;
        let only = by_revision.then_some(revision);
        ensure_eq!(other.store.remove(&name, only).await?, Removed::Done, "the removal");
        ensure_eq!(one.text("a").await?, None, "what is read then");
    }
    done(one.write("a", "2", Expected::Absent).await?)?;
    Ok(())
}

async fn remove_of_another_revision_conflicts(bench: &Bench) -> Verdict {
    let handle = bench.open().await?;
    let name = key("a")?;
    let first = handle.put("a", "1").await?;
    handle.put("a", "2").await?;
    let beside = handle.put("b", "1").await?;
    for stale in [first, beside, Revision(0), Revision(u64::MAX)] {
        let removed = handle.store.remove(&name, Some(stale)).await?;
        ensure_eq!(removed, Removed::Conflict, format!("of {stale:?}"));
    }
    ensure_eq!(handle.text("a").await?.as_deref(), Some("2"), "what stands there");
    Ok(())
}

async fn remove_of_nothing_is_done(bench: &Bench) -> Verdict {
    let handle = bench.open().await?;
    let revision = handle.lasting("expired", "1", bench.short).await?;
    let removed = handle.put("removed", "1").await?;
    ensure_eq!(handle.store.remove(&key("removed")?, None).await?, Removed::Done, "the first");
    bench.until_gone(&handle, "expired").await?;
    for (name, revision) in
        [("expired", revision), ("removed", removed), ("never", revision), ("never", Revision(0))]
    {
        for only in [Some(revision), None] {
            let removed = handle.store.remove(&key(name)?, only).await?;
            ensure_eq!(removed, Removed::Done, format!("{name}, {only:?}"));
        }
        done(handle.write(name, "2", Expected::Absent).await?)?;
        ensure_eq!(handle.store.remove(&key(name)?, None).await?, Removed::Done, "of the new one");
    }
    Ok(())
}
