use mesh_core::identity::Principal;
use mesh_core::permissions::{Permissions, Responses};

use super::{Account, Grant, Line};

/// A user of the broker's: somebody who connects, with all that it may do.
///
/// Its name is the tokens of its inbox, `mail.n1`, `host.n1`, `builder.n1`, `person.ada`, `enrol.<token>`,
/// `gateway.<name>`; the controller's are `controller` and, where the accounts are split,
/// `controller-edge`. The server's own account has no user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub(super) name: String,
    pub(super) account: Account,
    pub(super) principal: Principal,
    pub(super) line: Option<Line>,
    pub(super) grants: Vec<Grant>,
    pub(super) responses: Option<Responses>,
}

impl User {
    /// What it logs in as.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is on a nats-server.
    #[must_use]
    pub fn account(&self) -> Account {
        self.account
    }

    /// Who logs in as it. The controller's is of an instance called `c1`: any instance logs in as it, with
    /// the name that its credential says.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// The line of the mesh file without which it would not be there: its node's, its assignment's, its
    /// person's. Nothing for the controller, and for who is not in the file.
    #[must_use]
    pub fn line(&self) -> Option<&Line> {
        self.line.as_ref()
    }

    /// What it may do and may not, each with what justifies it. None: it may do nothing.
    #[must_use]
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }

    /// What it may send besides, where it is asked to answer; nothing, where answers are scoped.
    #[must_use]
    pub fn responses(&self) -> Option<Responses> {
        self.responses
    }

    /// What a broker holds of its grants.
    #[must_use]
    pub fn permissions(&self) -> Permissions {
        let mut permissions = Permissions { responses: self.responses, ..Permissions::default() };
        for Grant { side, effect, rule, .. } in &self.grants {
            permissions.put(*side, *effect, rule.clone());
        }
        permissions
    }
}
