//! What an assertion does about what is missing and what differs.

use mesh_core::port::{Drift, DriftMode};

use super::setting::{Config, Setting};

/// See the module.
#[derive(Debug, Clone, Copy)]
pub(super) enum Plan<'a> {
    /// What is missing is made; what differs is told.
    Report,
    /// What is missing is made; what differs is put right.
    Mend,
    /// Nothing is made; of what differs these are put right.
    Only(&'a [Drift]),
}

impl From<DriftMode> for Plan<'_> {
    fn from(mode: DriftMode) -> Self {
        match mode {
            DriftMode::Report => Self::Report,
            DriftMode::Mend => Self::Mend,
        }
    }
}

impl Plan<'_> {
    pub(super) fn creates(self) -> bool {
        !matches!(self, Self::Only(_))
    }

    /// Those of the differences of `object`, which is as `config` says, that are put right.
    pub(super) fn choose<'s>(
        self,
        object: &str,
        config: &Config,
        different: Vec<&'s Setting>,
    ) -> Vec<&'s Setting> {
        match self {
            Self::Report => Vec::new(),
            Self::Mend => different,
            Self::Only(chosen) => {
                let is_chosen = |setting: &&Setting| {
                    let drift = setting.drift(object, config, config);
                    chosen.iter().any(|chosen| chosen.is_same(&drift))
                };
                different.into_iter().filter(is_chosen).collect()
            }
        }
    }
}
