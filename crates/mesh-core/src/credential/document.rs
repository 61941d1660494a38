use bytes::Bytes;
use serde::Serialize;

use super::reader::{DOCUMENT, Reader, error, url, with_login, within_size};
use super::{BrokerUrl, CredentialError, CredentialProblem, Fingerprints, Secret};
use crate::identity::Principal;
use crate::json::{JsonError, JsonProblem, JsonText};

/// A scoped credential: who one is, where the broker is, and which certificate it must present.
///
/// Of a document with any of `fingerprint`, `node`, `module`, `name` and `kind`, all that its kind
/// needs must be there: nothing is completed from elsewhere. Unknown fields are ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    principal: Principal,
    url: BrokerUrl,
    fingerprints: Fingerprints,
}

/// The unscoped URL of a broker, for the moment before a mesh can issue a credential. It has no
/// principal, so nothing that acts as a module can be made from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bootstrap {
    url: BrokerUrl,
}

/// What the file that `MESH_CREDENTIAL` names can hold.
///
/// Exhaustive on purpose: the protocol has these two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Document {
    /// A document that names its principal.
    Scoped(Credential),
    /// A plain URL, a JSON string holding one, or an object with nothing but `url`.
    Bootstrap(Bootstrap),
}

impl Document {
    /// Reads either; white space around it is left out.
    ///
    /// # Errors
    /// [`CredentialError`], naming the field and the offset where there is one.
    pub fn parse(document: impl AsRef<[u8]>) -> Result<Self, CredentialError> {
        let document = document.as_ref();
        within_size(document)?;
        let start = document.iter().position(|b| !b.is_ascii_whitespace());
        match start.map(|start| document[start]) {
            Some(b'{') => {}
            Some(b'"') => {
                let text = JsonText::new(Bytes::copy_from_slice(document))
                    .map_err(|found| error(DOCUMENT, CredentialProblem::Json(found)))?;
                let text: String = text
                    .decode()
                    .map_err(|_| error(DOCUMENT, not_text(JsonProblem::Unexpected, 0)))?;
                return Bootstrap::of(&text).map(Self::Bootstrap);
            }
            _ => {
                let text = std::str::from_utf8(document).map_err(|found| {
                    error(DOCUMENT, not_text(JsonProblem::NotUtf8, found.valid_up_to()))
                })?;
                return Bootstrap::of(text.trim_ascii()).map(Self::Bootstrap);
            }
        }
        let fields = Reader::new(document)?;
        let scoped = ["kind", "fingerprint", "node", "module", "name"];
        if scoped.iter().any(|field| fields.has(field)) {
            Credential::read(&fields).map(Self::Scoped)
        } else {
            Bootstrap::of(&fields.required("url")?).map(Self::Bootstrap)
        }
    }
}

impl Credential {
    /// # Errors
    /// [`CredentialProblem::Url`] where `url` is not in this process and has no user and password.
    pub fn new(
        principal: Principal,
        url: BrokerUrl,
        fingerprints: Fingerprints,
    ) -> Result<Self, CredentialError> {
        Ok(Self { principal, url: with_login(url)?, fingerprints })
    }

    /// Reads a document.
    ///
    /// # Errors
    /// [`CredentialError`]; [`CredentialProblem::Unscoped`] for a bootstrap URL.
    pub fn parse(document: impl AsRef<[u8]>) -> Result<Self, CredentialError> {
        match Document::parse(document)? {
            Document::Scoped(credential) => Ok(credential),
            Document::Bootstrap(_) => Err(error(DOCUMENT, CredentialProblem::Unscoped)),
        }
    }

    fn read(fields: &Reader<'_>) -> Result<Self, CredentialError> {
        let kind = fields.optional("kind")?;
        let principal = match kind.as_deref() {
            None | Some("module") => {
                Principal::Module { node: fields.name("node")?, module: fields.name("module")? }
            }
            Some("host") => Principal::Host { node: fields.name("node")? },
            Some("builder") => Principal::Builder { node: fields.name("node")? },
            Some("person") => Principal::Person { name: fields.name("name")? },
            // A controller's document may name it by the node it runs on.
            Some("controller") if !fields.has("name") && fields.has("node") => {
                Principal::Controller { name: fields.name("node")? }
            }
            Some("controller") => Principal::Controller { name: fields.name("name")? },
            Some("gateway") => Principal::Gateway { name: fields.name("name")? },
            Some(_) => {
                let kinds = "module, host, builder, person, controller or gateway";
                return Err(fields.expected("kind", kinds));
            }
        };
        Self::new(principal, fields.url()?, fields.fingerprints()?)
    }

    /// Whose it is.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Where to connect; outside this process it always has a user and a password.
    #[must_use]
    pub fn url(&self) -> &BrokerUrl {
        &self.url
    }

    /// The certificates that the broker may present.
    #[must_use]
    pub fn fingerprints(&self) -> &Fingerprints {
        &self.fingerprints
    }

    /// The document, password and all, as whoever issues it writes it.
    ///
    /// # Errors
    /// [`CredentialProblem::Expected`] for an enrolment's principal, which has a token and no
    /// document.
    pub fn to_document(&self) -> Result<Secret, CredentialError> {
        #[derive(Serialize, Default)]
        struct Written<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            kind: Option<&'a str>,
            url: String,
            fingerprint: Vec<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            node: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            module: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            name: Option<&'a str>,
        }
        let (kind, which) = self.principal.inbox_tokens();
        let mut written = Written {
            kind: Some(kind),
            url: self.url.expose(),
            fingerprint: self.fingerprints.iter().map(ToString::to_string).collect(),
            ..Written::default()
        };
        match &self.principal {
            Principal::Module { node, module } => {
                written.kind = None;
                written.node = Some(node.as_str());
                written.module = Some(module.as_str());
            }
            Principal::Host { .. } | Principal::Builder { .. } => written.node = Some(which),
            Principal::Person { .. } | Principal::Controller { .. } | Principal::Gateway { .. } => {
                written.name = Some(which);
            }
            Principal::Enrolment { .. } => {
                let what = "a principal other than an enrolment";
                return Err(error("kind", CredentialProblem::Expected { what, offset: 0 }));
            }
        }
        // Strings in a struct always encode.
        Ok(Secret::new(serde_json::to_string(&written).unwrap_or_default()))
    }
}

impl Bootstrap {
    /// Reads a plain URL, a JSON string holding one, or an object with nothing but `url`.
    ///
    /// # Errors
    /// [`CredentialError`]; [`CredentialProblem::Scoped`] for a scoped credential.
    pub fn parse(document: impl AsRef<[u8]>) -> Result<Self, CredentialError> {
        match Document::parse(document)? {
            Document::Bootstrap(bootstrap) => Ok(bootstrap),
            Document::Scoped(_) => Err(error(DOCUMENT, CredentialProblem::Scoped)),
        }
    }

    fn of(text: &str) -> Result<Self, CredentialError> {
        with_login(url(text)?).map(|url| Self { url })
    }

    /// Where to connect; outside this process it always has a user and a password.
    #[must_use]
    pub fn url(&self) -> &BrokerUrl {
        &self.url
    }
}

fn not_text(problem: JsonProblem, offset: usize) -> CredentialProblem {
    CredentialProblem::Json(JsonError { problem, offset })
}
