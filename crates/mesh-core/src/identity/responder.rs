use crate::name::ModuleName;

/// Who may answer: the last fixed token of the reply address (protocol §4).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Responder {
    /// A module, for its tools.
    Module(ModuleName),
    /// The controller, for what a node asks.
    Controller,
}

impl Responder {
    /// The token that names it in a reply address.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Module(module) => module.as_str(),
            Self::Controller => "controller",
        }
    }
}
