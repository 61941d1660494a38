use std::fmt;
use std::future::Future;
use std::pin::Pin;

use mesh_core::port::Capability;

use super::{Failure, Hook, Stage};

pub(crate) type Verdict = Result<(), Failure>;
pub(crate) type Run =
    for<'a> fn(&'a Stage<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;

/// One bullet of the contract and its proof.
#[derive(Clone, Copy)]
pub struct Case {
    pub(crate) name: &'static str,
    /// The capability of the whole port it belongs to.
    pub(crate) port: Option<Capability>,
    /// The capability of the case itself.
    pub(crate) needs: Option<Capability>,
    /// What its harness must be able to do.
    pub(crate) hook: Option<Hook>,
    pub(crate) run: Run,
    /// What holds where the last of these is not declared.
    pub(crate) otherwise: Option<Run>,
}

impl Case {
    /// The name: the first word of the bullet.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The capability in the bullet's brackets.
    #[must_use]
    pub fn needs(&self) -> Option<Capability> {
        self.needs
    }

    /// The capability that its whole port hangs on.
    #[must_use]
    pub fn port(&self) -> Option<Capability> {
        self.port
    }

    /// What its harness must be able to do beyond starting a broker.
    #[must_use]
    pub fn hook(&self) -> Option<Hook> {
        self.hook
    }

    /// Whether it also proves what holds where its capability is not declared.
    #[must_use]
    pub fn has_otherwise(&self) -> bool {
        self.otherwise.is_some()
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case")
            .field("name", &self.name)
            .field("needs", &self.needs)
            .finish_non_exhaustive()
    }
}

/// A case named like its function: `case!(f)`, `case!(f, Capability)`, `case!(f, Capability, else g)`,
/// `case!(f, Capability, by Hook)`.
macro_rules! case {
    ($run:ident) => {
        $crate::suite::Case {
            name: stringify!($run),
            port: None,
            needs: None,
            hook: None,
            run: |stage| Box::pin($run(stage)),
            otherwise: None,
        }
    };
    ($run:ident, $needs:ident) => {
        $crate::suite::Case { needs: Some(mesh_core::port::Capability::$needs), ..case!($run) }
    };
    ($run:ident, $needs:ident, else $otherwise:ident) => {
        $crate::suite::Case {
            otherwise: Some(|stage| Box::pin($otherwise(stage))),
            ..case!($run, $needs)
        }
    };
    ($run:ident, $needs:ident, by $hook:ident) => {
        $crate::suite::Case { hook: Some($crate::suite::Hook::$hook), ..case!($run, $needs) }
    };
    ($run:ident, else $otherwise:ident) => {
        $crate::suite::Case { otherwise: Some(|stage| Box::pin($otherwise(stage))), ..case!($run) }
    };
}

pub(crate) use case;
