use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::try_join;
use mesh_core::port::Capability;
use tokio::time::Instant;

use super::Difference;
use super::seen::{Apart, Look};
use crate::suite::{Failure, Harness, Stage};

/// One broker, what was done to it and what it answered.
#[async_trait]
pub(super) trait Side: Sized + Send {
    type Step: Debug + Send + Sync;

    /// A fresh one, for these steps; `common` is what both brokers promise.
    async fn open(
        stage: &Stage<'_>,
        common: &Common,
        steps: &[Self::Step],
    ) -> Result<Self, Failure>;

    /// Does a step; the answer is what its caller sees of it.
    async fn act(&mut self, step: &Self::Step) -> Result<String, Failure>;

    /// How it looks now.
    async fn look(&mut self) -> Result<Look, Failure>;

    /// Does what brings to light whatever is left.
    async fn end(&mut self) -> Result<String, Failure>;

    /// Why what was seen since the last step proves nothing.
    fn too_slow(&self) -> Option<String> {
        None
    }
}

/// What both brokers promise.
#[derive(Debug, Clone)]
pub(super) struct Common(Vec<Capability>);

impl Common {
    pub(super) fn has(&self, capability: Capability) -> bool {
        self.0.contains(&capability)
    }
}

/// What both must promise.
pub(super) struct Needs(pub(super) &'static [Capability]);

pub(super) async fn run<S: Side>(
    Needs(needs): Needs,
    harnesses: [&dyn Harness; 2],
    steps: &[S::Step],
) -> Result<(), Difference> {
    let [first, second] = harnesses.map(Harness::promised);
    let common = Common(first.into_iter().filter(|one| second.contains(one)).collect());
    if let Some(missing) = needs.iter().find(|needed| !common.has(**needed)) {
        let problem = format!("the comparison needs {missing:?}, which is not promised by both");
        return Err(Difference { step: 0, operation: None, problem, too_slow: false });
    }
    let stages = harnesses.map(Stage::new);
    let compared = compare::<S>(&stages, &common, harnesses, steps).await;
    for stage in &stages {
        stage.end().await;
    }
    compared
}

async fn compare<S: Side>(
    [first, second]: &[Stage<'_>; 2],
    common: &Common,
    harnesses: [&dyn Harness; 2],
    steps: &[S::Step],
) -> Result<(), Difference> {
    let opening = [S::open(first, common, steps), S::open(second, common, steps)];
    let [one, other] = opening.map(Box::pin);
    let (one, other) = futures_util::future::join(one, other).await;
    let whose = |which: &str, failure: Failure| Difference {
        step: 0,
        operation: None,
        problem: format!("the {which} does not begin: {failure}"),
        too_slow: false,
    };
    let first = one.map_err(|failure| whose("first", failure))?;
    let second = other.map_err(|failure| whose("second", failure))?;
    let patience = harnesses.map(Harness::patience).into_iter().max().unwrap_or_default();
    let mut pair = Pair { first, second, patience };
    for (index, step) in steps.iter().enumerate() {
        pair.step(Some(step)).await.map_err(|apart| Difference {
            step: index,
            operation: Some(format!("{step:?}")),
            ..apart
        })?;
    }
    pair.step(None).await.map_err(|apart| Difference { step: steps.len(), ..apart })
}

struct Pair<S> {
    first: S,
    second: S,
    patience: Duration,
}

impl<S: Side> Pair<S> {
    /// Does a step, or what comes after the last, and waits until both look the same.
    async fn step(&mut self, step: Option<&S::Step>) -> Result<(), Difference> {
        let acted = self.act(step).await;
        let rested = match acted {
            Ok(()) => self.rest().await,
            Err(problem) => Err(problem),
        };
        let Err(problem) = rested else { return Ok(()) };
        let slow = [&self.first, &self.second].into_iter().find_map(Side::too_slow);
        let too_slow = slow.is_some();
        Err(Difference { step: 0, operation: None, problem: slow.unwrap_or(problem), too_slow })
    }

    async fn act(&mut self, step: Option<&S::Step>) -> Result<(), String> {
        let first = act(&mut self.first, step, "first");
        let second = act(&mut self.second, step, "second");
        let (first, second) = try_join(first, second).await?;
        if first == second {
            return Ok(());
        }
        Err(format!("the first answers \"{first}\", the second \"{second}\""))
    }

    async fn rest(&mut self) -> Result<(), String> {
        const SHORTEST: Duration = Duration::from_millis(1);
        const LONGEST: Duration = Duration::from_millis(50);
        let due = Instant::now() + self.patience;
        let mut pause = SHORTEST;
        loop {
            let first = look(&mut self.first, "first").await?;
            let second = look(&mut self.second, "second").await?;
            let same = first.seen == second.seen;
            let waits_for = first.waits_for.as_ref().or(second.waits_for.as_ref());
            if same && waits_for.is_none() {
                return Ok(());
            }
            if Instant::now() >= due {
                return Err(match waits_for {
                    Some(never) if same => format!("neither does what is due: {never}"),
                    _ => Apart(&first.seen, &second.seen).to_string(),
                });
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST);
        }
    }
}

async fn act<S: Side>(side: &mut S, step: Option<&S::Step>, which: &str) -> Result<String, String> {
    let acted = match step {
        Some(step) => side.act(step).await,
        None => side.end().await,
    };
    acted.map_err(|failure| format!("of the {which}: {failure}"))
}

async fn look<S: Side>(side: &mut S, which: &str) -> Result<Look, String> {
    side.look().await.map_err(|failure| format!("of the {which}: {failure}"))
}
