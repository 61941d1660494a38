use futures_util::future::try_join_all;
use mesh_core::store::{Expected, Removed, Revision, Written};

use crate::state::bench::{Bench, Handle, done, key};
use crate::state::{StateCase, case};
use crate::suite::{Failure, Verdict, ensure, ensure_eq};

pub(super) const CASES: &[StateCase] = &[
    case!(write_of_what_is_absent_is_done_once),
    case!(write_over_a_revision_needs_that_very_one),
    case!(write_over_anything_replaces_it),
    case!(write_revisions_grow),
    case!(write_has_one_winner_of_many),
    case!(write_after_the_end_finds_nothing),
    case!(write_begins_the_lifetime_anew),
];

async fn write_of_what_is_absent_is_done_once(bench: &Bench) -> Verdict {
    let (one, other) = (bench.open().await?, bench.open().await?);
    let revision = done(one.write("a", "1", Expected::Absent).await?)?;
    for handle in [&one, &other] {
        let again = handle.write("a", "2", Expected::Absent).await?;
        ensure_eq!(again, Written::Conflict, "the second");
    }
    let found = other.read("a").await?.map(|entry| entry.revision);
    ensure_eq!(found, Some(revision), "what stands there");
    ensure_eq!(other.text("a").await?.as_deref(), Some("1"), "its value");
    Ok(())
}

async fn write_over_a_revision_needs_that_very_one(bench: &Bench) -> Verdict {
    let handle = bench.open().await?;
    let first = handle.put("a", "1").await?;
    let second = done(handle.write("a", "2", Expected::Revision(first)).await?)?;
    let beside = handle.put("b", "1").await?;
    for stale in [first, beside, Revision(u64::MAX), Revision(0)] {
        let written = handle.write("a", "3", Expected::Revision(stale)).await?;
        ensure_eq!(written, Written::Conflict, format!("over {stale:?}"));
    }
    ensure_eq!(handle.text("a").await?.as_deref(), Some("2"), "after conflicts");
    for (name, revision) in [("never", second), ("never", Revision(0))] {
        let written = handle.write(name, "3", Expected::Revision(revision)).await?;
        ensure_eq!(written, Written::Conflict, format!("{name} over {revision:?}"));
    }
    ensure_eq!(handle.store.remove(&key("a")?, Some(second)).await?, Removed::Done, "removal");
    let written = handle.write("a", "3", Expected::Revision(second)).await?;
    ensure_eq!(written, Written::Conflict, "over what was removed");
    ensure_eq!(handle.text("a").await?, None, "after all");
    Ok(())
}

async fn write_over_anything_replaces_it(bench: &Bench) -> Verdict {
    let handle = bench.open().await?;
    for value in ["1", "22", ""] {
        let revision = done(handle.write("a", value, Expected::Any).await?)?;
        let entry = handle.read("a").await?;
        ensure_eq!(entry.as_ref().map(|entry| entry.revision), Some(revision), "revision");
        ensure_eq!(handle.text("a").await?.as_deref(), Some(value), "value");
    }
    Ok(())
}

async fn write_revisions_grow(bench: &Bench) -> Verdict {
    let handle = bench.open().await?;
    let mut last = Revision(0);
    let mut grows = |revision: Revision| {
        ensure!(revision > last, "{revision:?} came after {last:?}");
        last = revision;
        Ok::<_, Failure>(())
    };
    grows(handle.put("a", "1").await?)?;
    grows(handle.put("b", "1").await?)?;
    grows(handle.put("a", "2").await?)?;
    ensure_eq!(handle.store.remove(&key("a")?, None).await?, Removed::Done, "removal");
    ensure_eq!(handle.store.remove(&key("b")?, None).await?, Removed::Done, "removal");
    grows(done(handle.write("a", "3", Expected::Absent).await?)?)?;
    grows(handle.lasting("a", "4", bench.short).await?)?;
    bench.until_gone(&handle, "a").await?;
    grows(handle.put("a", "5").await?)
}

async fn write_has_one_winner_of_many(bench: &Bench) -> Verdict {
    const WRITERS: usize = 6;
    const ROUNDS: usize = 10;
    let mut handles = Vec::new();
    for _ in 0..WRITERS {
        handles.push(bench.open().await?);
    }
    let counter = &handles[0];
    let zero = counter.put("count", "0").await?;
    ensure!(zero > Revision(0), "the revision of a writing is 0");
    // Each on a thread of its own.
    let wins = try_join_all(handles.iter().cloned().map(|handle| async move {
        let writing = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(compete(&handle, ROUNDS))
        };
        tokio::task::spawn_blocking(writing).await?
    }))
    .await?;
    for round in 0..ROUNDS {
        let winners = wins.iter().filter(|won| won.contains(&round)).count();
        ensure_eq!(winners, 1, format!("winners of round {round}"));
    }
    let counted = counter.text("count").await?;
    ensure_eq!(counted, Some((WRITERS * ROUNDS).to_string()), "what all have counted together");
    Ok(())
}

/// Writes a key in each round as absent, and adds one to a counter. Answers the rounds it has won.
async fn compete(handle: &Handle, rounds: usize) -> Result<Vec<usize>, Failure> {
    let mut won = Vec::new();
    for round in 0..rounds {
        let written = handle.write(&format!("round.{round}"), "", Expected::Absent).await?;
        if written != Written::Conflict {
            won.push(round);
        }
        loop {
            let Some(entry) = handle.read("count").await? else {
                return Err(Failure::new("the counter is gone"));
            };
            let count: usize = String::from_utf8_lossy(&entry.value).parse()?;
            let next = (count + 1).to_string();
            let expected = Expected::Revision(entry.revision);
            if handle.write("count", next, expected).await? != Written::Conflict {
                break;
            }
        }
    }
    Ok(won)
}

async fn write_after_the_end_finds_nothing(bench: &Bench) -> Verdict {
    let handle = bench.open().await?;
    for name in ["a", "b"] {
        handle.lasting(name, "1", bench.short).await?;
    }
    let old = handle.read("b").await?.map(|entry| entry.revision);
    let absent =
        || async { Ok(handle.write("a", "2", Expected::Absent).await? != Written::Conflict) };
    bench.until("a can be written as absent", absent).await?;
    bench.until_gone(&handle, "b").await?;
    if let Some(old) = old {
        let written = handle.write("b", "2", Expected::Revision(old)).await?;
        ensure_eq!(written, Written::Conflict, "over what has expired");
    }
    ensure_eq!(handle.text("a").await?.as_deref(), Some("2"), "the new entry");
    Ok(())
}

async fn write_begins_the_lifetime_anew(bench: &Bench) -> Verdict {
    let handle = bench.open().await?;
    handle.lasting("longer", "1", bench.short).await?;
    handle.lasting("longer", "2", bench.long()).await?;
    handle.lasting("shorter", "1", bench.long()).await?;
    handle.lasting("shorter", "2", bench.short).await?;
    // Written last, so when it is gone the end that `longer` had first is past.
    bench.until_gone(&handle, "shorter").await?;
    ensure_eq!(handle.text("longer").await?.as_deref(), Some("2"), "after its first end");
    Ok(())
}
