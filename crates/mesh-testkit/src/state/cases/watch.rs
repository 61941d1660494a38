use std::collections::{BTreeMap, BTreeSet};

use mesh_core::store::{Change, Revision, StoreErrorKind};

use crate::state::bench::{Bench, key, text, word};
use crate::state::{StateCase, case};
use crate::suite::{Verdict, ensure, ensure_eq};

pub(super) const CASES: &[StateCase] = &[
    case!(watch_tells_what_stands_there_and_then_caught),
    case!(watch_tells_each_change_of_a_key_in_order),
    case!(watch_tells_an_expiry),
    case!(watch_begun_amid_writings_misses_none),
    case!(watch_that_is_left_behind_ends_with_an_error, by Backlog),
    case!(watch_ends_with_an_error_when_the_store_goes, by TakeAway),
];

async fn watch_tells_what_stands_there_and_then_caught(bench: &Bench) -> Verdict {
    let handle = bench.open().await?;
    let mut empty = bench.watch(&handle).await?;
    ensure_eq!(empty.change().await?, Change::Caught, "an empty bucket");
    let mut expected = BTreeSet::new();
    for number in 0..40 {
        let (name, value) = (format!("k.{number}"), format!("v{number}"));
        handle.put(&name, "old").await?;
        handle.put(&name, value.clone()).await?;
        expected.insert(format!("{name}={value}"));
    }
    handle.put("removed", "1").await?;
    let _ = handle.store.remove(&key("removed")?, None).await?;
    bench.open_bucket("two").await?.put("of-two", "1").await?;
    let mut watch = bench.watch(&bench.open().await?).await?;
    let present = watch.present().await?;
    ensure_eq!(present.len(), expected.len(), "how many are told");
    ensure_eq!(present.iter().map(word).collect::<BTreeSet<_>>(), expected, "what is told");
    for change in &present {
        let Change::Written(key, entry) = change else { continue };
        let found = handle.read(key.as_str()).await?;
        ensure_eq!(found.as_ref(), Some(entry), "the entry that is told");
    }
    Ok(())
}

async fn watch_tells_each_change_of_a_key_in_order(bench: &Bench) -> Verdict {
    let (one, other) = (bench.open().await?, bench.open().await?);
    let mut watches = [bench.watch(&one).await?, bench.watch(&other).await?];
    for watch in &mut watches {
        ensure_eq!(watch.present().await?, [], "in an empty bucket");
    }
    let mut revisions = Vec::new();
    for value in ["1", "2", ""] {
        revisions.push(one.put("a", value).await?);
    }
    let _ = other.store.remove(&key("a")?, None).await?;
    revisions.push(other.put("a", "4").await?);
    for watch in &mut watches {
        let (mut words, mut told) = (Vec::new(), Vec::new());
        for _ in 0..5 {
            let change = watch.change().await?;
            words.push(word(&change));
            if let Change::Written(_, entry) = change {
                told.push(entry.revision);
            }
        }
        ensure_eq!(words, ["a=1", "a=2", "a=", "-a", "a=4"], "the changes");
        ensure_eq!(told, revisions, "their revisions");
    }
    Ok(())
}

async fn watch_tells_an_expiry(bench: &Bench) -> Verdict {
    let handle = bench.open().await?;
    let mut watch = bench.watch(&handle).await?;
    watch.present().await?;
    handle.put("stays", "1").await?;
    handle.lasting("goes", "1", bench.short).await?;
    ensure_eq!(word(&watch.change().await?), "stays=1", "the first change");
    ensure_eq!(word(&watch.change().await?), "goes=1", "the second change");
    let time = async {
        loop {
            bench.bed.pass(bench.short / 8).await;
        }
    };
    tokio::select! {
        change = watch.change() => ensure_eq!(word(&change?), "-goes", "the third change"),
        () = time => {}
    }
    ensure_eq!(handle.text("goes").await?, None, "what is read then");
    Ok(())
}

async fn watch_begun_amid_writings_misses_none(bench: &Bench) -> Verdict {
    const ROUNDS: usize = 12;
    const KEYS: usize = 12;
    let (writer, reader) = (bench.open().await?, bench.open().await?);
    let writing = async {
        for round in 0..ROUNDS {
            for number in 0..KEYS {
                let name = format!("k{number}");
                if (round + number) % 3 == 0 {
                    let _ = writer.store.remove(&key(&name)?, None).await?;
                } else {
                    writer.put(&name, round.to_string()).await?;
                }
                if number == round {
                    // What is written once is missed once.
                    writer.put(&format!("once.{round}"), "").await?;
                }
            }
        }
        writer.put("end", "").await
    };
    let watching = async {
        let mut seen = BTreeMap::<String, (Revision, String)>::new();
        let mut watch = bench.watch(&reader).await?;
        let (mut caught, mut ended) = (false, false);
        while !(caught && ended) {
            match watch.change().await? {
                Change::Caught => {
                    ensure!(!caught, "told twice that all has been told");
                    caught = true;
                }
                Change::Removed(key) => {
                    seen.remove(key.as_str());
                }
                Change::Written(key, entry) => {
                    let name = key.as_str().to_owned();
                    ended |= name == "end";
                    let (new, value) = (entry.revision, text(&entry.value));
                    if let Some((old, _)) = seen.insert(name.clone(), (new, value)) {
                        ensure!(old <= new, "{name}: {new:?} came after {old:?}");
                    }
                }
            }
        }
        Ok(seen)
    };
    let (written, seen) = tokio::join!(writing, watching);
    let (_, seen) = (written?, seen?);
    for name in (0..KEYS).flat_map(|number| [format!("k{number}"), format!("once.{number}")]) {
        let told = seen.get(&name).map(|(_, value)| value.clone());
        ensure_eq!(told, reader.text(&name).await?, format!("{name}, told and read"));
    }
    Ok(())
}

async fn watch_that_is_left_behind_ends_with_an_error(bench: &Bench) -> Verdict {
    let handle = bench.open().await?;
    let mut watch = bench.watch(&handle).await?;
    watch.present().await?;
    for number in 0..bench.bed.backlog() + 8 {
        handle.put("a", number.to_string()).await?;
    }
    let error = watch.error().await?;
    ensure_eq!(error.kind(), StoreErrorKind::Unavailable, format!("{error}"));
    ensure!(watch.next().await?.is_none(), "something comes after the error");
    let mut anew = bench.watch(&handle).await?;
    let present = anew.present().await?;
    ensure_eq!(present.len(), 1, "what is told to one who watches anew");
    Ok(())
}

async fn watch_ends_with_an_error_when_the_store_goes(bench: &Bench) -> Verdict {
    let handle = bench.open().await?;
    handle.put("a", "1").await?;
    let mut watch = bench.watch(&handle).await?;
    watch.present().await?;
    bench.bed.take_away().await;
    let error = watch.error().await?;
    ensure_eq!(error.kind(), StoreErrorKind::Unavailable, format!("{error}"));
    ensure!(watch.next().await?.is_none(), "something comes after the error");
    Ok(())
}
