use super::{Granted, ProvisionError, ProvisionKey};
use crate::json::{JsonText, Members, ObjectWriter};

/// The largest [`Handover`] that is read, in bytes.
pub const MAX_HANDOVER_BYTES: usize = 64 * 1024;

/// `{provision, consumer: {node, module}, credential: {…}}`: what was granted, on its way from the
/// controller to the consumer. The consumer's host puts it, as `<provision>.json`, into the folder that
/// `MESH_PROVISIONS` names for the module. `Debug` shows no value of the credential.
///
/// It says whose it is, so that one in a wrong place is noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handover {
    key: ProvisionKey,
    granted: Granted,
}

impl Handover {
    /// What was granted under `key`.
    #[must_use]
    pub fn new(key: ProvisionKey, granted: Granted) -> Self {
        Self { key, granted }
    }

    /// Reads one; unknown fields are ignored. Which fields of the credential are promised is the
    /// provider's to say, and was checked when it answered.
    ///
    /// # Errors
    /// [`ProvisionError`], naming the field and the offset, and never a value.
    pub fn decode(body: &[u8]) -> Result<Self, ProvisionError> {
        let fields = Members::parse(body).map_err(ProvisionError::json)?;
        Ok(Self { key: ProvisionKey::read(&fields)?, granted: Granted::read(&fields)? })
    }

    /// The document as it is written, secrets and all.
    #[must_use]
    pub fn encode(&self) -> JsonText {
        let mut body = Vec::new();
        ObjectWriter::write(&mut body, |document| {
            self.key.write(document);
            self.granted.write(document);
        });
        JsonText::from_checked(body)
    }

    /// What it is, and whose.
    #[must_use]
    pub fn key(&self) -> &ProvisionKey {
        &self.key
    }

    /// The credential.
    #[must_use]
    pub fn granted(&self) -> &Granted {
        &self.granted
    }

    /// The credential alone.
    #[must_use]
    pub fn into_granted(self) -> Granted {
        self.granted
    }
}
