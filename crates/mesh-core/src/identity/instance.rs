use std::fmt;

use super::Principal;
use crate::name::{ConsumerName, ModuleName, NodeName};

/// A module on a node, always both: a node runs several modules, and a module runs on several nodes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_structs, reason = "it is a pair")]
pub struct Instance {
    /// The node.
    pub node: NodeName,
    /// The module.
    pub module: ModuleName,
}

impl Instance {
    /// Its consumer of events: `<node>_<module>`.
    #[must_use]
    pub fn consumer(&self) -> ConsumerName {
        ConsumerName::of_module(&self.node, &self.module)
    }
}

impl From<Instance> for Principal {
    fn from(Instance { node, module }: Instance) -> Self {
        Self::Module { node, module }
    }
}

impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.module, self.node)
    }
}
