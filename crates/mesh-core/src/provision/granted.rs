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
        check(&fields, promised)?;
        Ok(Self(fields))
    }

    /// What a provider made for a consumer, an object with the promised fields.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`ProvisionProblem::Json`] for what is no object or has a key twice.
    pub fn of<P: AsRef<str>>(
        credential: &JsonText,
        promised: &[P],
    ) -> Result<Self, ProvisionError> {
        let credential = Members::parse(credential.as_bytes());
        let inside = |error| refused_whole(ProvisionProblem::Json(error));
        Self::new(fields(&credential.map_err(inside)?)?, promised)
    }

    /// Whether it has the promised fields and no others.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn check<P: AsRef<str>>(&self, promised: &[P]) -> Result<(), ProvisionError> {
        check(&self.0, promised)
    }

    /// Reads an answer; fields beside `credential` are ignored.
    ///
    /// # Errors
    /// [`ProvisionError`], naming the field and the offset.
    pub fn decode<P: AsRef<str>>(body: &[u8], promised: &[P]) -> Result<Self, ProvisionError> {
        let answer = Members::parse(body).map_err(ProvisionError::json)?;
        let granted = Self::read(&answer)?;
        granted.check(promised)?;
        Ok(granted)
    }

    /// The member `credential`, with whatever fields it has.
    pub(super) fn read(answer: &Members<'_>) -> Result<Self, ProvisionError> {
        let Some(credential) = answer.value("credential") else {
            return Err(refused_whole(ProvisionProblem::Missing));
        };
        let credential = answer.object(credential).map_err(ProvisionError::json)?;
        fields(&credential).map(Self)
    }

    /// The answer as it is sent, secrets and all.
    #[must_use]
    pub fn encode(&self) -> JsonText {
        let mut body = Vec::new();
        ObjectWriter::write(&mut body, |answer| self.write(answer));
        JsonText::from_checked(body)
    }

    /// Writes the member `credential`.
    pub(super) fn write(&self, answer: &mut ObjectWriter<'_>) {
        answer.object("credential", |credential| {
            for (field, value) in &self.0 {
                credential.raw(field, &value.raw());
            }
        });
    }

    /// The value of a promised field, as JSON.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&JsonText> {
        self.0.get(name)
    }

    /// The fields with their values, sorted by name.
    pub fn fields(&self) -> impl ExactSizeIterator<Item = (&str, &JsonText)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
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

/// The members of a credential.
fn fields(credential: &Members<'_>) -> Result<BTreeMap<String, JsonText>, ProvisionError> {
    let text = |value: Value<'_>| JsonText::new(Bytes::copy_from_slice(value.text.as_bytes()));
    let fields = credential.iter().map(|(field, value)| Ok((field.to_owned(), text(value)?)));
    fields.collect::<Result<_, _>>().map_err(ProvisionError::json)
}

fn check<P: AsRef<str>>(
    fields: &BTreeMap<String, JsonText>,
    promised: &[P],
) -> Result<(), ProvisionError> {
    let promised = || promised.iter().map(AsRef::as_ref);
    if let Some(missing) = promised().find(|field| !fields.contains_key(*field)) {
        return Err(refused(missing, ProvisionProblem::Missing));
    }
    match fields.keys().find(|field| promised().all(|p| p != **field)) {
        Some(extra) => Err(refused(extra, ProvisionProblem::NotPromised)),
        None => Ok(()),
    }
}

fn refused_whole(problem: ProvisionProblem) -> ProvisionError {
    ProvisionError::new("credential", problem)
}

fn refused(field: &str, problem: ProvisionProblem) -> ProvisionError {
    ProvisionError::new(format!("credential.{field}"), problem)
}
