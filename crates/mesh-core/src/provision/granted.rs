use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;

use super::{ProvisionError, ProvisionProblem};
use crate::json::{JsonText, Members, ObjectWriter, Value};

/// `{credential: {…}}`: what a grant answers, with exactly the fields that the provision promises.
/// `Debug` shows the fields' names and no value.
#[derive(Clone, PartialEq, Eq)]
pub struct Granted(BTreeMap<String, JsonText>);

impl Granted {
    /// Checks the fields of a credential against the promised ones.
    ///
    /// # Errors
    /// [`ProvisionProblem::Missing`] or [`ProvisionProblem::NotPromised`], naming the field.
    pub fn new<P: AsRef<str>>(
        fields: BTreeMap<String, JsonText>,
        promised: &[P],
    ) -> Result<Self, ProvisionError> {
        let promised = || promised.iter().map(AsRef::as_ref);
        if let Some(missing) = promised().find(|field| !fields.contains_key(*field)) {
            return Err(refused(missing, ProvisionProblem::Missing));
        }
        if let Some(extra) = fields.keys().find(|field| promised().all(|p| p != **field)) {
            return Err(refused(extra, ProvisionProblem::NotPromised));
        }
        Ok(Self(fields))
    }

    /// Reads an answer; fields beside `credential` are ignored.
    ///
    /// # Errors
    /// [`ProvisionError`], naming the field and the offset.
    pub fn decode<P: AsRef<str>>(body: &[u8], promised: &[P]) -> Result<Self, ProvisionError> {
        let answer = Members::parse(body).map_err(ProvisionError::json)?;
        let Some(credential) = answer.value("credential") else {
            return Err(ProvisionError::new("credential", ProvisionProblem::Missing));
        };
        let credential = answer.object(credential).map_err(ProvisionError::json)?;
        let text = |value: Value<'_>| JsonText::new(Bytes::copy_from_slice(value.text.as_bytes()));
        let fields: Result<_, _> =
            credential.iter().map(|(field, value)| Ok((field.to_owned(), text(value)?))).collect();
        Self::new(fields.map_err(ProvisionError::json)?, promised)
    }

    /// The answer as it is sent, secrets and all.
    #[must_use]
    pub fn encode(&self) -> JsonText {
        let mut body = Vec::new();
        ObjectWriter::write(&mut body, |answer| {
            answer.object("credential", |credential| {
                for (field, value) in &self.0 {
                    credential.raw(field, &value.raw());
                }
            });
        });
        JsonText::from_checked(body)
    }

    /// The value of a promised field, as JSON.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&JsonText> {
        self.0.get(name)
    }

    /// The names of the fields, sorted.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl fmt::Debug for Granted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for name in self.names() {
            map.entry(&name, &format_args!("[redacted]"));
        }
        map.finish()
    }
}

fn refused(field: &str, problem: ProvisionProblem) -> ProvisionError {
    ProvisionError::new(format!("credential.{field}"), problem)
}
