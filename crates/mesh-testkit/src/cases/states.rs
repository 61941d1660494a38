use mesh_core::port::ConnectionState;

use crate::suite::{Case, Stage, Verdict, case, ensure, ensure_eq};

pub(super) const CASES: &[Case] = &[
    case!(capabilities_are_those_promised),
    case!(capabilities_stay_the_same),
    case!(states_begin_with_the_current_one),
    case!(states_end_with_closed),
];

async fn capabilities_are_those_promised(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let connection = scene.join("mail").await?;
    let declared: Vec<_> = connection.transport().capabilities().iter().collect();
    let mut promised = stage.promised();
    promised.sort_unstable();
    promised.dedup();
    ensure_eq!(declared, promised, "capabilities");
    Ok(())
}

async fn capabilities_stay_the_same(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let connection = scene.join("mail").await?;
    let before = connection.transport().capabilities().clone();
    let _subscription = scene.subscribe(&connection, "test.a").await?;
    scene.flush(&connection).await?;
    let after = connection.transport().capabilities().clone();
    ensure_eq!(after, before, "capabilities after use");
    Ok(())
}

async fn states_begin_with_the_current_one(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let connection = scene.join("mail").await?;
    scene.flush(&connection).await?;
    for _reader in 0..2 {
        let mut states = connection.transport().states();
        let first = scene.soon("a state", states.next()).await?;
        ensure!(
            matches!(first, Some(ConnectionState::Connected)),
            "a connection in use begins with {first:?}"
        );
    }
    Ok(())
}

async fn states_end_with_closed(stage: &Stage<'_>) -> Verdict {
    let scene = stage.live().await?;
    let connection = scene.join("mail").await?;
    let mut early = connection.transport().states();
    let _connected = scene.soon("a state", early.next()).await?;
    scene.close(&connection).await?;
    let mut late = connection.transport().states();
    for states in [&mut early, &mut late] {
        let mut last = None;
        while let Some(state) = scene.soon("the last state", states.next()).await? {
            ensure!(!matches!(last, Some(ConnectionState::Closed)), "{state:?} came after Closed");
            last = Some(state);
        }
        ensure!(matches!(last, Some(ConnectionState::Closed)), "the last state is {last:?}");
    }
    Ok(())
}
