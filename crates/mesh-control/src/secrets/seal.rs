use std::io::{Read as _, Write as _};

use age::armor::{ArmoredReader, ArmoredWriter, Format};
use age::{DecryptError, Decryptor, EncryptError, Encryptor};
use mesh_core::credential::{MAX_DOCUMENT_BYTES, Secret};

use super::{Identity, Recipient, SealError};

/// Seals a document to each of `to`: any one of them opens it. The result is text (age's armor), and no secret.
///
/// # Errors
/// [`SealError::Nobody`] without a recipient; [`SealError::Failed`] does not happen in practice.
pub fn seal(document: &Secret, to: &[Recipient]) -> Result<String, SealError> {
    let failed = |error: EncryptError| match error {
        EncryptError::MissingRecipients => SealError::Nobody,
        EncryptError::Io(error) => SealError::Failed(error),
        other => SealError::Failed(std::io::Error::other(other.to_string())),
    };
    let recipients = to.iter().map(|recipient| recipient.inner() as &dyn age::Recipient);
    let encryptor = Encryptor::with_recipients(recipients).map_err(failed)?;
    let sealed = (|| {
        let armor = ArmoredWriter::wrap_output(Vec::new(), Format::AsciiArmor)?;
        let mut output = encryptor.wrap_output(armor)?;
        output.write_all(document.expose().as_bytes())?;
        output.finish()?.finish()
    })()
    .map_err(SealError::Failed)?;
    String::from_utf8(sealed).map_err(|error| SealError::Failed(std::io::Error::other(error)))
}

/// Opens what was sealed to `identity`, armored or not. At most [`MAX_DOCUMENT_BYTES`] come out of it.
///
/// # Errors
/// [`SealError`], which repeats nothing of the text.
pub fn open(sealed: &[u8], identity: &Identity) -> Result<Secret, SealError> {
    let sealed = sealed.trim_ascii_start();
    let refused = |error: DecryptError| match error {
        DecryptError::NoMatchingKeys => SealError::OtherKey,
        _ => SealError::Unreadable,
    };
    let decryptor = Decryptor::new_buffered(ArmoredReader::new(sealed)).map_err(refused)?;
    let identities = std::iter::once(identity.inner() as &dyn age::Identity);
    let reader = decryptor.decrypt(identities).map_err(refused)?;
    let mut bytes = Vec::new();
    let most = u64::try_from(MAX_DOCUMENT_BYTES).unwrap_or(u64::MAX);
    reader
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|_| SealError::Unreadable)?;
    if bytes.len() > MAX_DOCUMENT_BYTES {
        return Err(SealError::TooLarge { max: MAX_DOCUMENT_BYTES });
    }
    String::from_utf8(bytes).map(Secret::new).map_err(|_| SealError::NotText)
}
