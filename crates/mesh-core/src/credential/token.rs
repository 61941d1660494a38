use std::fmt;
use std::str::FromStr;

use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, Engine};
use base64::{DecodeError, alphabet};
use serde::Serialize;

use super::reader::{DOCUMENT, Reader, error, within_size};
use super::{
    BrokerUrl, CredentialError, CredentialProblem, Fingerprints, Login, Secret, Server, UrlProblem,
};
use crate::identity::Principal;
use crate::name::{NodeName, TokenId};

/// base64url, written without padding, read with or without.
const BASE64URL: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What a new node is handed to join the mesh: base64url of a JSON object
/// `{url, fingerprint, id, secret, node, controllerKey}`. Unknown fields are ignored.
///
/// It carries the broker's certificate and the controller's key, so that an answer to it can be
/// trusted before anything else is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnrolmentToken {
    url: BrokerUrl,
    fingerprints: Fingerprints,
    id: TokenId,
    /// `enrol.<id>` and the secret.
    own: Login,
    node: NodeName,
    controller_key: ControllerKey,
}

/// The controller's public signing key: Ed25519, 32 bytes, base64url in text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ControllerKey([u8; 32]);

impl EnrolmentToken {
    /// A token for `node`; `secret` must be fit for a password: not empty, and without control characters.
    ///
    /// # Errors
    /// [`CredentialProblem::Missing`] for an empty secret, [`CredentialProblem::Expected`] for one that is
    /// no password.
    pub fn new(
        id: TokenId,
        secret: Secret,
        node: NodeName,
        url: BrokerUrl,
        fingerprints: Fingerprints,
        controller_key: ControllerKey,
    ) -> Result<Self, CredentialError> {
        // The same on each broker: an enrolment's user has no node in it.
        let user = Principal::Enrolment { token: id.clone() }.amqp_user();
        let own = Login::new(user, secret).map_err(|problem| {
            let missing = matches!(problem, UrlProblem::Password);
            let expected =
                CredentialProblem::Expected { what: "text without control characters", offset: 0 };
            error("secret", if missing { CredentialProblem::Missing } else { expected })
        })?;
        Ok(Self { url, fingerprints, id, own, node, controller_key })
    }

    /// Reads the base64url text; white space around it is left out.
    ///
    /// # Errors
    /// [`CredentialError`], naming the field and the offset where there is one.
    pub fn parse(text: &str) -> Result<Self, CredentialError> {
        within_size(text.as_bytes())?;
        let document = BASE64URL
            .decode(text.trim_ascii())
            .map_err(|found| error(DOCUMENT, base64_problem(&found)))?;
        let fields = Reader::new(&document)?;
        let key: ControllerKey = fields
            .required("controllerKey")?
            .parse()
            .map_err(|problem| error("controllerKey", problem))?;
        Self::new(
            fields.name("id")?,
            Secret::new(fields.required("secret")?),
            fields.name("node")?,
            fields.url()?,
            fields.fingerprints()?,
            key,
        )
    }

    /// The base64url text, secret and all.
    ///
    /// # Errors
    /// None in practice: text and lists of text are always JSON.
    pub fn to_text(&self) -> Result<Secret, CredentialError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Written<'a> {
            url: String,
            fingerprint: Vec<String>,
            id: &'a TokenId,
            secret: &'a str,
            node: &'a NodeName,
            controller_key: String,
        }
        let written = Written {
            url: self.url.expose(),
            fingerprint: self.fingerprints.iter().map(ToString::to_string).collect(),
            id: &self.id,
            secret: self.secret().expose(),
            node: &self.node,
            controller_key: self.controller_key.to_string(),
        };
        match serde_json::to_vec(&written) {
            Ok(document) => Ok(Secret::new(BASE64URL.encode(document))),
            Err(_) => Err(error(DOCUMENT, CredentialProblem::Missing)),
        }
    }

    /// The token's id.
    #[must_use]
    pub fn id(&self) -> &TokenId {
        &self.id
    }

    /// What proves the token.
    #[must_use]
    pub fn secret(&self) -> &Secret {
        self.own.password()
    }

    /// As whom it logs in: the user and password of its URL, where that has them, else `enrol.<id>` with
    /// the secret.
    #[must_use]
    pub fn login(&self) -> &Login {
        self.url.server().and_then(Server::login).unwrap_or(&self.own)
    }

    /// The node that it is for.
    #[must_use]
    pub fn node(&self) -> &NodeName {
        &self.node
    }

    /// Where to connect; it may have no user and password, as the token has its own.
    #[must_use]
    pub fn url(&self) -> &BrokerUrl {
        &self.url
    }

    /// The certificates that the broker may present.
    #[must_use]
    pub fn fingerprints(&self) -> &Fingerprints {
        &self.fingerprints
    }

    /// The key that the controller's answer must be signed with.
    #[must_use]
    pub fn controller_key(&self) -> &ControllerKey {
        &self.controller_key
    }
}

impl ControllerKey {
    /// The public key.
    #[must_use]
    pub const fn from_bytes(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// The public key.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for ControllerKey {
    type Err = CredentialProblem;

    fn from_str(text: &str) -> Result<Self, CredentialProblem> {
        let bytes = BASE64URL.decode(text).map_err(|found| base64_problem(&found))?;
        let what = "32 bytes in base64url";
        match bytes.try_into() {
            Ok(key) => Ok(Self(key)),
            Err(_) => Err(CredentialProblem::Expected { what, offset: 0 }),
        }
    }
}

impl fmt::Display for ControllerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BASE64URL.encode(self.0))
    }
}

impl fmt::Debug for ControllerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ControllerKey({self})")
    }
}

/// base64's own message quotes the byte; only its place is kept.
fn base64_problem(found: &DecodeError) -> CredentialProblem {
    let offset = match *found {
        DecodeError::InvalidByte(offset, _) | DecodeError::InvalidLastSymbol(offset, _) => offset,
        DecodeError::InvalidLength(length) => length,
        DecodeError::InvalidPadding => 0,
    };
    CredentialProblem::Base64 { offset }
}
