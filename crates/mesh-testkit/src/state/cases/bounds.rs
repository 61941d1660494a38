use mesh_core::store::{Expected, Removed, StoreErrorKind};

use crate::state::bench::{Bench, done, key};
use crate::state::{StateCase, case};
use crate::suite::{Failure, Verdict, ensure, ensure_eq};

pub(super) const CASES: &[StateCase] = &[
    case!(write_of_the_largest_value_is_done),
    case!(write_of_one_byte_more_is_too_large),
    case!(write_into_a_full_bucket_is_full, by Small),
    case!(write_to_a_store_that_is_away_is_unavailable, by TakeAway),
];

async fn write_of_the_largest_value_is_done(bench: &Bench) -> Verdict {
    let handle = bench.open().await?;
    let value = vec![0xff; handle.store.max_value()];
    let long_key = "k".repeat(180);
    handle.put(&long_key, value.clone()).await?;
    let found = handle.read(&long_key).await?;
    ensure!(found.is_some_and(|entry| entry.value == value), "another value is read");
    Ok(())
}

async fn write_of_one_byte_more_is_too_large(bench: &Bench) -> Verdict {
    let handle = bench.open().await?;
    let revision = handle.put("a", "1").await?;
    for bytes in [handle.store.max_value() + 1, handle.store.max_value() * 2] {
        let error = match handle.try_write("a", vec![0; bytes], Expected::Any).await {
            Err(error) => error,
            Ok(written) => return Err(Failure::new(format!("{bytes} bytes: {written:?}"))),
        };
        ensure_eq!(error.kind(), StoreErrorKind::TooLarge, format!("{bytes} bytes: {error}"));
        ensure!(!error.may_retry(), "it says that trying again may help");
    }
    let found = handle.read("a").await?.map(|entry| entry.revision);
    ensure_eq!(found, Some(revision), "what stands there");
    Ok(())
}

async fn write_into_a_full_bucket_is_full(bench: &Bench) -> Verdict {
    let handle = bench.open_small().await?;
    let value = vec![b'x'; 256];
    let mut written = 0;
    let error = loop {
        match handle.try_write(&format!("k{written}"), value.clone(), Expected::Absent).await {
            Ok(made) => done(made)?,
            Err(error) => break error,
        };
        written += 1;
        ensure!(written < 1000, "a small bucket has taken 1000 entries");
    };
    ensure_eq!(error.kind(), StoreErrorKind::Full, format!("{error}"));
    ensure!(error.may_retry(), "it does not say that trying again may help");
    ensure!(written >= 2, "only {written} entries fit");
    for number in 0..written {
        let found = handle.read(&format!("k{number}")).await?;
        ensure!(found.is_some(), "k{number} was pushed out");
    }
    handle.put("k0", vec![b'y'; 256]).await?;
    let removed = handle.store.remove(&key("k1")?, None).await?;
    ensure_eq!(removed, Removed::Done, "a removal");
    ensure_eq!(handle.store.remove(&key("absent")?, None).await?, Removed::Done, "of nothing");
    let room = || async {
        match handle.try_write("new", value.clone(), Expected::Absent).await {
            Ok(made) => done(made).map(|_| true),
            Err(error) if error.kind() == StoreErrorKind::Full => Ok(false),
            Err(error) => Err(error.into()),
        }
    };
    bench.until("a removal makes room", room).await
}

async fn write_to_a_store_that_is_away_is_unavailable(bench: &Bench) -> Verdict {
    let handle = bench.open().await?;
    handle.put("a", "1").await?;
    bench.bed.take_away().await;
    let name = key("a")?;
    let errors = [
        ("write", handle.try_write("a", "2", Expected::Any).await.err()),
        ("read", handle.store.read(&name).await.err()),
        ("remove", handle.store.remove(&name, None).await.err()),
        ("watch", handle.store.watch().await.err()),
    ];
    for (call, error) in errors {
        let Some(error) = error else {
            return Err(Failure::new(format!("{call} of a store that is away went well")));
        };
        ensure_eq!(error.kind(), StoreErrorKind::Unavailable, format!("{call}: {error}"));
        ensure!(error.may_retry(), "{call} does not say that trying again may help");
    }
    Ok(())
}
