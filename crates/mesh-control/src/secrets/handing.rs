//! From a secret that was minted to who gets it.

use std::path::Path;

use mesh_core::credential::Secret;
use mesh_core::identity::Principal;
use mesh_core::name::UserName;

use super::{
    Endpoint, HandOverError, Minted, Overwrite, Recipient, SecretStore, Wrote, seal, write_document,
};

/// What the file of a credential is called, as `mesh demo --credentials` looks for it: `n1.mail.json`,
/// `person.ada.json`, `controller.json`, with `.age` behind it where it is sealed.
#[must_use]
pub fn document_name(user: &UserName, principal: &Principal, sealed: bool) -> String {
    let name = match principal {
        // It may have two users, in two accounts.
        Principal::Controller { .. } => user.to_string(),
        other => other.amqp_user(),
    };
    format!("{name}.json{}", if sealed { ".age" } else { "" })
}

impl Minted {
    /// The document of the credential of `principal`, whose user this is, at `bus`: sealed to each of `to`, or
    /// plain where there is nobody. A sealed one is no secret, and is kept like one all the same.
    ///
    /// # Errors
    /// [`HandOverError::Credential`], [`HandOverError::Seal`].
    pub fn document(
        &self,
        principal: &Principal,
        bus: &Endpoint,
        to: &[Recipient],
    ) -> Result<Secret, HandOverError> {
        let document = self.credential(principal, bus)?.to_document()?;
        if to.is_empty() { Ok(document) } else { Ok(Secret::new(seal(&document, to)?)) }
    }
}

impl SecretStore {
    /// Writes the [document](Minted::document) of a secret into a file ([`write_document`]), and notes that it is
    /// with whom it is for.
    ///
    /// # Errors
    /// [`HandOverError`]. Where it is the note that can't be written, the file is there.
    pub fn hand_over(
        &mut self,
        minted: &Minted,
        principal: &Principal,
        bus: &Endpoint,
        to: &[Recipient],
        file: (&Path, Overwrite),
    ) -> Result<Wrote, HandOverError> {
        let document = minted.document(principal, bus, to)?;
        let wrote = write_document(file.0, &document, file.1)?;
        self.handed_over(minted.user(), to)?;
        Ok(wrote)
    }
}
