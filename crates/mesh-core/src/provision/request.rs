use std::fmt;

use bytes::Bytes;

use super::consumer::name;
use super::{ProvisionError, ProvisionProblem, consumer};
use crate::identity::Instance;
use crate::json::{JsonText, Members, ObjectWriter};
use crate::name::{NodeName, ProvisionName};

/// What a grant and a withdrawal are about, and idempotent on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProvisionKey {
    /// What is provided.
    pub provision: ProvisionName,
    /// To whom.
    pub consumer: Instance,
}

impl fmt::Display for ProvisionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} for {}", self.provision, self.consumer)
    }
}

/// `{provision, consumer: {node, module}, contributed: {…}}`: asks the provider for an instance,
/// or for the one that this consumer has already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantRequest {
    key: ProvisionKey,
    contributed: JsonText,
}

/// `{provision, consumer: {node, module}}`: takes this consumer's instance away, and no other's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithdrawRequest {
    key: ProvisionKey,
}

impl GrantRequest {
    /// `contributed` is a JSON object: what the consumer adds, as the provider asks.
    ///
    /// # Errors
    /// [`ProvisionProblem::Json`] where `contributed` is no object or has a key twice.
    pub fn new(key: ProvisionKey, contributed: JsonText) -> Result<Self, ProvisionError> {
        if let Err(error) = Members::parse(contributed.as_bytes()) {
            let problem = ProvisionProblem::Json(error);
            return Err(ProvisionError::new("contributed", problem));
        }
        Ok(Self { key, contributed })
    }

    /// Reads a request; a missing `contributed` is `{}`, unknown fields are ignored.
    ///
    /// # Errors
    /// [`ProvisionError`], naming the field and the offset.
    pub fn decode(body: &[u8]) -> Result<Self, ProvisionError> {
        let fields = Members::parse(body).map_err(ProvisionError::json)?;
        let consumer = consumer::read(&fields)?;
        Self::read(&fields, consumer)
    }

    /// Reads a request of this or an older shape: `consumer` a module's name, its node in `node`
    /// or `known_node`; or a node in `consumer` or `node`, its module in `from`.
    ///
    /// # Errors
    /// [`ProvisionError`], naming the field and the offset.
    pub fn decode_legacy(
        body: &[u8],
        known_node: Option<&NodeName>,
    ) -> Result<Self, ProvisionError> {
        let fields = Members::parse(body).map_err(ProvisionError::json)?;
        let consumer = consumer::read_legacy(&fields, known_node)?;
        Self::read(&fields, consumer)
    }

    fn read(fields: &Members<'_>, consumer: Instance) -> Result<Self, ProvisionError> {
        let contributed = fields.value("contributed").map_or("{}", |value| value.text);
        let contributed = Bytes::copy_from_slice(contributed.as_bytes());
        Self::new(key(fields, consumer)?, JsonText::new(contributed).map_err(ProvisionError::json)?)
    }

    /// The request as it is sent.
    #[must_use]
    pub fn encode(&self) -> JsonText {
        written(&self.key, Some(&self.contributed))
    }

    /// What it is about.
    #[must_use]
    pub fn key(&self) -> &ProvisionKey {
        &self.key
    }

    /// What the consumer adds, a JSON object.
    #[must_use]
    pub fn contributed(&self) -> &JsonText {
        &self.contributed
    }
}

impl WithdrawRequest {
    /// A withdrawal of what was granted under `key`.
    #[must_use]
    pub fn new(key: ProvisionKey) -> Self {
        Self { key }
    }

    /// Reads a request; unknown fields are ignored.
    ///
    /// # Errors
    /// [`ProvisionError`], naming the field and the offset.
    pub fn decode(body: &[u8]) -> Result<Self, ProvisionError> {
        let fields = Members::parse(body).map_err(ProvisionError::json)?;
        ProvisionKey::read(&fields).map(Self::new)
    }

    /// Reads a request of this or an older shape, as [`GrantRequest::decode_legacy`] does.
    ///
    /// # Errors
    /// [`ProvisionError`], naming the field and the offset.
    pub fn decode_legacy(
        body: &[u8],
        known_node: Option<&NodeName>,
    ) -> Result<Self, ProvisionError> {
        let fields = Members::parse(body).map_err(ProvisionError::json)?;
        let consumer = consumer::read_legacy(&fields, known_node)?;
        key(&fields, consumer).map(Self::new)
    }

    /// The request as it is sent.
    #[must_use]
    pub fn encode(&self) -> JsonText {
        written(&self.key, None)
    }

    /// What it is about.
    #[must_use]
    pub fn key(&self) -> &ProvisionKey {
        &self.key
    }
}

impl ProvisionKey {
    /// Reads the members `provision` and `consumer`, of today's shape.
    pub(super) fn read(fields: &Members<'_>) -> Result<Self, ProvisionError> {
        let consumer = consumer::read(fields)?;
        key(fields, consumer)
    }

    /// Writes them.
    pub(super) fn write(&self, document: &mut ObjectWriter<'_>) {
        document.string("provision", self.provision.as_str());
        document.object("consumer", |consumer| {
            consumer.string("node", self.consumer.node.as_str());
            consumer.string("module", self.consumer.module.as_str());
        });
    }
}

fn key(fields: &Members<'_>, consumer: Instance) -> Result<ProvisionKey, ProvisionError> {
    let provision = name(fields, "provision")?;
    Ok(ProvisionKey { provision, consumer })
}

fn written(key: &ProvisionKey, contributed: Option<&JsonText>) -> JsonText {
    let mut body = Vec::new();
    ObjectWriter::write(&mut body, |request| {
        key.write(request);
        if let Some(contributed) = contributed {
            request.raw("contributed", &contributed.raw());
        }
    });
    JsonText::from_checked(body)
}
