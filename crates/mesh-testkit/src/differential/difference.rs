use std::fmt;

/// Where two brokers came apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub(super) step: usize,
    pub(super) operation: Option<String>,
    pub(super) problem: String,
    pub(super) too_slow: bool,
}

impl Difference {
    /// The index of the step; their number, if it was what is looked at in the end.
    #[must_use]
    pub fn step(&self) -> usize {
        self.step
    }

    /// Whether nothing is known but that the machine was too slow: a claim that was to be kept could
    /// not be reported on in time. Such a run proves nothing either way.
    #[must_use]
    pub fn is_too_slow(&self) -> bool {
        self.too_slow
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.operation {
            Some(operation) => write!(f, "step {}, {operation}: {}", self.step, self.problem),
            None => write!(f, "beside the steps: {}", self.problem),
        }
    }
}

impl std::error::Error for Difference {}
