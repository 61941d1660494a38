//! Typed fields out of a JSON object, errors named after the field.

use super::{
    BrokerUrl, CredentialError, CredentialProblem, Fingerprint, Fingerprints, MAX_DOCUMENT_BYTES,
    UrlError, UrlProblem,
};
use crate::json::{Members, ValueError, text_of};
use crate::name::NameError;

/// The field that errors of the whole document are given under.
pub(super) const DOCUMENT: &str = "document";

pub(super) struct Reader<'a>(Members<'a>);

impl<'a> Reader<'a> {
    pub(super) fn new(document: &'a [u8]) -> Result<Self, CredentialError> {
        match Members::parse(document) {
            Ok(fields) => Ok(Self(fields)),
            Err(found) => Err(error(DOCUMENT, CredentialProblem::Json(found))),
        }
    }

    pub(super) fn has(&self, field: &str) -> bool {
        self.0.value(field).is_some()
    }

    pub(super) fn optional(&self, field: &'static str) -> Result<Option<String>, CredentialError> {
        match self.0.text(field) {
            Ok(text) => Ok(text.map(Into::into)),
            Err(found) => Err(expected(field, found)),
        }
    }

    pub(super) fn required(&self, field: &'static str) -> Result<String, CredentialError> {
        self.optional(field)?.ok_or_else(|| error(field, CredentialProblem::Missing))
    }

    pub(super) fn name<T>(&self, field: &'static str) -> Result<T, CredentialError>
    where
        T: TryFrom<String, Error = NameError>,
    {
        T::try_from(self.required(field)?)
            .map_err(|found| error(field, CredentialProblem::Name(found)))
    }

    pub(super) fn url(&self) -> Result<BrokerUrl, CredentialError> {
        url(&self.required("url")?)
    }

    /// One fingerprint, or a list of them.
    pub(super) fn fingerprints(&self) -> Result<Fingerprints, CredentialError> {
        const FIELD: &str = "fingerprint";
        let Some(value) = self.0.value(FIELD) else {
            return Err(error(FIELD, CredentialProblem::Missing));
        };
        let texts: Vec<String> = if value.text.starts_with('[') {
            serde_json::from_str(value.text).map_err(|_| ())
        } else {
            text_of(value).map(|one| vec![one.into()]).map_err(|_| ())
        }
        .map_err(|()| self.expected(FIELD, "a fingerprint or a list of them"))?;
        let fingerprints: Result<Vec<Fingerprint>, _> =
            texts.iter().map(|text| text.parse()).collect();
        let fingerprints =
            fingerprints.map_err(|found| error(FIELD, CredentialProblem::Fingerprint(found)))?;
        Fingerprints::new(fingerprints).ok_or_else(|| self.expected(FIELD, "1 to 8 fingerprints"))
    }

    /// The error for a value that is there and not what was wanted.
    pub(super) fn expected(&self, field: &'static str, what: &'static str) -> CredentialError {
        let offset = self.0.value(field).map_or(0, |value| value.offset);
        error(field, CredentialProblem::Expected { what, offset })
    }
}

pub(super) fn url(text: &str) -> Result<BrokerUrl, CredentialError> {
    text.parse().map_err(|found| error("url", CredentialProblem::Url(found)))
}

/// Whoever connects for good has a user and a password of its own: no client's default takes
/// their place.
pub(super) fn with_login(url: BrokerUrl) -> Result<BrokerUrl, CredentialError> {
    match url.server() {
        Some(server) if server.login().is_none() => {
            let found = UrlError { problem: UrlProblem::User, offset: 0 };
            Err(error("url", CredentialProblem::Url(found)))
        }
        _ => Ok(url),
    }
}

pub(super) fn within_size(document: &[u8]) -> Result<(), CredentialError> {
    let found = document.len();
    if found > MAX_DOCUMENT_BYTES {
        return Err(error(DOCUMENT, CredentialProblem::TooLarge { found }));
    }
    Ok(())
}

pub(super) fn error(field: &'static str, problem: CredentialProblem) -> CredentialError {
    CredentialError { field, problem }
}

fn expected(field: &'static str, found: ValueError) -> CredentialError {
    let ValueError { expected: what, offset } = found;
    error(field, CredentialProblem::Expected { what, offset })
}
